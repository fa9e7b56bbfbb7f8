//! Proof of repair by our own hand: the reset that the policy asked for was carried out after the case's last evidence,
//! and a sweep after it reads the GPU as healthy.
use super::{CaseBook, Detector, clearing};
use crate::pipeline::Input;
use crate::{Action, Case, CaseState, ClearedBy, Event, Try};

pub(super) const DETECTOR: Detector = Detector { name: "own_reset", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    let open: Vec<Case> = book.open().filter(|case| case.clears == ClearedBy::GpuReset).cloned().collect();
    for case in open {
        if events.iter().any(|event| case.events.contains(&event.id)) {
            continue;
        }
        let tries = input.out.iter().filter(|out| out.case.id == case.id).flat_map(|out| &out.tries);
        let Some(reset) = tries.rev().find(|tried| helped(tried, &case, input)) else { continue };
        let healthy = input
            .observations
            .iter()
            .find(|seen| seen.at > reset.at && clearing::healthy_gpu(&case, seen).is_some());
        if let Some(seen) = healthy {
            let why = format!("the GPU was reset ({}) and NVML reads it as healthy", reset.answer);
            book.close(&case.id, CaseState::Resolved, seen.at, why);
        }
    }
}

fn helped(tried: &Try, case: &Case, input: &Input<'_>) -> bool {
    let here = matches!(&tried.action, Action::Reset { boot, .. } if *boot == input.boot);
    here && tried.went_well == Some(true) && tried.at > case.last_seen
}
