//! What the kernel remembers of its own trouble, and when it was booted.
use super::said;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::{CauseClass, Confidence, Resource};

pub(in crate::checks) const TAINT: Check = Check {
    name: "kernel_taint",
    finds: "a kernel that saw a machine check, a bad page, an oops or a soft lockup since it was booted",
    reads: &[Area::Kernel],
    good_for_s: 0,
    evaluate: taint,
    ..Check::HOST
};

pub(in crate::checks) const UPTIME: Check = Check {
    name: "uptime",
    finds: "nothing; says that the node was booted lately",
    reads: &[Area::Kernel],
    threshold: Some(Threshold { value: 600.0, unit: "s, less than", source: "ours: ten minutes" }),
    evaluate: uptime,
    ..Check::HOST
};

/// Bits of `/proc/sys/kernel/tainted` that speak of trouble (the kernel's "Tainted kernels"). Others speak of modules:
/// NVIDIA's sets 1 and 4096 on every GPU node; and a warning (512) may be about anything.
const BITS: &[(u32, &str, CauseClass)] = &[
    (4, "the CPU reported a machine check", CauseClass::Hardware),
    (5, "a bad page was found", CauseClass::Hardware),
    (7, "the kernel had an oops", CauseClass::System),
    (14, "a soft lockup happened", CauseClass::System),
];

fn taint(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(kernel) = said(input.facts.kernel.as_ref()) else { return };
    let Some(tainted) = kernel.tainted else {
        return findings.blind("/proc/sys/kernel/tainted is not known");
    };
    findings.value(tainted.to_string());
    let set: Vec<_> = BITS.iter().filter(|(bit, ..)| tainted & (1 << bit) != 0).collect();
    if let Some(class) = set.iter().map(|(_, _, class)| *class).max() {
        let words: Vec<&str> = set.iter().map(|(_, words, _)| *words).collect();
        let finding = crate::checks::Finding {
            resource: Resource::Host,
            text: format!("tainted {tainted}: {} since boot", words.join(", ")),
            confidence: Confidence::Suspected,
            class: None,
        };
        findings.add(finding.of_class(class));
    }
}

fn uptime(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(uptime) = said(input.facts.kernel.as_ref()).and_then(|kernel| kernel.uptime_s) else {
        return findings.blind("/proc/uptime is not known");
    };
    findings.value(format!("{:.1} h", uptime / 3600.0));
    if uptime < input.setting.threshold {
        findings.remark(format!("booted {:.0} s ago", uptime));
    }
}
