//! Jobs, their runs, their tasks, and what Slurm says of jobs and nodes.
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::vocabulary;
use super::{BootId, CaseId, CauseClass, Code, Confidence, NodeName, Resource, Stamp, UnknownWord};

/// An array task's place: `<job>_<task>` is what `scontrol` must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArrayId {
    /// `SLURM_ARRAY_JOB_ID`.
    pub job: u32,
    /// `SLURM_ARRAY_TASK_ID`.
    pub task: u32,
}

/// One run of one job. Slurm reuses job ids and requeues jobs, so a run is all of this together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId {
    /// `SLURM_CLUSTER_NAME`.
    pub cluster: String,
    /// `SLURM_JOB_ID`.
    pub job: u32,
    /// Array ids, where it is an array task.
    pub array: Option<ArrayId>,
    /// The het job leader's id, where it is a component of one.
    pub het: Option<u32>,
    /// `SLURM_JOB_RESTART_COUNT`.
    pub restart: u32,
    /// When this run began on its node, as the prolog saw it.
    pub start: Stamp,
}

impl RunId {
    /// What `scontrol` must be given to mean this job and no other: `<array>_<task>` for an array task (the
    /// plain id of the first task means the whole array), the leader for a het job.
    pub fn scontrol_name(&self) -> String {
        match (self.array, self.het) {
            (Some(array), _) => format!("{}_{}", array.job, array.task),
            (None, Some(leader)) => leader.to_string(),
            (None, None) => self.job.to_string(),
        }
    }
}

impl fmt::Display for RunId {
    /// For people: `4700_3 restart 1`, `4711`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.array {
            Some(array) => write!(f, "{}_{}", array.job, array.task)?,
            None => write!(f, "{}", self.job)?,
        }
        if self.restart > 0 {
            write!(f, " restart {}", self.restart)?;
        }
        Ok(())
    }
}

