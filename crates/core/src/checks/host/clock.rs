//! The clock: whether somebody keeps it right, and what it counts with.
use super::said;
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;

pub(in crate::checks) const SYNC: Check = Check {
    name: "clock_sync",
    finds: "a clock that nobody keeps right, as the kernel has it",
    reads: &[Area::Clock],
    // A time service needs some minutes after boot, and a virtual machine is often kept right by its host.
    bad_for_s: 900,
    evaluate: sync,
    ..Check::HOST
};

pub(in crate::checks) const SOURCE: Check = Check {
    name: "clock_source",
    finds: "a clock source that costs microseconds a call where a better one is there",
    reads: &[Area::Clock],
    evaluate: source,
    ..Check::HOST
};

fn sync(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(clock) = said(input.facts.clock.as_ref()) else { return };
    if let Some(error) = clock.max_error_us {
        findings.value(format!("error at most {} ms", error / 1000));
    }
    match clock.synchronised {
        Some(true) => {}
        Some(false) => findings.certain(
            Resource::Host,
            "the kernel does not hold its clock for synchronised: is chronyd, ntpd or timesyncd running?",
        ),
        None => findings.blind("whether the clock is synchronised is not known"),
    }
}

/// The kernel falls back from the CPU's counter when it finds it unstable; then it is no longer offered either. Somebody
/// chose this one by hand, or the firmware's tables made the kernel do so.
fn source(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(clock) = said(input.facts.clock.as_ref()) else { return };
    let Some(current) = &clock.source else { return findings.remark("the kernel names no clock source") };
    findings.value(current.clone());
    let slow = matches!(current.as_str(), "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies");
    if slow {
        let better = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"]
            .iter()
            .find(|name| clock.available.iter().any(|there| there == *name));
        let instead = better
            .map_or("the CPU's counter was found unstable".to_owned(), |name| format!("{name} is there"));
        findings.likely(Resource::Host, format!("clock source {current}: {instead}"));
    }
}
