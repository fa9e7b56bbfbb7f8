//! The way from the CPU to the GPUs and network adapters.
use super::super::{Check, CheckAction, CheckInput, Findings, Threshold};
use super::{GPU, before, gpus, growth, on_bus, pci, rate, resource};
use crate::baseline::{Isolation, isolation};
use crate::facts::Area;
use crate::facts::pci::{AerCounts, PciDevice, PciKind};
use crate::{Advice, CauseClass, Resource};

/// `lspci` shows such a function as "rev ff". So it does in the moment of a reset: hence the minute, our own figure.
pub(in super::super) const BUS: Check = Check {
    name: "gpu_bus",
    finds: "a GPU that the kernel lists and that does not answer on the bus",
    reads: &[Area::Pci],
    action: CheckAction::Drain,
    advice: Advice::Reboot,
    fault: "gpu.off_bus",
    bad_for_s: 60,
    good_for_s: 0,
    evaluate: bus,
    ..GPU
};

fn bus(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in on_bus(input).into_iter().filter(|gpu| gpu.answers == Some(false)) {
        findings.certain(
            Resource::Gpu(gpu.address),
            format!("{}: its configuration space reads as all ones: it has fallen off the bus", gpu.address),
        );
    }
}

/// Width does not change with load: fewer lanes than card and slot have is a fault at any time.
pub(in super::super) const WIDTH: Check = Check {
    name: "pcie_width",
    finds: "a GPU or network adapter on fewer lanes than card and slot have",
    reads: &[Area::Driver, Area::Nvml, Area::Pci],
    evaluate: width,
    ..GPU
};

fn width(input: &CheckInput<'_>, findings: &mut Findings) {
    blind_on_gone(input, findings);
    for device in devices(input) {
        let Some(lanes) = device.link.width else { continue };
        let most = device.link.width_max.into_iter().chain(device.port_width_max).min();
        let learned = input.baseline.and_then(|baseline| baseline.width_at(device.address));
        if let Some(most) = most.filter(|most| lanes < *most) {
            findings.likely(resource_of(device), format!("{}: {lanes} of {most} PCIe lanes", device.address));
        } else if let Some(learned) = learned.filter(|learned| lanes < *learned) {
            findings.likely(
                resource_of(device),
                format!("{}: {lanes} PCIe lanes, {learned} when the baseline was learned", device.address),
            );
        }
    }
    // Where the bus is not to be seen, as in a container, NVML's word is as good.
    if on_bus(input).is_empty() {
        for gpu in gpus(input, findings) {
            let Some((lanes, most)) = gpu.pcie_width.zip(gpu.pcie_width_max) else { continue };
            if lanes < most && lanes > 0 {
                findings
                    .likely(resource(gpu), format!("GPU {}: {lanes} of {most} PCIe lanes (NVML)", gpu.index));
            }
        }
    }
}

/// A GPU lowers its speed while idle, so its current speed says something only under load. The largest speed never changes.
pub(in super::super) const SPEED: Check = Check {
    name: "pcie_speed",
    finds: "a PCIe generation below the largest while the GPU works, or a largest one below what it was",
    reads: &[Area::Driver, Area::Nvml, Area::Pci],
    bad_for_s: 120,
    evaluate: speed,
    ..GPU
};

fn speed(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let learned = gpu.serial.as_deref().and_then(|serial| input.baseline?.by_serial(serial)?.gen_max);
        if let Some((most, learned)) = gpu.pcie_gen_max.zip(learned).filter(|(most, learned)| most < learned)
        {
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: PCIe generation {most} at most, {learned} when the baseline was learned",
                    gpu.index
                ),
            );
        }
        let works = !gpu.processes.is_empty()
            && gpu
                .throttle
                .as_ref()
                .is_some_and(|reasons| !reasons.iter().any(|reason| reason == "gpu_idle"));
        if let Some((now, most)) =
            gpu.pcie_gen.zip(gpu.pcie_gen_max).filter(|(now, most)| works && now < most)
        {
            findings.suspect(
                resource(gpu),
                format!("GPU {}: PCIe generation {now} of {most} while it works", gpu.index),
            );
        }
    }
}

/// Replays are the link's own repair of damaged packets.
pub(in super::super) const REPLAYS: Check = Check {
    name: "pcie_replays",
    finds: "PCIe replays of a GPU at a high rate",
    threshold: Some(Threshold {
        value: 8.0,
        unit: "replays a minute, at least",
        source: "DCGM's health watch (8 a minute), before it went by generation and lanes",
    }),
    good_for_s: 3_600,
    evaluate: replays,
    ..GPU
};

fn replays(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let last = before(input, gpu).and_then(|last| last.pcie_replays);
        let Some(grown) = growth(gpu.pcie_replays.map(u64::from), last.map(u64::from)) else { continue };
        let Some(minutely) = rate(input, grown, 60.0) else { continue };
        if grown > 0 && minutely >= input.setting.threshold {
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: {grown} PCIe replays since the last sweep, {minutely:.0} a minute",
                    gpu.index
                ),
            );
        }
    }
}

