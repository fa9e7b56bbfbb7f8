//! Whether running a job again has a point: how often it was tried, how far it got, and whether the fault follows it.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use super::gates::gate;
use crate::memory::{PastCause, PastRun};
use crate::pipeline::Input;
use crate::policy::JobLimits;
use crate::progress::Progress;
use crate::{Code, Gate, JobSpan, NodeName, Stamp, Verdict, reason};

/// What the tries so far say.
pub(super) struct Again {
    /// The gates, passed or held.
    pub(super) gates: Vec<Gate>,
    /// The job is not to be run again at all, and why.
    pub(super) stop: Option<String>,
    /// It is to wait until then.
    pub(super) not_before: Option<Stamp>,
}

pub(super) fn judge(input: &Input<'_>, span: &JobSpan, verdict: &Verdict, code: &Code) -> Again {
    let limits = &input.policy.job;
    let none = Vec::new();
    let runs = input.memory.get().map_or(&none, |memory| &memory.runs);
    let ours = runs.iter().filter(|run| run.requeued_at.is_some()).count();
    let told = input.job.get().map_or(0, |job| job.restarts);
    let count = span.run.restart.max(told).max(u32::try_from(ours).unwrap_or(u32::MAX));
    let got = input.how_far();
    let short = no_further((input.now, &got, noted(input)), span, runs, limits.progress_s, count);
    let (budget, stop) = tries(limits, count, short);
    let (follows, same) = same_fault(limits, runs, verdict, code);
    let not_before = not_before(limits, count, span, runs).filter(|at| *at > input.now);
    let gate_of_progress = progress_gate(stop.clone(), &got);
    let stop = if budget.passed { same.or(stop) } else { None };
    let mut gates = vec![budget, gate_of_progress, follows];
    gates.extend(not_before.map(|at| gate("backoff", true, format!("runs again no earlier than {at}"))));
    Again { gates, stop, not_before }
}

/// How far the run before got, by what we noted at the job when it was requeued: that run's batch host is often another
/// node. Only root writes an `AdminComment`.
fn noted(input: &Input<'_>) -> Option<Progress> {
    let comment = input.job.get()?.fields.get("AdminComment")?;
    Progress::noted_in(comment.strip_prefix(reason::PREFIX)?)
}

/// How many of the restarts known here, the present run among them, got no further than the run before. Where both said how
/// far they got, that counts; else it is a run that ended before it can have got anywhere.
fn no_further(
    (now, got, noted): (Stamp, &Progress, Option<Progress>),
    span: &JobSpan,
    runs: &[PastRun],
    least_s: u32,
    count: u32,
) -> u32 {
    let short = |start: Stamp, end: Stamp| end.micros_since(start) < i64::from(least_s) * 1_000_000;
    let stuck = |restart: u32, got: &Progress| {
        let before = runs.iter().find(|run| run.restart.checked_add(1) == Some(restart));
        let before = before.map(|run| run.progress).filter(|before| !before.is_unknown());
        let before = before.or(noted.filter(|_| restart == span.run.restart));
        before.and_then(|before| got.is_beyond(&before)).map(|beyond| !beyond)
    };
    let earlier = runs.iter().filter(|run| run.restart > 0).filter(|run| {
        stuck(run.restart, &run.progress).unwrap_or_else(|| run.end.is_some_and(|end| short(run.start, end)))
    });
    let this = count > 0
        && stuck(span.run.restart, got).unwrap_or_else(|| short(span.run.start, span.end.unwrap_or(now)));
    u32::try_from(earlier.count()).unwrap_or(u32::MAX).saturating_add(u32::from(this)).min(count)
}

/// The budget, and why it is used up where it is so only because restarts got no further.
fn tries(limits: &JobLimits, count: u32, short: u32) -> (Gate, Option<String>) {
    const NAME: &str = "restart_budget";
    let max = limits.max_restarts;
    if count >= max {
        return (gate(NAME, false, format!("restarted {count} times already, at most {max}")), None);
    }
    let used = count.saturating_add(short);
    let stop = (used >= max).then(|| {
        format!(
            "restarted {count} times, {short} of them got no further than the run before (by what they printed, or ended \
             within {} s) and count double: at most {max}",
            limits.progress_s
        )
    });
    (gate(NAME, true, format!("restart {} of at most {max}", count + 1)), stop)
}

fn progress_gate(stop: Option<String>, got: &Progress) -> Gate {
    let far = if got.is_unknown() { String::new() } else { format!("; this run got to {got}") };
    match stop {
        Some(why) => gate("progress", false, why + &far),
        None => gate("progress", true, format!("restarts so far got further, or are few{far}")),
    }
}

/// Least time between two requeues, doubling with each; what is left of it is waited. Where the last requeue was
/// another node's, the run's own start stands for it, which is later.
fn not_before(limits: &JobLimits, count: u32, span: &JobSpan, runs: &[PastRun]) -> Option<Stamp> {
    let doublings = count.checked_sub(1)?.min(16);
    let wait = i64::from(limits.backoff_s).saturating_mul(1 << doublings);
    let last = runs.iter().filter_map(|run| run.requeued_at).max().unwrap_or(span.run.start);
    Some(last.plus_secs(wait))
}

/// The same fault on nodes that have none in common, run after run: it comes with the job.
fn same_fault(
    limits: &JobLimits,
    runs: &[PastRun],
    verdict: &Verdict,
    code: &Code,
) -> (Gate, Option<String>) {
    const NAME: &str = "same_fault";
    let mut seen: BTreeSet<&NodeName> = verdict.culprits.iter().map(|culprit| &culprit.node).into_set();
    let kinds: BTreeSet<String> = kinds(verdict).into_set();
    let mut count = u32::from(!seen.is_empty());
    for cause in runs.iter().rev().filter_map(|run| run.cause.as_ref()) {
        let disjoint = !cause.nodes.is_empty() && cause.nodes.iter().all(|node| !seen.contains(node));
        if count > 0 && disjoint && is_same(cause, verdict, code, &kinds) {
            count += 1;
            seen.extend(&cause.nodes);
        }
    }
    if count >= limits.same_fault_runs.max(2) {
        let why = format!(
            "{count} runs of this job ended by the same fault ({code}) on {} different nodes: it comes with the job",
            seen.len()
        );
        return (gate(NAME, false, why.clone()), Some(why));
    }
    (gate(NAME, true, "the fault does not follow the job from node to node"), None)
}

fn is_same(cause: &PastCause, verdict: &Verdict, code: &Code, kinds: &BTreeSet<String>) -> bool {
    if cause.class != Some(verdict.class) {
        return false;
    }
    // A case of another node is known here by its part alone.
    if cause.codes.is_empty() {
        cause.kinds.iter().any(|kind| kinds.contains(kind))
    } else {
        cause.codes.contains(code)
    }
}

/// Kinds of parts to blame: what stands before the colon of a resource.
pub(super) fn kinds(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.culprits.iter().filter_map(|culprit| culprit.resource.as_ref()).map(|resource| {
        let text = resource.to_string();
        text.split(':').next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests;
