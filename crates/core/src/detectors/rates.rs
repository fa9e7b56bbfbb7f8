//! What repeats too often: a count that was reached opens a case.
use super::open::{run_at, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Event, SourceKind};

pub(super) const DETECTOR: Detector = Detector { name: "rates", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    let fired =
        |event: &&Event| event.source == SourceKind::Suite && event.code.as_str().starts_with("rate.");
    for event in trusted(events).filter(fired) {
        book.evidence(event, event.confidence, run_at(input, event), event.text.clone());
    }
}
