//! Figures of each rule: how often it was right, with what certainty, and what that saved or wasted.
use std::collections::BTreeMap;

use serde::Serialize;
use triage_core::{Intent, JobSpan, Mode, Stamp};

use super::claim::Claim;
use super::grade::{ANSWER_S, Grade, hours, is_failed, is_success};

/// 97.5 % quantile of the normal distribution: bounds that hold 95 % of the time.
const Z: f64 = 1.959_963_984_540_054;

/// A share with the interval of Wilson's score, which stays within 0 and 1 and tells the truth of a few counts too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Share {
    /// What was counted, of all.
    pub(super) share: f64,
    /// Lower bound, 95 %.
    pub(super) low: f64,
    /// Upper bound, 95 %.
    pub(super) high: f64,
}

impl Share {
    /// Of `hits` among `all`; `None` where there is nothing to count.
    pub(super) fn of(hits: u32, all: u32) -> Option<Self> {
        if all == 0 {
            return None;
        }
        let (n, p) = (f64::from(all), f64::from(hits.min(all)) / f64::from(all));
        let z2 = Z * Z;
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let reach = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
        Some(Self { share: p, low: (middle - reach).max(0.0), high: (middle + reach).min(1.0) })
    }
}

/// Time of nodes and of GPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Hours {
    pub(super) node: f64,
    pub(super) gpu: f64,
}

impl Hours {
    fn add(&mut self, micros: i64, gpus: usize) {
        let node = hours(micros.max(0));
        self.node += node;
        self.gpu += node * f64::from(u32::try_from(gpus).unwrap_or(u32::MAX));
    }

    fn plus(&mut self, other: Self) {
        self.node += other.node;
        self.gpu += other.gpu;
    }
}

/// What a claim saved or wasted, or would have.
pub(super) fn cost(claim: &Claim<'_>, grade: Grade, now: Stamp) -> (Hours, Hours) {
    let (mut saved, mut wasted) = (Hours::default(), Hours::default());
    let until = claim.at().plus_secs(ANSWER_S);
    let takes_node = matches!(claim.decision.intent, Intent::Drain);
    match (grade, claim.done) {
        // Runs that were given the bad part within a day of our word, and were lost.
        (Grade::Right, None) if takes_node => {
            for span in claim.later_runs(until).filter(|span| is_failed(span)) {
                saved.add(overlap(span, claim.at(), Stamp::from_micros(i64::MAX)), span.gpus.len());
            }
        }
        // Work that the node did within a day of our word, and would not have done.
        (Grade::Wrong, None) if takes_node => {
            for span in claim.book.begun_within(claim.at(), until).filter(|span| is_success(span)) {
                wasted.add(overlap(span, claim.at(), until), span.gpus.len());
            }
        }
        // The time the node was out for nothing.
        (Grade::Wrong, Some(done)) if takes_node => {
            wasted.add(back_at(claim, done, now).micros_since(done), claim.book.gpu_count());
        }
        _ => {}
    }
    (saved, wasted)
}

/// When the node was back, as far as is known: seen in service, or its case closed.
fn back_at(claim: &Claim<'_>, done: Stamp, now: Stamp) -> Stamp {
    let seen = claim.book.sightings.iter().find(|seen| !seen.is_out && seen.first_seen > done);
    let closed = claim.cases.iter().filter_map(|case| case.closed_at).filter(|at| *at > done).min();
    seen.map(|seen| seen.first_seen).into_iter().chain(closed).min().unwrap_or(now).min(now)
}

fn overlap(span: &JobSpan, from: Stamp, to: Stamp) -> i64 {
    let end = span.end.map_or(span.run.start, |end| end.min(to));
    end.micros_since(span.run.start.max(from)).max(0)
}

/// One rule and what it wants.
#[derive(Debug, Serialize)]
pub(super) struct RuleFigures {
    pub(super) rule: String,
    /// `drain`, `refuse_job`, `requeue` ...
    pub(super) intent: &'static str,
    /// The mode it ran in last.
    pub(super) mode: Mode,
    /// Things it wanted done, those held by another gate than the mode not among them.
    pub(super) wanted: u32,
    /// Of them, those that were done.
    pub(super) done: u32,
    pub(super) right: u32,
    pub(super) wrong: u32,
    pub(super) open: u32,
    /// Held by another gate than the mode.
    pub(super) withheld: u32,
    /// Right among right and wrong; null where there is neither.
    pub(super) precision: Option<Share>,
    /// Lost by runs that it would have kept off a bad part; only where it was not done can that be seen.
    pub(super) saved: Hours,
    /// Work that it kept, or would have kept, a sound node from.
    pub(super) wasted: Hours,
    /// Whether it may be switched to `act`, by the bar of the report.
    pub(super) ready: bool,
    /// Why, or what is missing, one sentence.
    pub(super) ready_because: String,
}

