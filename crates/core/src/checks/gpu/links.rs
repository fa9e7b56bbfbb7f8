//! NVLink, and the fabric behind it.
use super::super::{Check, CheckAction, CheckInput, Findings, Threshold};
use super::{GPU, before, driver, gpus, growth, pci, rate, resource};
use crate::facts::Area;
use crate::facts::pci::PciKind;
use crate::reading::{GpuReading, NvLinkReading};
use crate::{CauseClass, Resource};

/// A link that was up when the baseline was learned or is up on the node's other GPUs. A board with links that nobody
/// connected has them down for good.
pub(in super::super) const NVLINK: Check = Check {
    name: "gpu_nvlink",
    finds: "an NVLink down that should be up",
    fault: "gpu.nvlink",
    evaluate: nvlink,
    ..GPU
};

fn nvlink(input: &CheckInput<'_>, findings: &mut Findings) {
    let all = gpus(input, findings);
    for gpu in &all {
        let down: Vec<u32> = gpu.nvlinks.iter().filter(|link| !link.active).map(|link| link.link).collect();
        let up = gpu.nvlinks.len() - down.len();
        let Some((wanted, source)) = wanted_links(input, gpu, &all) else { continue };
        if up < wanted && !down.is_empty() {
            let names: Vec<String> = down.iter().map(ToString::to_string).collect();
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: {up} of {wanted} NVLinks up ({source}), down: {}",
                    gpu.index,
                    names.join(" ")
                ),
            );
        }
    }
}

/// How many links should be up, and who says so.
fn wanted_links(
    input: &CheckInput<'_>,
    gpu: &GpuReading,
    all: &[&GpuReading],
) -> Option<(usize, &'static str)> {
    let learned = gpu.serial.as_deref().and_then(|serial| input.baseline?.by_serial(serial)?.nvlinks);
    if let Some(links) = learned {
        return usize::try_from(links).ok().map(|links| (links, "baseline"));
    }
    // Without a baseline: what at least two others of the same model have.
    let up = |gpu: &GpuReading| gpu.nvlinks.iter().filter(|link| link.active).count();
    let others = all.iter().filter(|other| other.index != gpu.index && other.name == gpu.name);
    let most = others.clone().map(|other| up(other)).max()?;
    (others.filter(|other| up(other) == most).count() >= 2).then_some((most, "the other GPUs"))
}

/// Errors that the link repaired, at a rate at which it is no more a good link.
pub(in super::super) const NVLINK_ERRORS: Check = Check {
    name: "gpu_nvlink_errors",
    finds: "replays or CRC errors on an NVLink at a high rate",
    threshold: Some(Threshold {
        value: 100.0,
        unit: "errors a second on one link, at least",
        source: "DCGM's health watch for CRC errors (100 a second)",
    }),
    fault: "gpu.nvlink_errors",
    good_for_s: 3_600,
    evaluate: errors,
    ..GPU
};

fn errors(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let Some(last) = before(input, gpu) else { continue };
        for link in &gpu.nvlinks {
            let Some(old) = last.nvlinks.iter().find(|old| old.link == link.link) else { continue };
            let errors = link_growth(link, old);
            if rate(input, errors, 1.0).is_some_and(|rate| errors > 0 && rate >= input.setting.threshold) {
                findings.likely(
                    resource(gpu),
                    format!("GPU {} link {}: {errors} errors since the last sweep", gpu.index, link.link),
                );
            }
        }
    }
}

/// Recoveries are counted over a day, by the rate `nvlink_recoveries`.
fn link_growth(now: &NvLinkReading, old: &NvLinkReading) -> u64 {
    let grown = |f: fn(&NvLinkReading) -> Option<u64>| growth(f(now), f(old)).unwrap_or(0);
    grown(|link| link.replays).saturating_add(grown(|link| link.crc))
}

/// A GPU that did not come into the fabric cannot talk over NVSwitch; CUDA does not start on it (error 802).
pub(in super::super) const FABRIC: Check = Check {
    name: "gpu_fabric",
    finds: "a GPU that has not joined the NVLink fabric",
    bad_for_s: 300,
    evaluate: fabric,
    ..GPU
};

fn fabric(input: &CheckInput<'_>, findings: &mut Findings) {
    let switched = switches(input) > 0;
    for gpu in gpus(input, findings) {
        let Some(state) = gpu.fabric_state.as_deref() else { continue };
        let status = gpu.fabric_status.as_deref().unwrap_or("success");
        match state {
            "completed" if status != "success" => {
                findings.likely(
                    resource(gpu),
                    format!("GPU {}: fabric registration ended with {status}", gpu.index),
                );
            }
            "in_progress" => {
                findings
                    .likely(resource(gpu), format!("GPU {}: still registering with the fabric", gpu.index));
            }
            "not_started" if switched => {
                findings.likely(
                    resource(gpu),
                    format!("GPU {}: has not begun to register with the fabric", gpu.index),
                );
            }
            _ => {}
        }
    }
}

/// Services that a fabric needs, where systemd knows them.
pub(in super::super) const FABRIC_SERVICES: Check = Check {
    name: "gpu_fabric_services",
    finds: "NVSwitches without Fabric Manager, or an IMEX domain without its service",
    reads: &[Area::Driver, Area::Pci],
    class: CauseClass::System,
    action: CheckAction::Note,
    bad_for_s: 120,
    evaluate: services,
    ..GPU
};

fn services(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(driver) = driver(input) else { return };
    let switches = switches(input);
    if switches > 0 && driver.fabric_manager == Some(false) {
        let resource = Resource::Service("nvidia-fabricmanager".to_owned());
        findings.likely(
            resource,
            format!("{switches} NVSwitches on the bus, and nvidia-fabricmanager does not run"),
        );
    }
    // Idle IMEX is allowed to be started by the job's prolog: only a configured domain says that it should run.
    if driver.imex_configured && driver.imex == Some(false) {
        let resource = Resource::Service("nvidia-imex".to_owned());
        findings.suspect(resource, "an IMEX domain is configured, and nvidia-imex does not run");
    }
}

fn switches(input: &CheckInput<'_>) -> usize {
    pci(input).map_or(0, |pci| pci.of(PciKind::NvSwitch).count())
}
