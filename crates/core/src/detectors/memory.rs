//! Memory and processors that report errors. Uncorrected ones open a case at once; corrected ones only by their rate.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Confidence, Event};

pub(super) const DETECTOR: Detector = Detector { name: "memory", detect };

const ROOTS: &[&str] = &[
    "memory.uncorrected",
    "mce.uncorrected",
    "mce.deferred",
    "apei.fatal",
    "nmi.hardware",
    "host.overheated",
    "mce.storm",
    "cpu.not_started",
];

/// The kernel lost a page to an error that no module was named for.
const LOST_PAGE: &[&str] = &["memory.page_failed"];
const SYMPTOMS: &[&str] = &["memory.killed"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events) {
        if is(event, ROOTS) {
            evidence(input, event, Confidence::Confirmed, book);
        } else if is(event, LOST_PAGE) && event.advice.wants_node_out() {
            evidence(input, event, Confidence::Probable, book);
        } else if is(event, SYMPTOMS) {
            book.confirm(event);
        }
    }
}
