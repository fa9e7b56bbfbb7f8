//! Is there a driver at all.
use super::super::{Check, CheckAction, CheckInput, Findings};
use super::{GPU, count, driver, gres, on_bus};
use crate::facts::Area;
use crate::reading::NvmlState;
use crate::{Advice, CauseClass, Resource};

/// A node that Slurm hands GPUs of out without their driver fails every job that asks for one. A minute, because the health
/// check also runs while the node boots.
pub(in super::super) const DRIVER: Check = Check {
    name: "gpu_driver",
    finds: "GPUs in gres.conf, and no working driver",
    reads: &[Area::Driver, Area::Nvml, Area::Gres, Area::Pci],
    action: CheckAction::Drain,
    advice: Advice::Reboot,
    class: CauseClass::System,
    bad_for_s: 60,
    good_for_s: 0,
    evaluate,
    ..GPU
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some((count, source)) = count::expected(input).filter(|(count, _)| *count > 0) else {
        findings.remark("no NVIDIA GPU is expected here");
        return;
    };
    if let Some(why) = input.nvml_blind {
        findings.blind(format!("NVML: {why}"));
        return;
    }
    let trouble = match input.nvml {
        Some(reading) => match reading.state {
            NvmlState::Ok => {
                findings.remark(reading.driver_version.clone().unwrap_or_default());
                return;
            }
            // A path of the site's own that leads nowhere is no word on the driver.
            NvmlState::LibraryMissing if reading.detail.starts_with('/') => {
                findings.blind(format!("NVML: {}", reading.detail));
                return;
            }
            NvmlState::LibraryMissing => "libnvidia-ml.so.1 is not installed".to_owned(),
            NvmlState::DriverNotLoaded => "the kernel driver is not loaded".to_owned(),
            NvmlState::VersionMismatch => "library and kernel driver are of different versions".to_owned(),
            NvmlState::NoPermission | NvmlState::Failed => {
                findings.blind(format!("NVML: {}", reading.detail));
                return;
            }
        },
        None if driver(input).is_some_and(|driver| driver.has_module("nvidia")) => {
            findings.blind("NVML was not asked in this pass");
            return;
        }
        None if on_bus(input).is_empty() && !gres(input).is_some_and(|gpus| gpus.nvidia) => {
            findings.remark("no NVIDIA GPU here, and gres.conf does not say that there should be one");
            return;
        }
        None => "the kernel module nvidia is not loaded".to_owned(),
    };
    let resource = Resource::Service("nvidia-driver".to_owned());
    findings.certain(resource, format!("{count} GPUs in {source}, but {trouble}"));
}
