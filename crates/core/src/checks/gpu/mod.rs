//! Checks of GPUs: what NVML, the PCI bus and the driver's own files say, against what Slurm and the site expect.
mod count;
mod driver;
mod health;
mod heat;
mod leftovers;
mod limits;
mod links;
mod memory;
mod mig;
mod pcie;
mod same;

pub(super) use count::{COUNT, DEVICE_FILES};
pub(super) use driver::DRIVER;
pub(super) use health::{ECC, LOST, RECOVERY, REMAP, RETIRED};
pub(super) use heat::{PERSISTENCE, SPINNING, TEMPERATURE, THROTTLE};
pub(super) use leftovers::{LEFT_MEMORY, LEFT_PROCESSES};
pub(super) use limits::LIMITS;
pub(super) use links::{FABRIC, FABRIC_SERVICES, NVLINK, NVLINK_ERRORS};
pub(super) use memory::{ECC_CORRECTED, REMAP_GROWTH, RETIRED_COUNT};
pub(super) use mig::MIG;
pub(super) use pcie::{ACS, AER, AER_CORRECTED, BUS, REPLAYS, SPEED, WIDTH};
pub(super) use same::{IDENTITY, VERSIONS};

use super::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::facts::driver::DriverFacts;
use crate::facts::gres::ConfiguredGpus;
use crate::facts::pci::{PciDevice, PciFacts, PciKind};
use crate::reading::{GpuReading, NvmlReading, NvmlState};
use crate::{CauseClass, Resource};

/// What most checks of GPUs are: noted by the health check, cleared after five good minutes.
const GPU: Check = Check { reads: &[Area::Driver, Area::Nvml], class: CauseClass::Hardware, ..Check::HOST };

/// This pass's sweep where NVML answered; else says why there is nothing to look at. A node without NVIDIA's driver has
/// nothing to look at, and whether it should have one is the check `gpu_driver`'s question.
fn sweep<'a>(input: &CheckInput<'a>, findings: &mut Findings) -> Option<&'a NvmlReading> {
    if let Some(why) = input.nvml_blind {
        findings.blind(format!("NVML: {why}"));
        return None;
    }
    match input.nvml {
        Some(reading) if reading.state == NvmlState::Ok => Some(reading),
        Some(reading) if matches!(reading.state, NvmlState::LibraryMissing | NvmlState::DriverNotLoaded) => {
            no_driver(input, findings, &reading.detail);
            None
        }
        Some(reading) => {
            findings.blind(format!("NVML: {}", reading.detail));
            None
        }
        None if driver(input).is_some_and(|driver| driver.has_module("nvidia")) => {
            findings.blind("NVML was not asked in this pass");
            None
        }
        None => {
            no_driver(input, findings, "");
            None
        }
    }
}

/// Without its driver a node that should have GPUs tells nothing of them, which is not that they are well.
fn no_driver(input: &CheckInput<'_>, findings: &mut Findings, detail: &str) {
    if count::expected(input).is_some_and(|(count, _)| count > 0) {
        findings.blind(format!("NVML: {}", if detail.is_empty() { "no driver" } else { detail }));
    } else {
        findings.remark("no NVIDIA driver");
    }
}

/// The GPUs of this pass's sweep that can be read. One that is lost tells nothing: this check is blind on it.
fn gpus<'a>(input: &CheckInput<'a>, findings: &mut Findings) -> Vec<&'a GpuReading> {
    let Some(reading) = sweep(input, findings) else { return Vec::new() };
    for gpu in reading.gpus.iter().filter(|gpu| gpu.lost) {
        findings.blind_on(resource(gpu), format!("GPU {} is lost", gpu.index));
    }
    input.blind_on_gone(findings, |known| match known {
        Resource::Gpu(_) | Resource::GpuIndex(_) => reading.gpus.iter().any(|gpu| resource(gpu) == *known),
        _ => true,
    });
    reading.gpus.iter().filter(|gpu| !gpu.lost).collect()
}

/// The GPU as a resource: by address where it tells one.
fn resource(gpu: &GpuReading) -> Resource {
    gpu.pci.map_or(Resource::GpuIndex(gpu.index), Resource::Gpu)
}

/// The same GPU in the sweep before this one.
fn before<'a>(input: &CheckInput<'a>, gpu: &GpuReading) -> Option<&'a GpuReading> {
    let last = input.nvml_before?;
    last.gpus.iter().find(|old| old.pci == gpu.pci && gpu.pci.is_some() && old.serial == gpu.serial)
}

/// By how much a counter grew; a counter that was reset grew by what it shows now.
fn growth(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    let (now, before) = (now?, before?);
    Some(if now >= before { now - before } else { now })
}

/// A growth as a rate per `per` seconds, over the time since the look before this one.
#[expect(clippy::cast_precision_loss, reason = "a rate for a threshold")]
pub(super) fn rate(input: &CheckInput<'_>, growth: u64, per: f64) -> Option<f64> {
    Some(growth as f64 * per / input.seconds_since_before()?)
}

fn driver<'a>(input: &CheckInput<'a>) -> Option<&'a DriverFacts> {
    input.facts.driver.as_ref()?.said.as_ref()
}

fn pci<'a>(input: &CheckInput<'a>) -> Option<&'a PciFacts> {
    input.facts.pci.as_ref()?.said.as_ref()
}

fn gres<'a>(input: &CheckInput<'a>) -> Option<&'a ConfiguredGpus> {
    input.facts.gres.as_ref()?.said.as_ref()?.gpus.as_ref()
}

/// GPUs on the PCI bus, none where it was not read.
fn on_bus<'a>(input: &CheckInput<'a>) -> Vec<&'a PciDevice> {
    pci(input).map(|pci| pci.of(PciKind::Gpu).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
