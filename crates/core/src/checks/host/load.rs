//! What is used of the node, and by whom nobody knows.
use super::{percent, said};
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;

/// Tasks that run, wait for a CPU, or sleep in the kernel over a disk: so many of them that all are slow.
pub(in crate::checks) const LOAD: Check = Check {
    name: "load",
    finds: "a load far above the number of CPUs",
    reads: &[Area::Kernel, Area::Cpus],
    threshold: Some(Threshold {
        value: 2.0,
        unit: "tasks a CPU in use (one-minute load average), at least",
        source: "what NHC's nhc-genconf writes: twice the number of threads",
    }),
    bad_for_s: 600,
    evaluate: load,
    ..Check::HOST
};

/// Memory that nobody's job holds: a leak of the kernel's, files in memory, a filesystem's pool.
pub(in crate::checks) const MEMORY: Check = Check {
    name: "memory_left",
    finds: "memory in use with no job on the node, huge pages left out",
    reads: &[Area::Memory, Area::Processes],
    threshold: Some(Threshold {
        value: 25.0,
        unit: "% of the memory in use, at least",
        source: "ours; an idle node uses some per cent, and what a filesystem's client keeps for itself is seldom a tenth",
    }),
    bad_for_s: 600,
    evaluate: memory,
    ..Check::HOST
};

#[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
fn load(input: &CheckInput<'_>, findings: &mut Findings) {
    let (Some(kernel), Some(cpus)) = (said(input.facts.kernel.as_ref()), said(input.facts.cpus.as_ref()))
    else {
        return;
    };
    let (Some(load), online @ 1..) = (kernel.load, cpus.online.len()) else {
        return findings.blind("the load, or how many CPUs are in use, is not known");
    };
    findings.value(format!("{load:.1}"));
    let share = load / online as f64;
    if share >= input.setting.threshold {
        findings.certain(Resource::Host, format!("load {load:.1} on {online} CPUs: {share:.1} tasks a CPU"));
    }
}

fn memory(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(memory) = said(input.facts.memory.as_ref()) else { return };
    let Some(share) = memory.used_kib().and_then(|used| percent(used, memory.total_kib)) else {
        return findings.blind("/proc/meminfo tells no MemAvailable");
    };
    findings.value(format!("{share:.0} % in use"));
    // A site that does not run our prolog has jobs that the ledger does not know. One slurmstepd is always there with cgroup v2.
    let steps = said(input.facts.processes.as_ref()).map_or(0, |processes| processes.steps);
    if input.running().next().is_some() || steps > 1 {
        return findings.remark("a job is on the node");
    }
    if share >= input.setting.threshold {
        let used = memory.used_kib().unwrap_or(0) / 1024;
        findings.likely(
            Resource::Host,
            format!("{used} MB of memory ({share:.0} %) in use, and no job is on the node"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{LOAD, MEMORY};
    use crate::checks::scene::{Scene, span};
    use crate::facts::Sheet;
    use crate::facts::host::{Cpus, HugePages, Kernel, Memory, Processes};

    fn with_load(load: Option<f64>) -> Scene {
        let mut scene = Scene::healthy();
        scene.facts.kernel = Some(Sheet::read(Kernel { load, ..Kernel::default() }));
        scene.facts.cpus = Some(Sheet::read(Cpus { online: (0..64).collect(), ..Cpus::default() }));
        scene
    }

    #[test]
    fn twice_as_many_tasks_as_cpus_are_told_and_a_full_node_is_not() {
        assert!(with_load(Some(64.0)).bad(&LOAD).is_empty());
        assert_eq!(with_load(Some(130.0)).bad(&LOAD), ["host | load 130.0 on 64 CPUs: 2.0 tasks a CPU"]);
        assert_eq!(with_load(None).look(&LOAD).blind.len(), 1);
    }

    fn with_memory(used_percent: u64) -> Scene {
        let mut scene = Scene::healthy();
        let total_kib = 1_000_000;
        scene.facts.memory = Some(Sheet::read(Memory {
            total_kib,
            available_kib: Some(total_kib - total_kib * used_percent / 100),
            ..Memory::default()
        }));
        scene.facts.processes = Some(Sheet::read(Processes { steps: 1, ..Processes::default() }));
        scene
    }

    #[test]
    fn memory_that_nobodys_job_holds_is_told() {
        assert!(with_memory(10).bad(&MEMORY).is_empty());
        assert_eq!(
            with_memory(40).bad(&MEMORY),
            ["host | 390 MB of memory (40 %) in use, and no job is on the node"]
        );
    }

    #[test]
    fn a_job_huge_pages_and_a_job_the_ledger_does_not_know_are_no_leak() {
        let mut scene = with_memory(40);
        scene.spans = vec![span(&[])];
        assert!(scene.bad(&MEMORY).is_empty());
        scene.spans.clear();
        scene.facts.processes.as_mut().unwrap().said.as_mut().unwrap().steps = 2;
        assert!(scene.bad(&MEMORY).is_empty());
        let mut scene = with_memory(40);
        let memory = scene.facts.memory.as_mut().unwrap().said.as_mut().unwrap();
        memory.hugepages.insert(2048, HugePages { total: 120, free: 0 });
        assert!(scene.bad(&MEMORY).is_empty(), "{:?}", scene.bad(&MEMORY));
        let mut scene = with_memory(40);
        scene.facts.memory.as_mut().unwrap().said.as_mut().unwrap().available_kib = None;
        assert_eq!(scene.look(&MEMORY).blind.len(), 1);
    }
}
