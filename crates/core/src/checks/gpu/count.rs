//! Are all GPUs there that Slurm hands out: to NVML, on the bus, as device files.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use super::super::{Check, CheckAction, CheckInput, Findings};
use super::{GPU, driver, gres, on_bus, sweep};
use crate::facts::Area;
use crate::reading::NvmlReading;
use crate::{Advice, PciAddress, Resource};

/// Certain and breaks jobs: one that is given the missing GPU fails. A minute, because a reset takes a GPU away for some
/// seconds, and epilogs of sites do reset GPUs: our own figure.
pub(in super::super) const COUNT: Check = Check {
    name: "gpu_count",
    finds: "fewer GPUs than Slurm was promised, and where the missing one was last seen",
    reads: &[Area::Driver, Area::Nvml, Area::Gres, Area::Pci],
    action: CheckAction::Drain,
    advice: Advice::Reboot,
    fault: "gpu.off_bus",
    bad_for_s: 60,
    good_for_s: 0,
    evaluate: count,
    ..GPU
};

/// How many boards the node should have, and who says so.
pub(super) fn expected(input: &CheckInput<'_>) -> Option<(u32, String)> {
    let learned = || {
        let gpus = &input.baseline?.gpus;
        u32::try_from(gpus.len()).ok().filter(|count| *count > 0).map(|count| (count, "baseline".to_owned()))
    };
    let configured = || {
        let gpus = gres(input).filter(|gpus| gpus.nvidia || is_nvidias(input))?;
        gpus.boards().map(|boards| (boards, gpus.from.clone()))
    };
    Some((input.expect.gpus, "[expect]".to_owned()))
        .filter(|(count, _)| *count > 0)
        .or_else(configured)
        .or_else(learned)
}

/// Whether the node's GPUs are NVIDIA's for all we know: another maker's are not missing from NVML.
fn is_nvidias(input: &CheckInput<'_>) -> bool {
    let swept = |reading: Option<&NvmlReading>| reading.is_some_and(|reading| !reading.gpus.is_empty());
    !on_bus(input).is_empty()
        || swept(input.nvml)
        || swept(input.nvml_before)
        || input.baseline.is_some_and(|baseline| !baseline.gpus.is_empty())
}

fn count(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some((expected, source)) = expected(input) else {
        findings.remark("neither gres.conf, [expect] nor a baseline says how many GPUs there should be");
        return;
    };
    let Some(reading) = sweep(input, findings) else { return };
    let seen = u32::try_from(reading.gpus.len()).unwrap_or(u32::MAX);
    findings.value(format!("{seen} of {expected}"));
    if seen > expected {
        findings.remark(format!("NVML counts {seen} GPUs, {source} has {expected}"));
    }
    let Some(missing) = expected.checked_sub(seen).filter(|missing| *missing > 0) else { return };
    let head = format!("{seen} of {expected} GPUs ({source})");
    let named = missing_addresses(input, reading);
    if u32::try_from(named.len()).is_ok_and(|named| (1..=missing).contains(&named)) {
        for address in &named {
            let place = whereabouts(input, *address);
            findings.certain(Resource::Gpu(*address), format!("{head}: {address} {place}"));
        }
    } else if let Some(learned) = input.baseline.filter(|known| named.is_empty() && !known.gpus.is_empty()) {
        // All that the node was admitted with are there: then the promise may be what is wrong, on all nodes at once.
        let told = format!(
            "{missing} missing that were never seen here, and the baseline's {} are all there",
            learned.gpus.len()
        );
        findings.suspect(Resource::Host, format!("{head}: {told}"));
    } else if named.is_empty() {
        findings.certain(Resource::Host, format!("{head}: {missing} missing that were never seen here"));
    } else {
        let names: Vec<String> = named.iter().map(ToString::to_string).collect();
        findings.certain(Resource::Host, format!("{head}: {missing} missing, of {}", names.join(", ")));
    }
}

