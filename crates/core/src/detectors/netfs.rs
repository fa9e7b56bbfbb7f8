//! Network filesystems whose server does not answer: Lustre, NFS, GPFS and others. It is mostly the server or the network,
//! seldom the node; a server that answers again ends the case.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector, faults};
use crate::pipeline::Input;
use crate::{Confidence, Event, Role};

pub(super) const DETECTOR: Detector = Detector { name: "netfs", detect };

const ROOTS: &[&str] =
    &["lustre.evicted", "lustre.connection_lost", "nfs.not_responding", "netfs.not_responding", "gpfs.error"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events).filter(|event| is(event, ROOTS)) {
        if !answers_again(input, events, event) {
            evidence(input, event, Confidence::Probable, book);
        }
    }
}

/// A pause between two looks, as a busy server makes many of.
fn answers_again(input: &Input<'_>, events: &[Event], lost: &Event) -> bool {
    let fault = |event: &Event| faults::fault_of(input.catalog, event.code.as_str());
    trusted(events)
        .filter(|event| {
            event.role == Role::Recovery && event.resource == lost.resource && event.at >= lost.at
        })
        .any(|event| fault(event) == fault(lost))
}
