//! Proof of repair. Nothing clears by silence: a case closes when what its fault asks for was seen, and a healthy
//! NVML reading of the very GPU was made afterwards.
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::reading::{GpuReading, NvmlState};
use crate::{Case, CaseState, ClearedBy, Event, Observation, Payload, Provenance, Resource, Role, sweep};

pub(super) const DETECTOR: Detector = Detector { name: "clearing", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    let open: Vec<Case> = book.open().cloned().collect();
    for case in &open {
        if let Some(word) = events.iter().find(|event| acknowledges_reset(input, case, event)) {
            let why = "the driver asks for nothing any more: the reset was acknowledged".to_owned();
            book.close(&case.id, CaseState::Resolved, word.at, why);
            continue;
        }
        if events.iter().any(|event| case.events.contains(&event.id)) {
            continue;
        }
        if let Some((observation, why)) =
            input.observations.iter().find_map(|o| Some((o, proof(input, case, o)?)))
        {
            book.close(&case.id, CaseState::Resolved, observation.at, why);
        }
    }
}

/// Xid 154 with the recovery action `None`: the driver takes back that the GPU must be reset. A sweep that still reads the
/// GPU as sick knows better.
fn acknowledges_reset(input: &Input<'_>, case: &Case, event: &Event) -> bool {
    event.code.as_str() == "xid.154"
        && event.role == Role::Recovery
        && event.provenance == Provenance::Trusted
        && event.synthetic == case.synthetic
        && event.resource == case.resource
        && event.at > case.last_seen
        && case.clears == ClearedBy::GpuReset
        && !input.observations.iter().any(|seen| reads_as_sick(case, seen))
}

fn reads_as_sick(case: &Case, observation: &Observation) -> bool {
    let Payload::Nvml(reading) = &observation.payload else { return false };
    let same = |gpu: &&GpuReading| gpu.pci.is_some() && gpu.pci == case.resource.pci();
    reading.gpus.iter().filter(same).any(|gpu| !sweep::is_healthy(gpu))
}

fn proof(input: &Input<'_>, case: &Case, observation: &Observation) -> Option<String> {
    let gpu = healthy_gpu(case, observation)?;
    let rebooted = case.boot != input.boot;
    let name = gpu.uuid.as_deref().unwrap_or("the GPU");
    match case.clears {
        // A GPU that had left the bus can only be read again after it was reset or the node was booted.
        ClearedBy::GpuReset | ClearedBy::Reboot if rebooted => {
            Some(format!("the node was booted again and NVML reads {name} as healthy"))
        }
        // Uncorrected errors count from driver load: at zero again, the GPU was reset or the driver reloaded. A counter
        // that never was anything else proves nothing.
        ClearedBy::GpuReset if gpu.ecc_uncorrected == Some(0) && errors_were_counted(input, gpu) => {
            Some(format!("the error counters of {name} are back at zero and no recovery is asked for"))
        }
        ClearedBy::RowRemap if gpu.remap_pending == Some(false) => {
            Some(format!("the row remap of {name} took place"))
        }
        _ => None,
    }
}

/// Whether the sweep before this one, in this boot, still counted uncorrected errors on the GPU.
fn errors_were_counted(input: &Input<'_>, gpu: &GpuReading) -> bool {
    let last = input.last_reading.iter().filter(|(boot, _)| *boot == input.boot);
    let before = last.flat_map(|(_, reading)| &reading.gpus).find(|before| before.pci == gpu.pci);
    before.and_then(|before| before.ecc_uncorrected).is_some_and(|errors| errors > 0)
}

/// A fault seen so long after a sweep of this very pass was seen by a clock that was ahead, and has been set right since.
fn was_ahead(case: &Case, observation: &Observation) -> bool {
    case.last_seen.micros_since(observation.at) > 3_600 * 1_000_000
}

/// The case's GPU in a sweep after its last evidence, if nothing in it speaks against the GPU.
pub(super) fn healthy_gpu<'a>(case: &Case, observation: &'a Observation) -> Option<&'a GpuReading> {
    let Payload::Nvml(reading) = &observation.payload else { return None };
    if reading.state != NvmlState::Ok
        || (observation.at <= case.last_seen && !was_ahead(case, observation))
        || observation.synthetic != case.synthetic
    {
        return None;
    }
    let same = |gpu: &&GpuReading| match &case.resource {
        Resource::Gpu(address) => gpu.pci == Some(*address),
        Resource::GpuIndex(index) => gpu.index == *index,
        _ => false,
    };
    reading.gpus.iter().find(same).filter(|gpu| sweep::is_healthy(gpu) && gpu.errors.is_empty())
}
