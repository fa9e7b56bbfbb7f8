//! Several codes may mean one fault: the case is about the fault. The catalogue says which fault a code is evidence
//! of; what NVML's readings mean is ours.
use crate::catalog::Catalog;

/// Fault classes of the codes that a sweep over NVML gives (`sweep.rs`). They meet the kernel's evidence there, so
/// their words are those of the catalogue's entries.
const OF_READINGS: &[(&str, &[&str])] = &[
    ("gpu.off_bus", &["nvml.gpu_lost"]),
    (
        "gpu.memory",
        &["nvml.ecc_uncorrected", "nvml.remap_failed", "nvml.remap_pending", "nvml.retired_pages_pending"],
    ),
    ("gpu.recovery", &["nvml.recovery_reset", "nvml.recovery_reboot", "nvml.recovery_drain_p2p"]),
];

/// What the driver asks for says that something is wrong, not what: it joins whatever case is open on that GPU.
const RECOVERY: &str = "gpu.recovery";

/// The fault class of a code.
pub(crate) fn fault_of(catalog: &Catalog, code: &str) -> String {
    let of_reading = OF_READINGS.iter().find(|(_, codes)| codes.contains(&code)).map(|(fault, _)| *fault);
    let of_reading = of_reading.or_else(|| crate::checks::fault_of(code));
    of_reading.map_or_else(|| catalog.fault_of(code), str::to_owned)
}

/// Whether evidence of this fault joins another open case of the same resource.
pub(crate) fn joins_any(fault: &str) -> bool {
    fault == RECOVERY
}
