//! What the ledger knows of a run.
use triage_core::catalog::Catalog;
use triage_core::judge::known::Known;
use triage_core::pipeline::Asked;
use triage_core::policy::Policy;
use triage_core::reading::NvmlReading;
use triage_core::{Case, CaseState, Event, JobRecord, JobSpan, PeerEvidence, Provenance, SourceKind, Stamp};
use triage_ledger::{Filter, Ledger, SourceRow};

use crate::site::explained;

/// How long after a run its aftermath is told: the epilog's own sweep, and what the kernel says when devices are let go.
const AFTERMATH_S: i64 = 60;

/// How long after a run a sweep still shows that all is well, seconds: until the next health check or two.
const SWEEP_S: i64 = 900;

/// How long after a run its own epilogs look: what a later look finds may have come later, and explains no run, seconds.
pub(super) const AT_ONCE_S: i64 = 30;

/// Most events of a run; as many as its epilog looks at.
const EVENTS: u32 = 4096;

/// Sweeps that a ledger keeps.
const SWEEPS: u32 = 64;

pub(super) fn known<'a>(
    ledger: &Ledger,
    span: JobSpan,
    (job, peers): (Asked<JobRecord>, Asked<Vec<PeerEvidence>>),
    now: Stamp,
    (catalog, policy): (&'a Catalog, &'a Policy),
) -> anyhow::Result<Known<'a>> {
    let (sweep, earlier_sweep) = sweeps(ledger, &span, now)?;
    Ok(Known {
        now,
        tasks: ledger.tasks_of(&span).map_err(explained)?,
        events: events(ledger, &span, now)?,
        cases: cases(ledger, &span, now)?,
        sweep,
        earlier_sweep,
        kernel_read: kernel_was_read(&ledger.sources().map_err(explained)?, &span, now),
        history: ledger.history(&span.run).map_err(explained)?,
        output: Asked::NotAsked,
        job,
        peers,
        catalog,
        policy,
        span,
    })
}

fn until(span: &JobSpan, now: Stamp) -> Stamp {
    span.end.unwrap_or(now).plus_secs(AFTERMATH_S)
}

fn within(span: &JobSpan, now: Stamp) -> Filter {
    Filter {
        since: Some(span.run.start),
        until: Some(until(span, now)),
        node: Some(span.node.clone()),
        ..Filter::default()
    }
}

fn events(ledger: &Ledger, span: &JobSpan, now: Stamp) -> anyhow::Result<Vec<Event>> {
    let filter = Filter { limit: Some(EVENTS), ..within(span, now) };
    let mut events = ledger.events(&filter).map_err(explained)?;
    events.retain(|event| event.provenance == Provenance::Trusted && event.boot == span.boot);
    Ok(events)
}

/// Those that stood against the node during the run. A person's word against one holds.
fn cases(ledger: &Ledger, span: &JobSpan, now: Stamp) -> anyhow::Result<Vec<Case>> {
    let mut cases = ledger.cases(&within(span, now)).map_err(explained)?;
    cases.retain(|case| case.state != CaseState::Acquitted);
    Ok(cases)
}

/// The first sweep after the run, or of a run that goes on the last; and the one before it in the same boot. A sweep long
/// after the run that finds something wrong does not tell that it was wrong at the end.
fn sweeps(
    ledger: &Ledger,
    span: &JobSpan,
    now: Stamp,
) -> anyhow::Result<(Option<NvmlReading>, Option<NvmlReading>)> {
    let mut all = ledger.readings(SWEEPS).map_err(explained)?;
    all.retain(|reading| reading.boot == span.boot && !reading.synthetic);
    let at = match span.end {
        Some(end) => {
            let timely = |at: Stamp| at >= end && at <= end.plus_secs(SWEEP_S);
            all.iter().position(|reading| timely(reading.at))
        }
        None => all.iter().rposition(|reading| reading.at >= span.run.start && reading.at <= now),
    };
    let Some(at) = at else { return Ok((None, all.pop().map(|reading| reading.reading))) };
    let late = |end: Stamp| all.get(at).is_some_and(|reading| reading.at > end.plus_secs(AT_ONCE_S));
    if span.end.is_some_and(late) && !all.get(at).is_some_and(|reading| reading.reading.is_healthy()) {
        all.truncate(at);
        return Ok((None, all.pop().map(|reading| reading.reading)));
    }
    let earlier = at.checked_sub(1).and_then(|before| all.get(before)).map(|reading| reading.reading.clone());
    Ok((Some(all.swap_remove(at).reading), earlier))
}

/// Whether the kernel's log was looked at since the run ended, and could be read. Holes in it are events of their own.
fn kernel_was_read(sources: &[SourceRow], span: &JobSpan, now: Stamp) -> bool {
    /// A run that goes on is seen as far as the last health check or epilog looked.
    const LATELY_S: i64 = 3_600;
    let wanted = span.end.unwrap_or_else(|| now.plus_secs(-LATELY_S));
    sources.iter().filter(|row| matches!(row.source, SourceKind::Kmsg | SourceKind::KernelFile)).any(|row| {
        row.last_ok.is_some_and(|ok| ok >= wanted) && row.blind_since.is_none_or(|since| since > wanted)
    })
}
