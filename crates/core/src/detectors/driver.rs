//! NVIDIA's driver and services where no GPU is named: a module that will not load, a library of another version, the Fabric
//! Manager, a switch the fabric misses. What names a GPU is a GPU's fault (`gpu_fault.rs`).
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Confidence, Event, Resource};

pub(super) const DETECTOR: Detector = Detector { name: "driver", detect };

const ROOTS: &[&str] = &[
    "nvidia.version_mismatch",
    "nvidia.module_refused",
    "nvidia.uvm_fatal",
    "nvidia.peermem",
    "nvidia.unsupported",
    "nvidia.conflict",
    "nvidia.firmware_missing",
    "nvidia.confidential",
    "service.failed",
    "fabric.manager_error",
    "fabric.switch_missing",
    "nvswitch.fatal",
];
const SYMPTOMS: &[&str] = &["nvidia.probe_failed", "service.failed_symptom"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events).filter(|event| !names_a_gpu(event)) {
        if is(event, ROOTS) {
            // A module that is refused may be loaded a moment later, as during an update: NVML says whether it is there.
            evidence(input, event, Confidence::Probable, book);
        } else if is(event, SYMPTOMS) {
            book.confirm(event);
        }
    }
}

const fn names_a_gpu(event: &Event) -> bool {
    matches!(event.resource, Resource::Gpu(_) | Resource::GpuIndex(_) | Resource::NvSwitch(_))
}
