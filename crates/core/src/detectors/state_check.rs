//! What a state check found, and that it finds it good again.
use super::{CaseBook, Detector};
use crate::checks::{self, Checked};
use crate::pipeline::Input;
use crate::{Case, CaseState, ClearedBy, Event, JobSpan, Provenance};

pub(super) const DETECTOR: Detector = Detector { name: "state_check", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in events.iter().filter(|event| is_of_a_check(event)) {
        let running = |span: &&JobSpan| span.covers(event.at);
        let run = input.span.iter().chain(&input.spans).find(running).map(|span| span.run.clone());
        book.evidence(event, event.confidence, run, event.text.clone());
    }
}

fn is_of_a_check(event: &Event) -> bool {
    event.provenance == Provenance::Trusted
        && event.clears == ClearedBy::CheckPasses
        && checks::name_of(event.code.as_str()).is_some()
}

/// Closes the cases whose check passes in this pass. Nothing clears by silence: a check that did not run, or could not
/// look at the resource, closes nothing.
pub(crate) fn close_what_passes(input: &Input<'_>, checked: &Checked, book: &mut CaseBook<'_>) {
    let passed: Vec<Case> = book
        .open()
        .filter(|case| case.clears == ClearedBy::CheckPasses && checked.passes(case))
        .cloned()
        .collect();
    for case in passed {
        let why = format!("{} finds {} good again", case.code, case.resource);
        book.close(&case.id, CaseState::Resolved, input.now, why);
    }
}
