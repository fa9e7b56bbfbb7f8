//! A person undid our drain: we stand down for that fault. The case stays open and is shown, nothing is done again.
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::reason;
use crate::{Case, CaseState, Event};

pub(super) const DETECTOR: Detector = Detector { name: "undone", detect };

fn detect(input: &Input<'_>, _events: &[Event], book: &mut CaseBook<'_>) {
    let Some(record) = input.node_record.get() else { return };
    for out in input.out.iter().filter(|out| !out.case.is_open() && !out.case.stood_down) {
        if !record.is_out() || !is_still_ours(&record.reason) {
            book.let_go(&out.case);
        }
    }
    let acted: Vec<Case> = book.open().filter(|case| case.state == CaseState::Acted).cloned().collect();
    for case in acted {
        if !record.is_out() {
            book.stand_down(
                &case.id,
                format!("{} is in service again without our doing: we stand down", case.node),
            );
        } else if !is_still_ours(&record.reason) {
            let why = format!("the drain of {} now carries another reason: it is no longer ours", case.node);
            book.stand_down(&case.id, why);
        }
    }
}

/// With two cases the reason names one of them. A word that a person put behind it takes the drain over.
fn is_still_ours(text: &str) -> bool {
    reason::is_ours(text) && reason::case_of(text).is_some()
}
