//! How the run ended: by itself, or because somebody ended it, and who of it went first.
use super::place::Places;
use super::{JobEvidence, OutputEvent};
use crate::arrange::Arrange as _;
use crate::{ExitStatus, Stamp, TaskWhat};

/// A task that ended badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Death {
    /// When, by the reference clock.
    pub(super) at: Stamp,
    /// Where: the node's place in the job's list.
    pub(super) node: usize,
    /// Which task.
    pub(super) task: u32,
    /// How.
    pub(super) status: ExitStatus,
    /// Only the job's output says so.
    pub(super) said: bool,
}

impl Death {
    /// Slurm takes a step down with SIGTERM and SIGKILL; a task ended so may have been well until then.
    pub(super) const fn is_by_kill(&self) -> bool {
        matches!(self.status, ExitStatus::Signal(9 | 15))
    }
}

/// What ended the run, by Slurm's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It went well.
    Completed,
    /// It is still there.
    Running,
    /// A person or Slurm ended it.
    Outside(Outside),
    /// Slurm lost a node of it.
    NodeFail,
    /// Slurm saw the kernel kill a task for want of memory.
    OutOfMemory,
    /// It failed.
    Failed,
}

/// Who ended a run that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// A person.
    Cancelled,
    /// A job of higher priority.
    Preempted,
    /// Its time limit.
    TimeLimit,
    /// It was put back into the queue while it ran, or before it began.
    Requeued,
}

impl Ending {
    pub(super) fn of(evidence: &JobEvidence) -> Self {
        let run = &evidence.run;
        let word = run.state.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match word.trim_end_matches('+') {
            "COMPLETED" => Self::Completed,
            "RUNNING" | "SUSPENDED" | "COMPLETING" | "PENDING" => Self::Running,
            "CANCELLED" | "REVOKED" => Self::Outside(Outside::Cancelled),
            "PREEMPTED" => Self::Outside(Outside::Preempted),
            "TIMEOUT" | "DEADLINE" => Self::Outside(Outside::TimeLimit),
            "REQUEUED" if run.exit.is_none() => Self::Outside(Outside::Requeued),
            "NODE_FAIL" | "BOOT_FAIL" => Self::NodeFail,
            "OUT_OF_MEMORY" => Self::OutOfMemory,
            "" => match run.exit {
                Some(exit) if exit.is_success() => Self::Completed,
                None if run.end.is_none() => Self::Running,
                _ => Self::Failed,
            },
            _ => Self::Failed,
        }
    }
}

/// Tasks that ended badly, earliest first. `offsets` are the nodes' clock errors.
pub(super) fn deaths(evidence: &JobEvidence, offsets: &[i64]) -> Vec<Death> {
    let mut deaths = Vec::new();
    for (node, (what, offset)) in evidence.nodes.iter().zip(offsets).enumerate() {
        for (at, edge) in &what.tasks {
            if let TaskWhat::End(status) = edge.what
                && !status.is_success()
                && edge.step.parse::<u32>().is_ok()
            {
                deaths.push(Death {
                    at: at.minus_micros(*offset),
                    node,
                    task: edge.rank,
                    status,
                    said: false,
                });
            }
        }
    }
    deaths.arrange_by_key(|death| (death.at, death.node, death.task));
    deaths
}

/// Most tasks that one line of srun may name, and all of its lines together: a job can print thousands of them.
const MOST_TASKS: usize = 65_536;

/// Without task records, srun's own lines tell which tasks ended how, in order, though not when. A job can print such
/// lines itself: they only ever place what else it printed.
pub(super) fn deaths_by_srun(evidence: &JobEvidence, places: &Places) -> Vec<Death> {
    if evidence.nodes.iter().any(|node| !node.tasks.is_empty()) {
        return Vec::new();
    }
    let mut deaths = Vec::new();
    for seen in evidence.output.iter().filter(|seen| seen.code() == "slurm.task_exit") {
        let (Some(node), Some(tasks)) =
            (seen.field("node").and_then(|name| places.host(name)), seen.field("tasks"))
        else {
            continue;
        };
        let status = status(seen.field("how").unwrap_or_default());
        let at = seen.time.own.or(seen.time.after).or(evidence.run.end).unwrap_or(evidence.run.start);
        let room = MOST_TASKS - deaths.len();
        deaths.extend(expanded(tasks).take(room).map(|task| Death { at, node, task, status, said: true }));
    }
    deaths
}

/// `Exited with exit code 1`, `Killed`, `Aborted (core dumped)`.
fn status(how: &str) -> ExitStatus {
    const SIGNALS: [(&str, i32); 6] = [
        ("Killed", 9),
        ("Terminated", 15),
        ("Aborted", 6),
        ("Segmentation fault", 11),
        ("Bus error", 7),
        ("Illegal instruction", 4),
    ];
    let code = how.rsplit(' ').next().and_then(|code| code.parse().ok()).unwrap_or(1);
    let signal = SIGNALS.iter().find(|(word, _)| how.starts_with(word));
    signal.map_or(ExitStatus::Exit(code), |(_, signal)| ExitStatus::Signal(*signal))
}

/// `0-3,7` as numbers.
fn expanded(list: &str) -> impl Iterator<Item = u32> {
    let ranges = list.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    ranges.flat_map(|(first, last)| first..=last)
}

/// The rank that failed first by the word of torchrun, whose agents each tell of the first failure they observed. Ranks
/// that an agent had asked to end are none.
pub(super) fn first_by_torchrun(
    evidence: &JobEvidence,
    places: &Places,
    zone: i64,
    offsets: &[i64],
) -> Option<Death> {
    let told = evidence.output.iter().filter(|seen| !seen.survived && seen.code() == "torch.elastic_root");
    let death = |seen: &OutputEvent| {
        let rank = seen.rank?;
        let host = seen.host.as_deref().or_else(|| seen.field("host"));
        let node = host.and_then(|host| places.host(host)).or_else(|| places.node_of_rank(rank))?;
        let status = match seen.number::<i32>("exitcode")? {
            signal @ ..0 => ExitStatus::Signal(signal.saturating_neg()),
            code => ExitStatus::Exit(code),
        };
        let ahead = zone.saturating_add(offsets.get(node).copied().unwrap_or_default());
        Some(Death { at: seen.time.own?.minus_micros(ahead), node, task: rank, status, said: true })
    };
    let asked_to_end = |death: &Death| death.status == ExitStatus::Signal(15);
    told.filter_map(death).min_by_key(|death| (asked_to_end(death), death.at, death.node, death.task))
}

/// When a run that was ended from outside began to be taken down: its first task killed that way, else what slurmstepd
/// printed, else its end.
pub(super) fn taken_down_at(evidence: &JobEvidence, deaths: &[Death]) -> Option<Stamp> {
    const SAID: &[&str] = &["slurm.cancelled", "slurm.preempted", "slurm.time_limit"];
    let said = || {
        let lines = evidence.output.iter().filter(|seen| SAID.contains(&seen.code()));
        lines
            .filter_map(|seen| seen.time.own)
            .filter(|at| evidence.run.end.is_none_or(|end| *at <= end))
            .min()
    };
    let killed = deaths.iter().find(|death| death.is_by_kill()).map(|death| death.at);
    killed.or_else(said).or(evidence.run.end)
}
