//! Right, wrong, or not known yet: what then happened, as far as the ledgers know. docs/operators.md defines each.
use serde::Serialize;
use triage_core::arrange::Arrange as _;
use triage_core::{Case, CaseState, CauseClass, ClearedBy, ExitStatus, Intent, JobSpan, RunId, Stamp};
use triage_ledger::Closing;

use super::claim::Claim;
use crate::books::Book;
use crate::render;

/// How a claim turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// What then happened bears it out.
    Right,
    /// What then happened speaks against it.
    Wrong,
    /// Nothing has happened yet that tells.
    Open,
    /// Another gate than the mode held it, so that nothing would have been done: not graded.
    Withheld,
}

impl Grade {
    /// The word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Open => "open",
            Self::Withheld => "withheld",
        }
    }
}

/// The time within which what happens to a node is taken for an answer, seconds.
pub(super) const ANSWER_S: i64 = 24 * 3_600;

/// Evidence within this after a decision belongs to what led to it, seconds: a dying GPU logs for minutes.
const SAME_BREATH_S: i64 = 600;

/// Successful work that tells a part is sound: so many runs, or so many hours in all.
const SOUND_RUNS: usize = 3;
const SOUND_HOURS: f64 = 24.0;

/// What a grade depends on beside the ledgers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// The moment of the report.
    pub(super) now: Stamp,
    /// Days of work without a fault after which a drain is held to have been wrong.
    pub(super) clean_days: u32,
}

impl Settings {
    fn clean_us(self) -> i64 {
        i64::from(self.clean_days) * 86_400_000_000
    }
}

/// The grade of a claim, and why.
pub(super) fn grade(claim: &Claim<'_>, books: &[Book], settings: Settings) -> (Grade, String) {
    if let Some(gate) = claim.withheld {
        return (Grade::Withheld, format!("held by {gate}"));
    }
    match claim.decision.intent {
        Intent::Requeue | Intent::RequeueHold | Intent::Stop => of_job(claim, books, settings),
        Intent::RefuseJob if claim.done.is_none() => of_refusal(claim, settings),
        _ => of_node(claim, settings),
    }
}

/// A drain, or a refusal that was carried out: is the node bad?
fn of_node(claim: &Claim<'_>, settings: Settings) -> (Grade, String) {
    if let Some(why) = acquitted(claim) {
        return (Grade::Wrong, why);
    }
    let right = taken_out(claim)
        .or_else(|| repaired(claim))
        .or_else(|| came_again(claim, settings))
        .or_else(|| failed_on_it(claim, settings));
    if let Some(why) = right {
        return (Grade::Right, why);
    }
    match put_back(claim).or_else(|| worked_on(claim, settings)) {
        Some(why) => (Grade::Wrong, why),
        None => (Grade::Open, "nothing has happened yet that tells".to_owned()),
    }
}

fn acquitted(claim: &Claim<'_>) -> Option<String> {
    let case = claim.cases.iter().find(|case| case.state == CaseState::Acquitted)?;
    Some(format!("case {}: {}", case.id, case.why))
}

/// Somebody else, or Slurm, took the node out.
fn taken_out(claim: &Claim<'_>) -> Option<String> {
    let within = claim.at()..=claim.at().plus_secs(ANSWER_S);
    let mut seen = claim.book.sightings.iter().filter(|seen| seen.node == claim.book.node);
    let seen = seen.find(|seen| seen.is_out && !seen.ours && within.contains(&seen.first_seen))?;
    let after = hours(seen.first_seen.micros_since(claim.at()));
    let who = if seen.state.split('+').any(|word| word == "DOWN") {
        "Slurm had the node down"
    } else {
        "somebody else took the node out"
    };
    Some(format!("{who} within {after:.1} h: \"{}\"", seen.reason))
}

/// A state that a check finds good again was set right, or was never wrong: a threshold or a promise may have been. Only
/// what somebody acknowledges as repaired speaks for the claim then.
fn repaired(claim: &Claim<'_>) -> Option<String> {
    let told = |case: &&&Case| {
        case.clears != ClearedBy::CheckPasses || case.why.starts_with(Closing::Acknowledged.words())
    };
    let case = claim.cases.iter().filter(|case| case.state == CaseState::Resolved).find(told)?;
    Some(format!("repaired: {}", case.why))
}

fn came_again(claim: &Claim<'_>, settings: Settings) -> Option<String> {
    let from = claim.at().plus_secs(SAME_BREATH_S);
    let to = claim.at().plus_micros(settings.clean_us());
    let within = |at: Stamp| from <= at && at <= to;
    if let Some(case) = claim.cases.iter().find(|case| within(case.last_seen)) {
        return Some(format!("the same fault was seen again {}", render::seconds(case.last_seen)));
    }
    let resource = claim.resource()?;
    let again = claim.book.opened_within(from, to).find(|case| {
        case.resource == *resource
            && case.state != CaseState::Acquitted
            && claim.cases.iter().all(|known| known.id != case.id)
    })?;
    Some(format!("{} on the same part {}", again.code, render::seconds(again.opened_at)))
}

/// A later run died on the node, and the node was blamed for it.
fn failed_on_it(claim: &Claim<'_>, settings: Settings) -> Option<String> {
    let to = claim.at().plus_micros(settings.clean_us());
    let blames = |run: &RunId| {
        claim.book.verdicts_over(run).any(|verdict| {
            matches!(verdict.class, CauseClass::Hardware | CauseClass::System)
                && verdict.culprits.iter().any(|culprit| culprit.node == claim.book.node)
        })
    };
    let died = claim.later_runs(to).find(|span| is_failed(span) && blames(&span.run))?;
    Some(format!("job {} was given the node and failed on it", died.run))
}