/// A graded claim with its cost.
pub(super) struct Graded<'a> {
    pub(super) claim: &'a Claim<'a>,
    pub(super) grade: Grade,
    pub(super) saved: Hours,
    pub(super) wasted: Hours,
}

/// The figures of each rule and intent, by name. `bar` is the precision that has to be proven, 0 to 1.
pub(super) fn of_rules(graded: &[Graded<'_>], bar: f64) -> Vec<RuleFigures> {
    let mut by_rule: BTreeMap<(&str, &'static str), RuleFigures> = BTreeMap::new();
    for one in graded {
        let decision = one.claim.decision;
        let key = (decision.rule.as_str(), decision.intent.word());
        let figures = by_rule.entry(key).or_insert_with(|| RuleFigures::new(key.0, key.1));
        figures.count(one);
    }
    let mut all: Vec<RuleFigures> = by_rule.into_values().collect();
    for figures in &mut all {
        figures.judge(bar);
    }
    all
}

impl RuleFigures {
    fn new(rule: &str, intent: &'static str) -> Self {
        Self {
            rule: rule.to_owned(),
            intent,
            mode: Mode::Monitor,
            wanted: 0,
            done: 0,
            right: 0,
            wrong: 0,
            open: 0,
            withheld: 0,
            precision: None,
            saved: Hours::default(),
            wasted: Hours::default(),
            ready: false,
            ready_because: String::new(),
        }
    }

    fn count(&mut self, one: &Graded<'_>) {
        self.mode = one.claim.decision.mode;
        self.done += u32::from(one.claim.done.is_some());
        let count = match one.grade {
            Grade::Right => &mut self.right,
            Grade::Wrong => &mut self.wrong,
            Grade::Open => &mut self.open,
            Grade::Withheld => &mut self.withheld,
        };
        *count += 1;
        self.wanted += u32::from(one.grade != Grade::Withheld);
        self.saved.plus(one.saved);
        self.wasted.plus(one.wasted);
    }

    /// Ready is a rule whose precision is proven: the lower bound of its interval is at the bar.
    fn judge(&mut self, bar: f64) {
        self.precision = Share::of(self.right, self.right + self.wrong);
        let low = self.precision.map_or(0.0, |share| share.low);
        self.ready = low >= bar;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        self.ready_because = match (self.ready, missing(self.right, self.wrong, bar)) {
            (true, _) => {
                format!(
                    "right at least {} of the time with 95 % certainty; asked: {}",
                    percent(low),
                    percent(bar)
                )
            }
            (false, Some(more)) if self.precision.is_none() => {
                format!("nothing to judge it by yet: {more} that are right, and none wrong, would do")
            }
            (false, None) if self.precision.is_none() => {
                format!("nothing to judge it by yet, and no number would prove {}", percent(bar))
            }
            (false, Some(more)) => format!(
                "{} of {} right proves {}, {} are asked: {more} more that are right, and none wrong, would do",
                self.right,
                self.right + self.wrong,
                percent(low),
                percent(bar)
            ),
            (false, None) => format!(
                "{} of {} right: no number of further ones would do",
                self.right,
                self.right + self.wrong
            ),
        };
    }
}

/// Most further claims that are counted through; a rule that needs more is far off.
const FAR: u32 = 10_000;

/// How many more would have to be right, and none wrong, to reach the bar.
fn missing(right: u32, wrong: u32, bar: f64) -> Option<u32> {
    let reaches = |more: &u32| Share::of(right + more, right + wrong + more).is_some_and(|s| s.low >= bar);
    (0..FAR).find(reaches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_wilsons() {
        // 8 of 10: Wilson's score interval at 95 % is 0.490 to 0.943, as any textbook's table has it.
        let share = Share::of(8, 10).unwrap();
        assert!((share.low - 0.490_16).abs() < 1e-4 && (share.high - 0.943_34).abs() < 1e-4, "{share:?}");
        assert_eq!(Share::of(0, 0), None);
        assert!(Share::of(3, 3).unwrap().low < 0.5, "three in a row prove little");
    }

    #[test]
    fn sixteen_in_a_row_prove_four_in_five() {
        assert_eq!(missing(0, 0, 0.8), Some(16));
        assert_eq!(missing(16, 0, 0.8), Some(0));
        assert!(missing(16, 1, 0.8).is_some_and(|more| more > 0));
        assert_eq!(missing(0, 0, 1.0), None, "nothing is ever certain");
    }

    proptest! {
        #[test]
        fn bounds_stay_within_and_around(hits in 0_u32..5_000, misses in 0_u32..5_000) {
            if let Some(share) = Share::of(hits, hits + misses) {
                prop_assert!(0.0 <= share.low && share.low <= share.share + 1e-12);
                prop_assert!(share.share <= share.high + 1e-12 && share.high <= 1.0);
            }
        }
    }
}
