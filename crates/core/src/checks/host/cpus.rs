//! CPUs that are there and not used, and how their frequency is governed.
use super::said;
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;

pub(in crate::checks) const OFFLINE: Check = Check {
    name: "cpus_offline",
    finds: "CPUs that are there and switched off, other than the siblings of switched-off SMT",
    reads: &[Area::Cpus],
    evaluate: offline,
    ..Check::HOST
};

pub(in crate::checks) const GOVERNOR: Check = Check {
    name: "cpu_governor",
    finds: "CPUs under another frequency governor than `[expect] governor`, or than the rest",
    reads: &[Area::Cpus],
    evaluate: governor,
    ..Check::HOST
};

/// Most CPU numbers told.
const TOLD: usize = 8;

fn offline(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(cpus) = said(input.facts.cpus.as_ref()) else { return };
    findings.value(format!("{} of {} online", cpus.online.len(), cpus.present.len()));
    let off: Vec<u32> = cpus.present.iter().copied().filter(|cpu| !cpus.online.contains(cpu)).collect();
    if off.is_empty() {
        return;
    }
    // With SMT off every second thread or more is offline on purpose; the kernel does not say which.
    if cpus.smt.as_deref().is_some_and(|smt| smt.ends_with("off")) {
        return findings.remark(format!("SMT is off: {} siblings are offline", off.len()));
    }
    let named: Vec<String> = off.iter().take(TOLD).map(u32::to_string).collect();
    let more = if off.len() > TOLD { " ..." } else { "" };
    findings.certain(Resource::Host, format!("{} CPUs are offline: {}{more}", off.len(), named.join(", ")));
}

fn governor(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(cpus) = said(input.facts.cpus.as_ref()) else { return };
    let named: Vec<String> = cpus.governors.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let Some((usual, _)) = cpus.governors.iter().max_by_key(|(_, count)| **count) else {
        return findings.remark("the kernel does not govern the frequency here");
    };
    findings.value(named.join(", "));
    let wanted = Some(input.expect.governor.as_str()).filter(|name| !name.is_empty());
    if let Some(wanted) = wanted.filter(|wanted| cpus.governors.keys().any(|name| name != wanted)) {
        findings.certain(
            Resource::Host,
            format!("CPU frequency governors: {}, expected {wanted}", named.join(", ")),
        );
    } else if wanted.is_none() && cpus.governors.len() > 1 {
        findings.likely(
            Resource::Host,
            format!("CPU frequency governors differ: {}, most have {usual}", named.join(", ")),
        );
    }
}
