//! MIG mode and devices against what Slurm hands out.
use std::collections::BTreeMap;

use super::super::{Check, CheckInput, Findings};
use super::{GPU, driver, gpus, gres, resource};
use crate::facts::Area;
use crate::facts::gres::ConfiguredGpus;
use crate::reading::GpuReading;
use crate::{CauseClass, Resource};

/// A GPU in MIG mode cannot be used as a whole, and one without cannot be used in parts.
pub(in super::super) const MIG: Check = Check {
    name: "gpu_mig",
    finds: "MIG mode, or number or profiles of MIG devices, other than in gres.conf",
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
    if profiles(configured, &all, findings) {
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

/// Compares by profile, where Slurm's files name profiles and NVML tells them; whether it could.
fn profiles(configured: &ConfiguredGpus, all: &[&GpuReading], findings: &mut Findings) -> bool {
    let mut wanted: BTreeMap<&str, u32> = BTreeMap::new();
    for (kind, count) in &configured.types {
        let Some(profile) = profile(kind) else { continue };
        let sum = wanted.entry(profile).or_default();
        *sum = sum.saturating_add(*count);
    }
    let mut there: BTreeMap<&str, u32> = BTreeMap::new();
    for (profile, count) in all.iter().flat_map(|gpu| &gpu.mig_profiles) {
        let sum = there.entry(profile).or_default();
        *sum = sum.saturating_add(*count);
    }
    if wanted.is_empty() || there.is_empty() {
        return false;
    }
    findings.value(told(&there));
    if there != wanted {
        let text = format!("MIG devices {}, {} in {}", told(&there), told(&wanted), configured.from);
        findings.likely(Resource::Host, text);
    }
    true
}

/// `4x 1g.10gb, 1x 3g.40gb`.
fn told(profiles: &BTreeMap<&str, u32>) -> String {
    profiles.iter().map(|(profile, count)| format!("{count}x {profile}")).collect::<Vec<_>>().join(", ")
}

/// The profile in a type as Slurm makes it: `1g.10gb` of `nvidia_h100_80gb_hbm3_1g.10gb`, `1c.3g.40gb` of `a100_1c.3g.40gb`. What is
/// behind the memory (`+me`, `.me`) NVML does not tell by numbers.
fn profile(kind: &str) -> Option<&str> {
    let name = kind.rsplit('_').find(|part| part.contains("g."))?;
    let (slices, memory) = name.split_once("g.")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let slices_hold = slices.split_once("c.").map_or(digits(slices), |(c, g)| digits(c) && digits(g));
    let end = memory.find("gb").filter(|end| memory.get(..*end).is_some_and(digits))?;
    slices_hold.then(|| name.get(..slices.len() + 2 + end + 2)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_types_profile_is_found_behind_any_model() {
        for (kind, expected) in [
            ("1g.10gb", Some("1g.10gb")),
            ("h100_3g.40gb", Some("3g.40gb")),
            ("nvidia_h100_80gb_hbm3_7g.80gb", Some("7g.80gb")),
            ("a100_1c.3g.20gb", Some("1c.3g.20gb")),
            ("1g.10gb+me", Some("1g.10gb")),
            ("h100", None),
            ("gtx.1080", None),
            ("nvidia_a100_80gb_pcie", None),
            ("xg.10gb", None),
            ("1g.gb", None),
        ] {
            assert_eq!(profile(kind), expected, "{kind}");
        }
    }

    proptest! {
        #[test]
        fn any_type_is_answered(kind in "([0-9cgb._+]|\\PC){0,24}") {
            let _ = profile(&kind);
        }
    }
}
