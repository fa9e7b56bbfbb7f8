//! How much memory there is, against what Slurm and the site were told.
use super::said;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::{CauseClass, Resource};

pub(in crate::checks) const SIZE: Check = Check {
    name: "memory",
    finds: "less memory than `RealMemory` of slurm.conf: a DIMM that the firmware mapped out, for one",
    reads: &[Area::Memory, Area::Slurm],
    threshold: Some(Threshold {
        value: 1.0,
        unit: "% less, more than",
        source: "slurm.conf(5): a node with less than RealMemory is set invalid by slurmctld; 1 % is firmware's and kernel's share",
    }),
    class: CauseClass::Hardware,
    evaluate: size,
    ..Check::HOST
};

pub(in crate::checks) const HUGEPAGES: Check = Check {
    name: "hugepages",
    finds: "fewer huge pages than `[expect] hugepages`",
    reads: &[Area::Memory],
    evaluate: hugepages,
    ..Check::HOST
};

/// Swap lets a job that outgrows its memory crawl instead of end: sites have it on purpose, or on purpose not.
pub(in crate::checks) const SWAP: Check = Check {
    name: "swap",
    finds: "more or less swap space than when the baseline was learned",
    reads: &[Area::Memory],
    evaluate: swap,
    ..Check::HOST
};

#[expect(clippy::cast_precision_loss, reason = "sizes in MB against a share")]
fn size(input: &CheckInput<'_>, findings: &mut Findings) {
    let (Some(memory), Some(slurm)) = (said(input.facts.memory.as_ref()), said(input.facts.slurm.as_ref()))
    else {
        return;
    };
    // slurmd reports MemTotal in MB of 2^20 bytes.
    let there = memory.total_kib / 1024;
    findings.value(format!("{there} MB"));
    if slurm.overrides {
        return findings.remark(format!("{} has config_overrides: its figure is no measure", slurm.path));
    }
    let Some(wanted) = slurm.real_memory_mb else {
        return findings.remark(format!("{} gives no RealMemory for this node", slurm.path));
    };
    let least = wanted as f64 * (1.0 - input.setting.threshold / 100.0);
    if (there as f64) < least {
        let text = format!("{there} MB of memory, {} says RealMemory={wanted}", slurm.path);
        findings.certain(Resource::Host, text);
    }
}

fn swap(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(now) = said(input.facts.memory.as_ref()).and_then(|memory| memory.swap_kib) else {
        return findings.remark("/proc/meminfo tells nothing of swap space");
    };
    findings.value(format!("{} MB", now / 1024));
    let Some(then) = input.baseline.and_then(|baseline| baseline.swap_kib) else {
        return findings.remark("the baseline does not say how much there should be");
    };
    if now != then {
        let text =
            format!("{} MB of swap space, {} MB when the baseline was learned", now / 1024, then / 1024);
        findings.certain(Resource::Host, text);
    }
}

fn hugepages(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(memory) = said(input.facts.memory.as_ref()) else { return };
    if input.expect.hugepages.is_empty() {
        return findings.remark("[expect] names no huge pages");
    }
    for (size, wanted) in &input.expect.hugepages {
        let Ok(kib) = size.parse::<u64>() else {
            findings.blind(format!("[expect] hugepages: \"{size}\" is no page size in KiB"));
            continue;
        };
        let total = memory.hugepages.get(&kib).map_or(0, |pages| pages.total);
        if total < *wanted {
            findings.certain(Resource::Host, format!("{total} huge pages of {kib} KiB, expected {wanted}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SWAP;
    use crate::baseline::learn;
    use crate::checks::scene::Scene;
    use crate::facts::Sheet;
    use crate::facts::host::Memory;

    #[test]
    fn swap_space_that_came_or_went_is_told() {
        let mut scene = Scene::healthy();
        let memory = |swap_kib| Some(Sheet::read(Memory { total_kib: 1, swap_kib, ..Memory::default() }));
        scene.facts.memory = memory(Some(0));
        assert!(scene.bad(&SWAP).is_empty(), "nobody said how much there should be");
        scene.baseline = Some(learn(&scene.facts, None));
        assert!(scene.bad(&SWAP).is_empty());
        scene.facts.memory = memory(Some(8 << 20));
        assert_eq!(scene.bad(&SWAP), ["host | 8192 MB of swap space, 0 MB when the baseline was learned"]);
        scene.facts.memory = memory(None);
        assert!(scene.bad(&SWAP).is_empty());
    }
}
