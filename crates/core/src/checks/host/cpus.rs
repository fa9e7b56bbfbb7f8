//! CPUs that are there and not used, and how their frequency is governed.
use super::said;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::{CauseClass, Resource};

pub(in crate::checks) const OFFLINE: Check = Check {
    name: "cpus_offline",
    finds: "CPUs that are there and switched off, other than the siblings of switched-off SMT",
    reads: &[Area::Cpus],
    evaluate: offline,
    ..Check::HOST
};

/// A socket that did not come up, cores that the firmware took out.
pub(in crate::checks) const COUNT: Check = Check {
    name: "cpus",
    finds: "fewer CPUs in use than slurm.conf says the node has",
    reads: &[Area::Cpus, Area::Slurm],
    class: CauseClass::Hardware,
    evaluate: count,
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

fn count(input: &CheckInput<'_>, findings: &mut Findings) {
    let (Some(cpus), Some(slurm)) = (said(input.facts.cpus.as_ref()), said(input.facts.slurm.as_ref()))
    else {
        return;
    };
    findings.value(cpus.online.len().to_string());
    if slurm.overrides {
        return findings.remark(format!("{} has config_overrides: its number is no measure", slurm.path));
    }
    let Some(wanted) = slurm.cpus else {
        return findings.remark(format!("{} does not say how many CPUs this node has", slurm.path));
    };
    if (cpus.online.len() as u64) < wanted {
        let text = format!("{} CPUs in use, {} says {wanted}", cpus.online.len(), slurm.path);
        findings.certain(Resource::Host, text);
    }
}

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

#[cfg(test)]
mod tests {
    use super::COUNT;
    use crate::checks::scene::Scene;
    use crate::facts::Sheet;
    use crate::facts::host::{Cpus, SlurmNode};

    #[test]
    fn a_socket_that_did_not_come_up_is_told_against_slurm_conf() {
        let mut scene = Scene::healthy();
        scene.facts.cpus = Some(Sheet::read(Cpus { online: (0..112).collect(), ..Cpus::default() }));
        let slurm = |cpus| {
            Some(Sheet::read(SlurmNode { path: "slurm.conf".to_owned(), cpus, ..SlurmNode::default() }))
        };
        // CPUs may be cores: more in use than slurm.conf names is the site's choice.
        for wanted in [None, Some(56), Some(112)] {
            scene.facts.slurm = slurm(wanted);
            assert!(scene.bad(&COUNT).is_empty(), "{wanted:?}");
        }
        scene.facts.slurm = slurm(Some(224));
        assert_eq!(scene.bad(&COUNT), ["host | 112 CPUs in use, slurm.conf says 224"]);
        let said = scene.facts.slurm.as_mut().and_then(|sheet| sheet.said.as_mut()).unwrap();
        said.overrides = true;
        assert!(scene.bad(&COUNT).is_empty(), "the site says what the node is, whatever it has");
    }
}
