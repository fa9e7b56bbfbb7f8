//! One count of one rule on one thing.
use serde::{Deserialize, Serialize};

use super::Threshold;
use crate::{Resource, Stamp};

/// Occurrences one engine remembers. A rule asks for fewer; the counts of counters are summed up in one occurrence.
pub(super) const KEPT: usize = 256;

/// What happens again within this time to the same job is one occurrence: a dying program logs one fault many times.
const BURST_US: i64 = 1_000_000;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// When.
    pub at: Stamp,
    /// How often, for what a counter tells; 1 for an event.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u64,
    /// The job that was on the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
    /// Its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

const fn once() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_once(times: &u64) -> bool {
    *times == 1
}

impl Occurrence {
    /// Something that happened once, with nobody's job on it.
    pub const fn at(at: Stamp) -> Self {
        Self { at, times: 1, job: None, uid: None }
    }
}

/// Counts one rule's occurrences on one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// The rule's name.
    pub rule: String,
    /// What it counts on: a GPU's serial or UUID (`part:1320924000123`) where known, else the resource.
    pub identity: String,
    /// Where that was at the last occurrence.
    pub resource: Resource,
    /// The last occurrences, oldest first.
    pub occurrences: Vec<Occurrence>,
    /// When N in T was reached; `None` while it was not, or since the repair.
    pub fired_at: Option<Stamp>,
}

impl Engine {
    /// An engine that has counted nothing.
    pub const fn new(rule: String, identity: String, resource: Resource) -> Self {
        Self { rule, identity, resource, occurrences: Vec::new(), fired_at: None }
    }

    /// Counts one occurrence; whether N in T is reached by it for the first time. Counting the same one again changes
    /// nothing.
    pub fn count(&mut self, occurrence: Occurrence, threshold: &Threshold) -> bool {
        if !self.take(occurrence) || self.fired_at.is_some() {
            return false;
        }
        let Some(at) = self.reached(threshold) else { return false };
        self.fired_at = Some(at);
        true
    }

    /// Forgets what was before a repair.
    pub fn reset(&mut self) {
        self.occurrences.clear();
        self.fired_at = None;
    }

    /// Whether the occurrence is a new one.
    fn take(&mut self, occurrence: Occurrence) -> bool {
        let same = |known: &Occurrence| {
            known.job == occurrence.job
                && (0..BURST_US).contains(&occurrence.at.micros_since(known.at))
                && (occurrence.times == 1 || known.at == occurrence.at)
        };
        if self.occurrences.iter().any(same) {
            return false;
        }
        let place = self.occurrences.partition_point(|known| known.at <= occurrence.at);
        // Older than the oldest of a full memory: it was counted and forgotten, or is of no account any more.
        if place == 0 && self.occurrences.len() >= KEPT {
            return false;
        }
        self.occurrences.insert(place, occurrence);
        if self.occurrences.len() > KEPT {
            self.occurrences.remove(0);
        }
        true
    }

    /// When the first window that holds enough was full. Every window that ends with an occurrence is looked at, because
    /// occurrences may be told late.
    fn reached(&self, threshold: &Threshold) -> Option<Stamp> {
        let all = &self.occurrences;
        let mut begin = 0;
        for (end, last) in all.iter().enumerate() {
            while last.at.micros_since(all[begin].at) > threshold.window_s.saturating_mul(1_000_000) {
                begin += 1;
            }
            if is_enough(&all[begin..=end], threshold) {
                return Some(last.at);
            }
        }
        None
    }

    /// Occurrences within the window that ends with the last one.
    pub fn within(&self, threshold: &Threshold) -> u64 {
        let Some(last) = self.occurrences.last() else { return 0 };
        let from = last.at.plus_secs(-threshold.window_s);
        let recent = self.occurrences.iter().filter(|known| known.at >= from);
        recent.fold(0, |sum, known| sum.saturating_add(known.times))
    }
}

fn is_enough(window: &[Occurrence], threshold: &Threshold) -> bool {
    let times = window.iter().fold(0_u64, |sum, known| sum.saturating_add(known.times));
    times >= threshold.count
        && distinct(window, |known| known.job) >= threshold.jobs as usize
        && distinct(window, |known| known.uid) >= threshold.users as usize
}