vocabulary! {
    /// What the job asked of us with `--triage=`. It can only lower what the site allows.
    JobAsk ("--triage value") {
        /// Leave this job alone: nothing is decided about it.
        Off = "off",
        /// Decide, write down, do nothing.
        Monitor = "monitor",
        /// Act as far as the site's policy allows.
        Act = "act",
        /// No wish; the site's policy holds.
        Default = "default",
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// From the raw status of `wait(2)`, as Slurm puts it into `SLURM_JOB_EXIT_CODE`.
    pub const fn from_wait(raw: i32) -> Self {
        match raw & 0x7f {
            0 => Self::Exit((raw >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }

    /// Whether it is success.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exit(0))
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// One run on this node, from its prolog to its epilog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpan {
    /// Which run.
    pub run: RunId,
    /// On which node.
    pub node: NodeName,
    /// In which boot.
    pub boot: BootId,
    /// The job's owner (uid).
    pub uid: u32,
    /// The owner's name as Slurm gives it, may be empty.
    pub user: String,
    /// Slurm partition, may be empty.
    pub partition: String,
    /// All nodes of the job, first one first (the batch host).
    pub nodes: Vec<NodeName>,
    /// Slurm GRES indices of the GPUs the job has on this node; empty: none, or unknown.
    pub gpus: Vec<u32>,
    /// What the job asked of us.
    pub ask: JobAsk,
    /// The epilog's moment; `None` while the job is on the node.
    pub end: Option<Stamp>,
    /// The batch script's end, as Slurm tells the epilog.
    pub exit: Option<ExitStatus>,
    /// The job's state in Slurm's word where it was read (`COMPLETED`, `FAILED`, `CANCELLED` ...), else empty.
    pub state: String,
}

impl JobSpan {
    /// Whether the run was on its node at `at`.
    pub fn covers(&self, at: Stamp) -> bool {
        self.run.start <= at && self.end.is_none_or(|end| at <= end)
    }

    /// Whether this node is the one that decides about the job.
    pub fn is_batch_host(&self) -> bool {
        self.nodes.first().is_none_or(|first| *first == self.node)
    }
}

/// A task of a job started or ended, from the SPANK plugin's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEdge {
    /// `SLURM_JOB_ID`.
    pub job: u32,
    /// Array ids, where it is an array task.
    pub array: Option<ArrayId>,
    /// Restart count of the run.
    pub restart: u32,
    /// Step: a number, or `batch`, `extern`, `interactive`.
    pub step: String,
    /// Global rank within the step.
    pub rank: u32,
    /// Rank on the node.
    pub local: u32,
    /// Process id of the task.
    pub pid: u32,
    /// Start or end.
    pub what: TaskWhat,
    /// What the job asked of us.
    pub ask: JobAsk,
    /// GPUs as the task's environment names them: indices, UUIDs or addresses. A hint, the user can change it.
    pub gpus: Vec<String>,
}

/// What happened to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskWhat {
    /// It was started.
    Start,
    /// It ended so.
    End(ExitStatus),
}

/// A job as `scontrol show job` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct JobRecord {
    /// `JobId`.
    pub job: u32,
    /// Array ids, where it is an array task.
    pub array: Option<ArrayId>,
    /// Het job leader, where it is a component.
    pub het: Option<u32>,
    /// `JobState`, first word (`PENDING`, `RUNNING`, `COMPLETING`, `FAILED` ...).
    pub state: String,
    /// Whether `COMPLETING` is among its state flags.
    pub completing: bool,
    /// `Reason`.
    pub reason: String,
    /// `Restarts`.
    pub restarts: u32,
    /// `Requeue=1`.
    pub requeue: bool,
    /// `BatchFlag=1`: has a batch script, so that it can be requeued at all.
    pub batch: bool,
    /// `ExcNodeList`, expanded.
    pub excluded: Vec<NodeName>,
    /// `NodeList`, expanded.
    pub nodes: Vec<NodeName>,
    /// `StdOut`, expanded by scontrol.
    pub stdout: String,
    /// `StdErr`, expanded by scontrol.
    pub stderr: String,
    /// All fields, verbatim.
    pub fields: BTreeMap<String, String>,
}

/// A node as `scontrol show node` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct NodeRecord {
    /// `NodeName`.
    pub node: NodeName,
    /// `State` words, upper case, without decoration (`IDLE`, `DRAIN`, `MIXED` ...).
    pub state: Vec<String>,
    /// `Reason` without the trailing `[user@time]`; empty when there is none.
    pub reason: String,
    /// When the reason was given, by the controller's clock, in whole seconds.
    pub reason_at: Option<Stamp>,
    /// `Partitions`.
    pub partitions: Vec<String>,
    /// `Extra`, verbatim; empty when there is none.
    pub extra: String,
}

impl NodeRecord {
    /// The word of its state that says that a job is on the node, or ends there.
    pub fn busy(&self) -> Option<&str> {
        let mut words = self.state.iter().map(String::as_str);
        words.find(|word| matches!(*word, "ALLOCATED" | "MIXED" | "COMPLETING"))
    }

    /// Whether the node is drained, draining, down or failed: takes no new jobs.
    pub fn is_out(&self) -> bool {
        self.state
            .iter()
            .any(|s| matches!(s.as_str(), "DRAIN" | "DRAINED" | "DRAINING" | "DOWN" | "FAIL" | "FAILING"))
    }

    /// The first word of the state that begins with one of `words`.
    pub fn has_state_of(&self, words: &[String]) -> Option<&str> {
        let is_one =
            |state: &&String| words.iter().any(|word| !word.is_empty() && state.starts_with(word.as_str()));
        self.state.iter().find(is_one).map(String::as_str)
    }
}

/// What another node of the job says of itself, read from its node record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerEvidence {
    /// Which node.
    pub node: NodeName,
    /// Its case.
    pub case: CaseId,
    /// The case's code.
    pub code: Code,
    /// What is bad.
    pub resource: Resource,
    /// Kind of cause.
    pub class: CauseClass,
    /// How sure that node is.
    pub confidence: Confidence,
    /// When the evidence happened.
    pub at: Stamp,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// The run it concerns: job id and restart count.
    pub job: Option<u32>,
}