/// Addresses of GPUs that are on the bus or were known, and that NVML does not name now.
fn missing_addresses(input: &CheckInput<'_>, reading: &NvmlReading) -> Vec<PciAddress> {
    let mut known: BTreeSet<PciAddress> = on_bus(input).iter().map(|device| device.address).into_set();
    // What was missing in the last look already is in none of the sweeps.
    let missed = input.last.iter().flat_map(|last| last.items.keys());
    known.extend(missed.filter_map(|resource| Resource::from(resource.as_str()).pci()));
    known.extend(input.nvml_before.iter().flat_map(|last| &last.gpus).filter_map(|gpu| gpu.pci));
    known.extend(input.baseline.iter().flat_map(|baseline| &baseline.gpus).filter_map(|gpu| gpu.pci));
    // A lost GPU may not tell its address; it is counted, so it is not among the missing.
    let nameless = reading.gpus.iter().filter(|gpu| gpu.pci.is_none());
    let old = |index: u32| input.nvml_before?.gpus.iter().find(|gpu| gpu.index == index)?.pci;
    let counted: BTreeSet<PciAddress> = reading
        .gpus
        .iter()
        .filter_map(|gpu| gpu.pci)
        .chain(nameless.filter_map(|gpu| old(gpu.index)))
        .into_set();
    known.difference(&counted).copied().collect()
}

/// What the bus says of a GPU that NVML does not name.
fn whereabouts(input: &CheckInput<'_>, address: PciAddress) -> String {
    let bus = on_bus(input);
    match bus.iter().find(|device| device.address == address) {
        Some(device) if device.answers == Some(false) => {
            "missing from NVML, listed on PCI but not answering: it has fallen off the bus".to_owned()
        }
        Some(device) => match device.driver.as_deref() {
            Some("nvidia") => "missing from NVML, present on PCI".to_owned(),
            Some(other) => format!("missing from NVML, present on PCI, bound to the driver {other}"),
            None => "missing from NVML, present on PCI, no driver bound to it".to_owned(),
        },
        None if bus.is_empty() => {
            "missing from NVML (no GPU on this machine's PCI bus to compare with)".to_owned()
        }
        None => "missing from NVML and from the PCI bus".to_owned(),
    }
}

/// A job cannot open a GPU without its device file, and slurmd does not start without one that gres.conf names.
pub(in super::super) const DEVICE_FILES: Check = Check {
    name: "gpu_device_files",
    finds: "a GPU without its /dev/nvidiaN",
    reads: &[Area::Driver, Area::Nvml, Area::Gres],
    evaluate: device_files,
    ..GPU
};

fn device_files(input: &CheckInput<'_>, findings: &mut Findings) {
    // Without the control file the driver is not there, which another check says, or is a simulated one.
    let Some(driver) = driver(input).filter(|driver| driver.control_file) else {
        findings.remark("no /dev/nvidiactl");
        return;
    };
    let swept = input.nvml.iter().flat_map(|reading| &reading.gpus).filter(|gpu| !gpu.lost);
    let swept: Vec<(u32, Resource)> =
        swept.filter_map(|gpu| gpu.minor.map(|minor| (minor, super::resource(gpu)))).collect();
    let absent = |minor: u32| !driver.device_files.contains(&minor);
    for (minor, resource) in swept.iter().filter(|(minor, _)| absent(*minor)) {
        findings
            .certain(resource.clone(), format!("NVML counts the GPU, but /dev/nvidia{minor} does not exist"));
    }
    let named = gres(input).map(|gpus| gpus.files.as_slice()).unwrap_or_default();
    for file in named.iter().filter(|file| absent(**file) && swept.iter().all(|(minor, _)| minor != *file)) {
        findings.certain(
            Resource::GpuIndex(*file),
            format!("gres.conf names /dev/nvidia{file}, which does not exist"),
        );
    }
}
