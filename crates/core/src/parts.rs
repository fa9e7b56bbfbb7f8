//! Which part sits in a slot. A GPU is known by its serial number, or by its UUID where the board tells no serial: both move
//! with it.
use std::collections::BTreeMap;

use crate::pipeline::Input;
use crate::reading::{GpuReading, NvmlReading};
use crate::{BootId, Payload, Resource, Stamp};

/// The sweeps a pass knows, newest first, each with its boot and, where it was made in this pass, its moment.
fn sweeps<'a>(input: &'a Input<'_>) -> impl Iterator<Item = (&'a BootId, Option<Stamp>, &'a NvmlReading)> {
    let own = input.observations.iter().rev().filter_map(|observation| match &observation.payload {
        Payload::Nvml(reading) => Some((&observation.boot, Some(observation.at), &**reading)),
        _ => None,
    });
    let last = input.last_reading.iter().map(|(boot, reading)| (boot, None, reading));
    own.chain(last)
}

/// The part a resource is, as the last sweep of this boot told it; while there is none, the last sweep at all.
pub(crate) fn part_of(input: &Input<'_>, resource: &Resource) -> Option<String> {
    if !matches!(resource, Resource::Gpu(_) | Resource::GpuIndex(_)) {
        return None;
    }
    sweeps(input).find_map(|(_, _, reading)| part_in(reading, resource))
}

/// The part in every slot a sweep told of, by the slot's name.
pub(crate) fn known(input: &Input<'_>) -> BTreeMap<String, String> {
    let slots =
        sweeps(input).flat_map(|(_, _, reading)| &reading.gpus).filter_map(|gpu| gpu.pci).map(Resource::Gpu);
    let mut known = BTreeMap::new();
    for slot in slots {
        let name = slot.to_string();
        if !known.contains_key(&name)
            && let Some(part) = part_of(input, &slot)
        {
            known.insert(name, part);
        }
    }
    known
}

/// The part that a sweep of this very pass sees in the slot.
pub(crate) fn part_now(input: &Input<'_>, resource: &Resource) -> Option<(Stamp, String)> {
    sweeps(input).find_map(|(_, at, reading)| Some((at?, part_in(reading, resource)?)))
}

/// Numbers under which a run's GPU list may mean the resource: NVML's index, and the device file's.
pub(crate) fn numbers(input: &Input<'_>, resource: &Resource) -> Vec<u32> {
    if let Resource::GpuIndex(index) = resource {
        return vec![*index];
    }
    let of_this_boot = sweeps(input).filter(|(boot, ..)| **boot == input.boot);
    of_this_boot
        .flat_map(|(_, _, reading)| &reading.gpus)
        .filter(|gpu| is_at(gpu, resource))
        .flat_map(|gpu| [Some(gpu.index), gpu.minor])
        .flatten()
        .collect()
}

fn is_at(gpu: &GpuReading, resource: &Resource) -> bool {
    match resource {
        Resource::Gpu(address) => gpu.pci == Some(*address),
        Resource::GpuIndex(index) => gpu.pci.is_none() && gpu.index == *index,
        _ => false,
    }
}

/// Boards without a serial tell `0`, or nothing; GPUs of one board may share theirs.
fn part_in(reading: &NvmlReading, resource: &Resource) -> Option<String> {
    let gpu = reading.gpus.iter().find(|gpu| is_at(gpu, resource))?;
    let told = |text: &&String| text.bytes().any(|b| b != b'0' && b != b' ');
    let own =
        |serial: &&String| reading.gpus.iter().filter(|g| g.serial.as_ref() == Some(*serial)).count() == 1;
    gpu.serial.as_ref().filter(told).filter(own).or(gpu.uuid.as_ref().filter(told)).cloned()
}
