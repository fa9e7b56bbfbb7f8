//! The node as a whole ran out of memory. A job that hits the limit of its own cgroup is the job's affair and never a case of
//! the node.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{ClearedBy, Confidence, Event, Resource};

pub(super) const DETECTOR: Detector = Detector { name: "oom", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events).filter(|event| is(event, &["oom.host"])) {
        // The victim is one of many; what was short is the node's memory. Daemons may be among the victims.
        let event = Event { resource: Resource::Host, clears: ClearedBy::Reboot, ..event.clone() };
        evidence(input, &event, Confidence::Suspected, book);
    }
}