/// The kernel's own counts, also of errors whose lines its log's rate limit left out. Each uncorrected one counts.
pub(in super::super) const AER: Check = Check {
    name: "pcie_uncorrected",
    finds: "uncorrected PCIe errors of a GPU, NVSwitch or network adapter since the last look",
    reads: &[Area::Pci],
    fault: "pcie.link",
    good_for_s: 3_600,
    evaluate: uncorrected,
    ..GPU
};

fn uncorrected(input: &CheckInput<'_>, findings: &mut Findings) {
    grown(input, findings, |now, then| {
        let (nonfatal, fatal) = (by(now, then, |c| c.nonfatal), by(now, then, |c| c.fatal));
        (nonfatal > 0 || fatal > 0)
            .then(|| format!("{fatal} fatal and {nonfatal} non-fatal PCIe errors since the last look"))
    });
}

/// What the link repaired by itself, at a rate at which it is no more a good link.
pub(in super::super) const AER_CORRECTED: Check = Check {
    name: "pcie_corrected",
    finds: "corrected PCIe errors of a GPU, NVSwitch or network adapter at a high rate",
    reads: &[Area::Pci],
    threshold: Some(Threshold {
        value: 1_000.0,
        unit: "errors an hour, at least",
        source: "ours; a good link has none for days",
    }),
    fault: "pcie.corrected",
    good_for_s: 3_600,
    evaluate: corrected,
    ..GPU
};

fn corrected(input: &CheckInput<'_>, findings: &mut Findings) {
    grown(input, findings, |now, then| {
        let corrected = by(now, then, |c| c.correctable);
        let hourly = rate(input, corrected, 3_600.0)?;
        (corrected > 0 && hourly >= input.setting.threshold)
            .then(|| format!("{corrected} corrected PCIe errors since the last look, {hourly:.0} an hour"))
    });
}

/// Asks both ends of every link what grew.
fn grown(
    input: &CheckInput<'_>,
    findings: &mut Findings,
    trouble: impl Fn(AerCounts, AerCounts) -> Option<String>,
) {
    blind_on_gone(input, findings);
    let last = input.before.and_then(|before| before.pci.as_ref()?.said.as_ref());
    for device in devices(input) {
        let Some(old) = last.and_then(|last| last.at(device.address)) else { continue };
        let port = device
            .port
            .map(|port| format!("{port}, the bridge above {}", device.address))
            .unwrap_or_default();
        for (end, now, then) in
            [(device.address.to_string(), device.aer, old.aer), (port, device.port_aer, old.port_aer)]
        {
            if let Some(text) = now.zip(then).and_then(|(now, then)| trouble(now, then)) {
                findings.likely(resource_of(device), format!("{end}: {text}"));
            }
        }
    }
}

fn by(now: AerCounts, then: AerCounts, count: fn(AerCounts) -> u64) -> u64 {
    growth(Some(count(now)), Some(count(then))).unwrap_or(0)
}

/// Which of speed and isolation a site wants is its own choice: shown, and a fault only where it changed by itself, as with new
/// firmware.
pub(in super::super) const ACS: Check = Check {
    name: "pcie_acs",
    finds: "an IOMMU that was switched on, or more bridges that send peer traffic up to the root, since the baseline; shown in any case",
    class: CauseClass::System,
    reads: &[Area::Pci],
    evaluate: acs,
    ..GPU
};

fn acs(input: &CheckInput<'_>, findings: &mut Findings) {
    let known = devices(input).filter_map(|device| device.port_redirects).count();
    let Some(Isolation { iommu, redirecting }) = pci(input).and_then(isolation) else {
        return findings.remark("no GPU and no adapter on the bus");
    };
    findings.value(if iommu { "IOMMU on" } else { "IOMMU off" });
    let then = input.baseline.and_then(|baseline| baseline.isolation);
    if then.is_some_and(|then| iommu && !then.iommu) {
        findings.certain(Resource::Host, "the IOMMU is on, off when the baseline was learned");
    }
    if let Some(then) = then.filter(|then| redirecting > then.redirecting) {
        let text = format!(
            "{redirecting} bridges redirect peer traffic to the root, {} when the baseline was learned",
            then.redirecting
        );
        findings.certain(Resource::Host, text);
    }
    if redirecting > 0 {
        findings.remark(format!(
            "{redirecting} of {known} bridges redirect peer traffic to the root: GPUDirect is slower than it could be"
        ));
    }
}

/// GPUs, switches and adapters on the bus that answer.
fn devices<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = &'a PciDevice> {
    pci(input).into_iter().flat_map(|pci| &pci.devices).filter(|device| device.answers != Some(false))
}

/// A function that left the bus is not well because nothing is found on it. Where no GPU is on the bus NVML tells of them.
fn blind_on_gone(input: &CheckInput<'_>, findings: &mut Findings) {
    let by_nvml = on_bus(input).is_empty();
    input.blind_on_gone(findings, |known| match known {
        Resource::Gpu(_) | Resource::GpuIndex(_) if by_nvml => true,
        _ => devices(input).any(|device| resource_of(device) == *known),
    });
}

fn resource_of(device: &PciDevice) -> Resource {
    match device.kind {
        PciKind::Gpu => Resource::Gpu(device.address),
        PciKind::NvSwitch => Resource::NvSwitch(device.address),
        PciKind::Nic | PciKind::Other => Resource::Pci(device.address),
    }
}
