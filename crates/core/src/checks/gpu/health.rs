//! What the sweep over NVML makes cases of by itself (`crate::sweep`): listed here with its last result, so that a table of
//! the checks is a table of all that is looked at.
use super::super::{Check, CheckAction, CheckInput, Findings};
use super::{GPU, gpus, resource, sweep};
use crate::{Advice, sweep as signs};

const LISTED: Check = Check { listed: true, action: CheckAction::Drain, good_for_s: 0, ..GPU };

/// Also told by `nvml.gpu_lost`.
pub(in super::super) const LOST: Check = Check {
    name: "gpu_lost",
    finds: "NVML counts the GPU and cannot reach it",
    advice: Advice::Reboot,
    fault: "gpu.off_bus",
    evaluate: |input, findings| {
        let Some(reading) = sweep(input, findings) else { return };
        for gpu in reading.gpus.iter().filter(|gpu| gpu.lost) {
            findings.certain(resource(gpu), format!("GPU {} is lost", gpu.index));
        }
    },
    ..LISTED
};

/// Also told by `nvml.ecc_uncorrected`.
pub(in super::super) const ECC: Check = Check {
    name: "gpu_ecc",
    finds: "uncorrected ECC errors since the driver was loaded",
    advice: Advice::Reset,
    fault: "gpu.memory",
    evaluate: |input, findings| told(input, findings, &["nvml.ecc_uncorrected"]),
    ..LISTED
};

/// Also told by `nvml.remap_pending` and `nvml.remap_failed`.
pub(in super::super) const REMAP: Check = Check {
    name: "gpu_remap",
    finds: "a row remap that failed, or one that waits for a reset",
    fault: "gpu.memory",
    evaluate: |input, findings| told(input, findings, &["nvml.remap_failed", "nvml.remap_pending"]),
    ..LISTED
};

/// Also told by `nvml.retired_pages_pending`; boards before Ampere.
pub(in super::super) const RETIRED: Check = Check {
    name: "gpu_retired_pages",
    finds: "a page retirement that waits for a reboot",
    action: CheckAction::Note,
    fault: "gpu.memory",
    evaluate: |input, findings| told(input, findings, &["nvml.retired_pages_pending"]),
    ..LISTED
};

/// Also told by `nvml.recovery_*`.
pub(in super::super) const RECOVERY: Check = Check {
    name: "gpu_recovery",
    finds: "the driver asks for a reset or a reboot",
    fault: "gpu.recovery",
    evaluate: |input, findings| {
        told(input, findings, &["nvml.recovery_reset", "nvml.recovery_reboot", "nvml.recovery_drain_p2p"]);
    },
    ..LISTED
};

fn told(input: &CheckInput<'_>, findings: &mut Findings, codes: &[&str]) {
    for gpu in gpus(input, findings) {
        for text in codes.iter().filter_map(|code| signs::sign(gpu, code)) {
            findings.certain(resource(gpu), format!("GPU {}: {text}", gpu.index));
        }
    }
}
