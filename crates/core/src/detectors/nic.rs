//! Network adapters: their firmware, their queues, their links. A link that goes down while the node starts, or is back
//! before anybody looked, is no case; how often that happens is counted.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::serd;
use crate::{Confidence, Event};

pub(super) const DETECTOR: Detector = Detector { name: "nic", detect };

const ADAPTER: &[&str] =
    &["nic.firmware", "nic.gone", "nic.init_failed", "nic.command_timeout", "nic.tx_timeout", "nic.hot"];
const LINK: &[&str] = &["nic.link_down", "nic.cable"];
const SYMPTOMS: &[&str] = &["nic.driver_error", "nic.recovery_failed"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events) {
        if is(event, ADAPTER) {
            evidence(input, event, Confidence::Confirmed, book);
        } else if is(event, LINK) && !serd::is_of_boot(&input.past, event) && !is_back(events, event) {
            // One link of a node may be down for good and nobody miss it: a state check knows what is expected.
            evidence(input, event, Confidence::Suspected, book);
        } else if is(event, SYMPTOMS) {
            book.confirm(event);
        }
    }
}

fn is_back(events: &[Event], down: &Event) -> bool {
    trusted(events)
        .filter(|event| is(event, &["nic.link_up", "nic.cable_plugged"]))
        .any(|up| up.resource == down.resource && up.at >= down.at)
}
