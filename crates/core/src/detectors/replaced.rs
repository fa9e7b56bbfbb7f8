//! A slot with another GPU in it: what was claimed of the old one is no claim about the new one. What was counted on the old
//! one stays with its serial number.
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Case, CaseState, Event, parts};

pub(super) const DETECTOR: Detector = Detector { name: "replaced", detect };

fn detect(input: &Input<'_>, _events: &[Event], book: &mut CaseBook<'_>) {
    let open: Vec<Case> = book.open().cloned().collect();
    for case in open {
        let Some((at, now)) = parts::part_now(input, &case.resource) else { continue };
        match &case.part {
            // Only in its own boot can it be told that the part is the one the evidence was about.
            None if case.boot == input.boot => book.name_part(&case.id, now),
            Some(then) if *then != now && is_uuid(then) == is_uuid(&now) => {
                let why = format!("part replaced: {now} is in the place of {then}");
                book.close(&case.id, CaseState::Resolved, at, why);
            }
            _ => {}
        }
    }
}

/// A sick GPU may not tell its serial: a UUID beside a serial is no sign of another part.
fn is_uuid(part: &str) -> bool {
    part.starts_with("GPU-")
}