fn put_back(claim: &Claim<'_>) -> Option<String> {
    let case = claim.cases.iter().find(|case| case.stood_down && case.is_open())?;
    Some(format!("a person put the node back: {}", case.why))
}

/// The part worked on for so many days, and nothing was seen of it.
fn worked_on(claim: &Claim<'_>, settings: Settings) -> Option<String> {
    let to = claim.at().plus_micros(settings.clean_us());
    if settings.now < to {
        return None;
    }
    let good: Vec<&JobSpan> = claim
        .later_runs(to)
        .filter(|span| is_success(span) && span.end.is_some_and(|end| end <= to))
        .collect();
    let worked: f64 = good.iter().map(|span| hours(length(span))).sum();
    (good.len() >= SOUND_RUNS || worked >= SOUND_HOURS).then(|| {
        format!(
            "it worked on for {} days without a fault: {} runs, {worked:.1} h",
            settings.clean_days,
            good.len()
        )
    })
}

/// A refusal that was not carried out: how did the job fare?
fn of_refusal(claim: &Claim<'_>, settings: Settings) -> (Grade, String) {
    let run = claim.run();
    let span = run.and_then(|run| claim.book.span(run));
    match span {
        Some(span) if is_success(span) => {
            (Grade::Wrong, format!("job {} ran here all the same and went well", span.run))
        }
        Some(span) if is_failed(span) && is_blamed(claim, &span.run) => {
            (Grade::Right, format!("job {} ran here all the same and died of it", span.run))
        }
        _ => of_node(claim, settings),
    }
}

fn is_blamed(claim: &Claim<'_>, run: &RunId) -> bool {
    claim
        .book
        .verdicts_over(run)
        .any(|verdict| claim.cases.iter().any(|case| verdict.cases.contains(&case.id)))
}

/// A requeue: how did the next run fare, and where? Without one: was its node to blame?
fn of_job(claim: &Claim<'_>, books: &[Book], settings: Settings) -> (Grade, String) {
    if let Some(answer) = next_run(claim, books) {
        return answer;
    }
    if claim.cases.is_empty() {
        return (
            Grade::Open,
            "no next run is in these ledgers, and its node's ledger is not among these".to_owned(),
        );
    }
    let (grade, why) = of_node(claim, settings);
    (grade, format!("no next run is in these ledgers; of its node: {why}"))
}

fn next_run(claim: &Claim<'_>, books: &[Book]) -> Option<(Grade, String)> {
    let run = claim.run()?;
    let same_job = |span: &&JobSpan| {
        span.run.restart > run.restart && span.run.start >= claim.at() && span.end.is_some()
    };
    let all = books.iter().flat_map(|book| book.runs_of(&run.cluster, run.job)).filter(same_job);
    let all: Vec<&JobSpan> = all.collect();
    let next = all.iter().map(|span| span.run.restart).min()?;
    let mut parts: Vec<&JobSpan> = all.into_iter().filter(|span| span.run.restart == next).collect();
    parts.arrange_by(|a, b| a.node.cmp(&b.node));
    let first = parts.first()?;
    let culprits: Vec<_> = claim.verdict.iter().flat_map(|verdict| &verdict.culprits).collect();
    let back = first.nodes.iter().any(|node| culprits.iter().any(|culprit| culprit.node == *node));
    let good = parts.iter().all(|span| is_success(span));
    let failed = parts.iter().any(|span| is_failed(span));
    let stops = claim.decision.intent == Intent::Stop;
    match (good, failed, back) {
        (true, _, _) if stops => Some((Grade::Wrong, "its next run went well".to_owned())),
        (_, true, _) if stops => Some((Grade::Right, "its next run failed as well".to_owned())),
        (true, _, true) => Some((Grade::Wrong, "its next run went well on the very node".to_owned())),
        (true, _, false) => Some((Grade::Right, "its next run went well elsewhere".to_owned())),
        (_, true, true) => {
            Some((Grade::Right, "its next run was given the node again and failed".to_owned()))
        }
        (_, true, false) => Some((Grade::Wrong, "its next run failed elsewhere as well".to_owned())),
        _ => None,
    }
}

/// Whether it ended well.
pub(super) fn is_success(span: &JobSpan) -> bool {
    span.end.is_some() && span.exit.is_some_and(ExitStatus::is_success)
}

/// Whether it failed of itself. What somebody cancelled, or Slurm ended for its own reasons, tells nothing of the node.
pub(super) fn is_failed(span: &JobSpan) -> bool {
    let told = !matches!(span.state.as_str(), "CANCELLED" | "TIMEOUT" | "DEADLINE" | "PREEMPTED");
    span.end.is_some() && told && span.exit.is_some_and(|exit| !exit.is_success())
}

/// How long it was on the node, microseconds.
pub(super) fn length(span: &JobSpan) -> i64 {
    span.end.map_or(0, |end| end.micros_since(span.run.start).max(0))
}

/// Microseconds as hours.
#[expect(clippy::cast_precision_loss, reason = "hours for people; a century in microseconds has 52 bits")]
pub(super) fn hours(micros: i64) -> f64 {
    micros as f64 / 3.6e9
}
