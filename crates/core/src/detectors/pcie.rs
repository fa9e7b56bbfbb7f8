//! PCIe links that failed: AER reports, containment, hot-plug. A port says which link; what hangs on it is the GPU or network
//! adapter behind, where the bus tells of exactly one.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Confidence, Event, PciAddress, Resource};

pub(super) const DETECTOR: Detector = Detector { name: "pcie", detect };

/// What opens a case. Corrected errors only do by their rate.
const ROOTS: &[&str] =
    &["pcie.aer_fatal", "pcie.aer_nonfatal", "pcie.dpc", "pcie.link_down", "pcie.power_fault"];

/// What only says more of a case that is open.
const SYMPTOMS: &[&str] =
    &["pcie.recovery_failed", "pcie.card_gone", "pcie.unreachable", "pcie.dead_function"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events).filter(|event| is(event, ROOTS) || is(event, SYMPTOMS)) {
        let behind = event.resource.pci().and_then(|port| endpoint(input, port));
        let recovered = has_recovered(events, event);
        // A slot of which nobody knows what is in it may be an empty one: some firmware reports power faults of those.
        let at_most = match (&behind, recovered) {
            (Some(_), false) => Confidence::Confirmed,
            (None, false) => Confidence::Probable,
            (_, true) => Confidence::Suspected,
        };
        let event = Event { resource: behind.unwrap_or_else(|| event.resource.clone()), ..event.clone() };
        if is(&event, ROOTS) {
            evidence(input, &event, at_most, book);
        } else {
            book.confirm(&event);
        }
    }
}

/// The kernel reset the link and the device's driver took it back.
fn has_recovered(events: &[Event], event: &Event) -> bool {
    let later = |other: &&Event| other.at >= event.at && other.resource == event.resource;
    trusted(events).filter(|other| is(other, &["pcie.recovery"])).any(|other| later(&other))
}

/// What a job uses at that address or, for a port, behind it. With several behind one port nobody can say which.
fn endpoint(input: &Input<'_>, address: PciAddress) -> Option<Resource> {
    let of_sweep = |reading: &crate::reading::NvmlReading| {
        reading.gpus.iter().any(|gpu| gpu.pci.is_some_and(|pci| same_device(pci, address)))
    };
    if let Some(itself) = input.past.endpoints.iter().find(|e| same_device(e.address, address)) {
        return Some(itself.resource.clone());
    }
    if input.last_reading.as_ref().is_some_and(|(_, reading)| of_sweep(reading)) {
        return Some(Resource::Gpu(PciAddress { function: 0, ..address }));
    }
    let mut behind = input.past.endpoints.iter().filter(|e| e.above.contains(&address));
    // The ports of one adapter are functions of one device.
    let first = behind.next()?;
    behind.all(|other| same_device(other.address, first.address)).then(|| first.resource.clone())
}

const fn same_device(a: PciAddress, b: PciAddress) -> bool {
    a.domain == b.domain && a.bus == b.bus && a.device == b.device
}