fn distinct(window: &[Occurrence], key: fn(&Occurrence) -> Option<u32>) -> usize {
    let mut keys: Vec<u32> = window.iter().filter_map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREE_IN_TEN: Threshold = Threshold { count: 3, window_s: 10, jobs: 0, users: 0 };

    fn engine() -> Engine {
        Engine::new("r".to_owned(), "gpu:0".to_owned(), Resource::Host)
    }

    fn at(secs: i64) -> Occurrence {
        Occurrence::at(Stamp::from_secs(secs))
    }

    fn of(secs: i64, job: u32, uid: u32) -> Occurrence {
        Occurrence { job: Some(job), uid: Some(uid), ..at(secs) }
    }

    #[test]
    fn the_third_within_the_window_fires_and_the_fourth_does_not_again() {
        let mut engine = engine();
        let fired: Vec<bool> = [0, 4, 9, 10].map(|s| engine.count(at(s), &THREE_IN_TEN)).to_vec();
        assert_eq!(fired, [false, false, true, false]);
        assert_eq!(engine.fired_at, Some(Stamp::from_secs(9)));
    }

    #[test]
    fn three_spread_over_more_than_the_window_do_not_fire() {
        let mut engine = engine();
        assert!(![0, 6, 12, 18, 24].iter().any(|s| engine.count(at(*s), &THREE_IN_TEN)));
    }

    #[test]
    fn a_burst_within_a_second_of_one_job_is_one_occurrence() {
        let mut engine = engine();
        for micros in 0..500 {
            let burst = Occurrence { at: Stamp::from_micros(micros * 1_900), ..of(0, 7, 1) };
            assert!(!engine.count(burst, &THREE_IN_TEN));
        }
        assert_eq!(engine.occurrences.len(), 1);
        assert!(
            !engine.count(of(0, 8, 1), &THREE_IN_TEN),
            "another job in the same second is another occurrence"
        );
        assert_eq!(engine.occurrences.len(), 2);
    }

    #[test]
    fn one_users_jobs_alone_do_not_speak_against_the_gpu() {
        let rule = Threshold { count: 3, window_s: 100, jobs: 3, users: 2 };
        let mut engine = engine();
        assert!(
            ![of(0, 1, 9), of(5, 2, 9), of(9, 3, 9), of(12, 3, 9)]
                .map(|o| engine.count(o, &rule))
                .contains(&true)
        );
        assert!(engine.count(of(20, 4, 8), &rule));
    }

    #[test]
    fn a_repair_forgets_what_was_before_it() {
        let mut engine = engine();
        assert!([0, 1, 2].map(|s| engine.count(at(s), &THREE_IN_TEN)).contains(&true));
        engine.reset();
        assert!(!engine.count(at(3), &THREE_IN_TEN));
        assert!(!engine.count(at(4), &THREE_IN_TEN));
        assert!(engine.count(at(5), &THREE_IN_TEN), "a fault that comes back after its repair fires again");
    }

    #[test]
    fn what_a_counter_tells_is_added_up() {
        let mut engine = engine();
        let rule = Threshold { count: 1_000, ..THREE_IN_TEN };
        assert!(!engine.count(Occurrence { times: 600, ..at(0) }, &rule));
        assert!(engine.count(Occurrence { times: u64::MAX, ..at(5) }, &rule));
    }

    proptest! {
        #[test]
        fn any_order_and_any_repetition_count_the_same(
            secs in prop::collection::vec(0_i64..200, 1..40),
            again in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut once = engine();
            let mut sorted = secs.clone();
            sorted.sort_unstable();
            let fired = sorted.iter().fold(false, |fired, s| fired | once.count(at(*s), &THREE_IN_TEN));
            let mut twice = engine();
            let mut fired_twice = false;
            for s in secs.iter().chain(again.iter().map(|i| i.get(&secs))) {
                fired_twice |= twice.count(at(*s), &THREE_IN_TEN);
            }
            prop_assert_eq!(fired, fired_twice);
            prop_assert_eq!(once.occurrences, twice.occurrences);
        }

        #[test]
        fn memory_is_bounded_and_no_moment_is_too_strange(moments in prop::collection::vec(any::<i64>(), 0..600)) {
            let mut engine = engine();
            for moment in moments {
                engine.count(Occurrence::at(Stamp::from_micros(moment)), &THREE_IN_TEN);
            }
            prop_assert!(engine.occurrences.len() <= KEPT);
            prop_assert!(engine.occurrences.is_sorted_by_key(|known| known.at));
        }
    }
}
