//! Several codes may mean one fault: the case is about the fault. What is not listed is a fault of its own.

/// Fault classes by code. Sources: the catalogue's entries of the same codes.
const FAULTS: &[(&str, &[&str])] = &[
    ("gpu.off_bus", &["xid.79", "nvidia.gpu_off_bus", "nvml.gpu_lost", "nvml.recovery_reboot"]),
    (
        "gpu.memory",
        &[
            "xid.48",
            "xid.63",
            "xid.64",
            "xid.92",
            "xid.94",
            "xid.95",
            "xid.140",
            "xid.171",
            "xid.172",
            "nvml.ecc_uncorrected",
            "nvml.remap_failed",
            "nvml.remap_pending",
            "nvml.retired_pages_pending",
        ],
    ),
    ("gpu.nvlink", &["xid.74", "xid.144", "xid.145", "xid.146", "xid.147", "xid.148", "xid.149", "xid.150"]),
    ("gpu.gsp", &["xid.119", "xid.120"]),
];

/// The fault class of a code.
pub(super) fn fault_of(code: &str) -> &str {
    FAULTS.iter().find(|(_, codes)| codes.contains(&code)).map_or(code, |(fault, _)| fault)
}

/// What a driver asks for does not say which fault it is: it joins whatever case is open on that GPU.
pub(super) fn joins_any(code: &str) -> bool {
    matches!(code, "xid.154" | "nvml.recovery_reset" | "nvml.recovery_reboot" | "nvml.recovery_drain_p2p")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_code_means_one_fault() {
        let codes: Vec<&str> = FAULTS.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
    }
}
