//! MIG mode and devices against what Slurm hands out.
use super::super::{Check, CheckInput, Findings};
use super::{GPU, driver, gpus, gres, resource};
use crate::facts::Area;
use crate::{CauseClass, Resource};

/// A GPU in MIG mode cannot be used as a whole, and one without cannot be used in parts.
pub(in super::super) const MIG: Check = Check {
    name: "gpu_mig",
    finds: "MIG mode or the number of MIG devices other than in gres.conf",
    reads: &[Area::Driver, Area::Nvml, Area::Gres],
    class: CauseClass::System,
    bad_for_s: 60,
    good_for_s: 0,
    evaluate,
    ..GPU
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(configured) = gres(input).filter(|configured| configured.nvidia || configured.mig) else {
        findings.remark("gres.conf names no GPU of NVIDIA");
        return;
    };
    let all = gpus(input, findings);
    if all.is_empty() {
        return;
    }
    let in_mig = || all.iter().filter(|gpu| gpu.mig == Some(true));
    if !configured.mig {
        for gpu in in_mig() {
            findings.likely(
                resource(gpu),
                format!("GPU {}: MIG mode is on, and {} has whole GPUs only", gpu.index, configured.from),
            );
        }
        return;
    }
    if in_mig().count() == 0 {
        let text =
            format!("{} MIG devices in {}, and no GPU is in MIG mode", configured.count, configured.from);
        findings.likely(Resource::Host, text);
        return;
    }
    // The driver lists its MIG devices in /proc; where that is not to be seen, their number is not known.
    let Some(driver) = driver(input).filter(|driver| !driver.mig_devices.is_empty()) else { return };
    let whole = all.iter().filter(|gpu| gpu.mig != Some(true)).count();
    let devices: u32 = driver.mig_devices.values().fold(0, |sum, n| sum.saturating_add(*n));
    let devices = devices.saturating_add(u32::try_from(whole).unwrap_or(u32::MAX));
    findings.value(format!("{devices} of {}", configured.count));
    if devices < configured.count {
        let text =
            format!("{devices} MIG devices and whole GPUs, {} in {}", configured.count, configured.from);
        findings.likely(Resource::Host, text);
    }
}
