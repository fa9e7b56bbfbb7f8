//! The kernel itself: lockups, stalls, oopses, and what a panic left in the crash store. Whichever CPU tells, it is the node.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{ClearedBy, Confidence, Event, Resource};

pub(super) const DETECTOR: Detector = Detector { name: "lockup", detect };

const ROOTS: &[&str] = &[
    "kernel.soft_lockup",
    "kernel.hard_lockup",
    "kernel.oops",
    "kernel.panic",
    "kernel.bad_state",
    "clock.unstable",
    "irq.nobody_cared",
    "pstore.crash",
    "fs.bug",
    "lustre.bug",
];

/// A stall follows from something, but says by itself that the node stood still.
const STALLS: &[&str] = &["kernel.rcu_stall"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events) {
        let at_most = if is(event, ROOTS) {
            Confidence::Confirmed
        } else if is(event, STALLS) {
            Confidence::Suspected
        } else {
            continue;
        };
        let clears = if event.clears == ClearedBy::None { ClearedBy::Reboot } else { event.clears };
        let event = Event { resource: Resource::Host, clears, ..event.clone() };
        evidence(input, &event, at_most, book);
    }
}
