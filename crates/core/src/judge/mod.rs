//! The verdict over a run, at its end on its batch host: what this pass knows of the run as evidence, and what
//! [`attribute`] makes of it as the ledger keeps it.
mod gather;
pub mod known;
mod own;
mod peers;
mod told;

use crate::attribute::attribute;
use crate::pipeline::{Input, Trigger};
use crate::{Case, CauseClass, Confidence, Event, JobAsk, JobRecord, JobSpan, Stamp, TaskWhat, Verdict};

/// How close to the end of the run a fault of this node must lie to explain it without the job's own word: the time it
/// takes a task to notice, and Slurm to take the rest down.
const NO_QUESTION_S: i64 = 300;

/// Whether the run ended badly. A run of which nothing is known did not: absence of news is no failure.
pub(crate) fn is_failed(span: &JobSpan) -> bool {
    span.exit.is_some_and(|exit| !exit.is_success())
}

/// The run that this pass has to judge: a failed one, at its end, on its batch host.
pub(crate) fn judged<'a>(input: &'a Input<'_>) -> Option<&'a JobSpan> {
    let span = input.span.as_ref().filter(|_| input.trigger == Trigger::Epilog)?;
    (span.is_batch_host() && is_failed(span)).then_some(span)
}

/// The verdict over the run of this epilog: `None` when the run went well or is not this node's to judge.
pub(crate) fn verdict(input: &Input<'_>, events: &[Event], cases: &[Case]) -> Option<Verdict> {
    let span = judged(input)?;
    let found = attribute(&gather::evidence(input, span, events, cases));
    (found.class != CauseClass::None).then(|| told::verdict(input, span, events, cases, found))
}

/// Whether what the job printed can still change the verdict: not where a confirmed hardware fault of this node lies
/// right before the end, nor for a job that Slurm or a person ended, nor for one that asked to be left alone.
pub(crate) fn wants_output(input: &Input<'_>, span: &JobSpan, cases: &[Case]) -> bool {
    let plain = |case: &Case| {
        case.class == CauseClass::Hardware
            && case.confidence == Confidence::Confirmed
            && case.advice.wants_node_out()
            && !own::is_a_state(case.clears)
            && own::explains(input, span, case)
            && !own::is_beside(input, span, &case.resource)
            && first_end(input, span).micros_since(case.last_seen) <= NO_QUESTION_S * 1_000_000
    };
    is_open_book(input, span) && !cases.iter().any(plain)
}

/// Whether how far the run got is worth a look at the end of its output: where it may be run again, and nobody knows
/// by its output why it ended.
pub(crate) fn wants_progress(input: &Input<'_>, span: &JobSpan) -> bool {
    is_open_book(input, span) && input.job.get().is_some_and(|job| job.batch && job.requeue)
}

/// Whether the job's output may be read and matters: not of a job that Slurm or a person ended, nor of one that asked to be
/// left alone.
fn is_open_book(input: &Input<'_>, span: &JobSpan) -> bool {
    let ended_on_purpose = record(input, span)
        .is_some_and(|job| matches!(job.state.as_str(), "CANCELLED" | "COMPLETED" | "PREEMPTED"));
    span.ask != JobAsk::Off && !ended_on_purpose
}

/// What Slurm says of this very run. It keeps one record a job: once the job was put back into the queue, that tells how
/// the next run fares.
fn record<'a>(input: &'a Input<'_>, span: &JobSpan) -> Option<&'a JobRecord> {
    input.job.get().filter(|job| job.restarts <= span.run.restart)
}

/// Whether the case's fault lies within the run, not long ago, on a part that the run has.
pub(crate) fn hurts(input: &Input<'_>, span: &JobSpan, case: &Case) -> bool {
    !own::is_a_state(case.clears)
        && own::explains(input, span, case)
        && own::has_part(input, span, &case.resource)
}

/// When a task of this node ended badly for the first time, else when the run ended.
fn first_end(input: &Input<'_>, span: &JobSpan) -> Stamp {
    let end = span.end.unwrap_or(input.now);
    let bad = |what: &TaskWhat| matches!(what, TaskWhat::End(status) if !status.is_success());
    let deaths = input.tasks.iter().filter(|(_, edge)| bad(&edge.what)).map(|(at, _)| *at);
    deaths.min().map_or(end, |first| first.min(end))
}
