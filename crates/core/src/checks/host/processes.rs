//! Processes that cannot be killed, and those that nobody waited for.
use super::said;
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::facts::host::Process;

pub(in crate::checks) const STUCK: Check = Check {
    name: "stuck_processes",
    finds: "processes that sleep in the kernel (state D) in two looks in a row, and where",
    reads: &[Area::Processes],
    threshold: Some(Threshold {
        value: 30.0,
        unit: "s between the two looks, at least",
        source: "a process waits for a disk for seconds; the kernel calls it hung after 120 s (hung_task_timeout_secs)",
    }),
    evaluate: stuck,
    ..Check::HOST
};

pub(in crate::checks) const ZOMBIES: Check = Check {
    name: "zombies",
    finds: "ended processes that nobody waited for",
    reads: &[Area::Processes],
    threshold: Some(Threshold {
        value: 1000.0,
        unit: "zombies, at least",
        source: "ours: each holds a pid and nothing else; pid_max is 32768 at the least",
    }),
    evaluate: zombies,
    ..Check::HOST
};

/// Most processes named in one message.
const NAMED: usize = 4;

/// A process is stuck when it was in both looks, and these are far enough apart. The pids of one place in the kernel go
/// into one finding: a dead server has a hundred of them.
fn stuck(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(now) = said(input.facts.processes.as_ref()) else { return };
    findings.value(format!("{} in state D", now.stuck.len()));
    let before = input.before.and_then(|before| said(before.processes.as_ref()));
    let apart = input.seconds_since_before().unwrap_or(0.0);
    // Health checks may come faster than that; what was found stuck stays so until it is gone.
    let last = |process: &Process| input.was_bad(&resource(process));
    let both = |process: &&Process| {
        let same = |other: &Process| (other.pid, other.start) == (process.pid, process.start);
        let seen = before.is_some_and(|before| before.stuck.iter().any(same));
        seen && (apart >= input.setting.threshold || last(process))
    };
    for process in now.stuck.iter().filter(both) {
        findings.likely(resource(process), told(process));
    }
    cut(findings);
}

fn resource(process: &Process) -> Resource {
    Resource::Process(process.pid)
}

fn told(process: &Process) -> String {
    let at = process.wchan.as_ref().map(|wchan| format!(" in {wchan}")).unwrap_or_default();
    let owner = process.uid.map(|uid| format!(" of uid {uid}")).unwrap_or_default();
    format!("process {} ({}){owner} cannot be killed: it sleeps in the kernel{at}", process.pid, process.comm)
}

/// A case for each of the first few; the rest are counted with the first.
fn cut(findings: &mut Findings) {
    let more = findings.bad.len().saturating_sub(NAMED);
    findings.bad.truncate(NAMED);
    if let (true, Some(first)) = (more > 0, findings.bad.first_mut()) {
        first.text = format!("{}; and {more} more processes", first.text);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of processes")]
fn zombies(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(processes) = said(input.facts.processes.as_ref()) else { return };
    findings.value(format!("{} zombies", processes.zombies));
    if processes.zombies as f64 >= input.setting.threshold {
        let parent = processes.zombie_parent.as_ref();
        let parent =
            parent.map(|p| format!(", most of them of process {} ({})", p.pid, p.comm)).unwrap_or_default();
        findings.certain(
            Resource::Host,
            format!("{} ended processes were not waited for{parent}", processes.zombies),
        );
    }
}
