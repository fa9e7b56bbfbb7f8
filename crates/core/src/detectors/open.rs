//! What the detectors of host faults have in common.
use super::CaseBook;
use crate::pipeline::Input;
use crate::{CauseClass, Confidence, Event, JobSpan, Provenance, Role, RunId};

/// Events that a case may rest on.
pub(super) fn trusted(events: &[Event]) -> impl Iterator<Item = &Event> + Clone {
    events.iter().filter(|event| event.provenance == Provenance::Trusted)
}

/// Whether the code is one of these.
pub(super) fn is(event: &Event, codes: &[&str]) -> bool {
    codes.contains(&event.code.as_str())
}

/// Evidence for the event's own fault, no surer than `at_most`. A wording that means no fault is none.
pub(super) fn evidence(input: &Input<'_>, event: &Event, at_most: Confidence, book: &mut CaseBook<'_>) {
    if event.class == CauseClass::None || event.role < Role::Symptom {
        return;
    }
    let why = format!("{} on {}", event.code, event.resource);
    book.evidence(event, event.confidence.min(at_most), run_at(input, event), why);
}

/// The run that was on the node at that moment; with several, the current one first.
pub(super) fn run_at(input: &Input<'_>, event: &Event) -> Option<RunId> {
    let covering = |span: &&JobSpan| span.covers(event.at);
    input.span.iter().chain(&input.spans).find(covering).map(|span| span.run.clone())
}
