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

/// Faults of which the check that finds the thing whole again is as good a proof as any message of the kernel's: it has the
/// members of the array, or the state of the link, before it.
const PROVEN_BY_CHECK: &[&str] = &["nic.link", "raid.degraded"];

/// Closes the cases whose check passes in this pass. Nothing clears by silence: a check that did not run, or could not
/// look at the resource, closes nothing.
pub(crate) fn close_what_passes(input: &Input<'_>, checked: &Checked, book: &mut CaseBook<'_>) {
    let passed: Vec<Case> = book
        .open()
        .filter(|case| match case.clears {
            ClearedBy::CheckPasses => checked.passes(case),
            _ => PROVEN_BY_CHECK.contains(&case.fault.as_str()) && is_mended(checked, case, book),
        })
        .cloned()
        .collect();
    for case in passed {
        let by = if case.clears == ClearedBy::CheckPasses { case.code.as_str() } else { "the state check" };
        let why = format!("{by} finds {} good again", case.resource);
        book.close(&case.id, CaseState::Resolved, input.now, why);
    }
}

fn is_mended(checked: &Checked, case: &Case, book: &CaseBook<'_>) -> bool {
    checked.mended(case, |resource| book.are_one(resource, &case.resource))
}
