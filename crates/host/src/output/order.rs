//! What a reader is told to read.
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use triage_core::joblog::{Calendar, Hints};
use triage_core::{ArrayId, BootId, JobRecord, JobSpan, NodeName, RunId, Stamp};

use super::pattern::Names;

/// While a run is not over, a line of it may be as new as this, seconds: a day covers every zone a program may write its
/// times in.
const ZONES_S: i64 = 86_400;

/// Which job's output, and where Slurm says it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRequest {
    /// `%j`.
    pub job: u32,
    /// `%A`, `%a`.
    pub array: Option<ArrayId>,
    /// `%x`.
    pub name: String,
    /// `%u`.
    pub user: String,
    /// The job's nodes, the batch host first: `%N`.
    pub nodes: Vec<NodeName>,
    /// The job's owner, as slurmd told it. Root reads with the owner's rights and no others.
    pub uid: u32,
    /// `StdOut` as scontrol shows it; empty: the job has none.
    pub stdout: String,
    /// `StdErr`, as `StdOut`.
    pub stderr: String,
    /// `WorkDir`.
    pub work_dir: String,
    /// When the run began: an older file is none of it.
    pub start: Stamp,
    /// When it ended.
    pub end: Option<Stamp>,
    /// The node that findings are booked on until attribution finds the right one.
    pub node: NodeName,
    /// Its boot.
    pub boot: BootId,
}

impl OutputRequest {
    /// The output of the run that left (or is on) this node, by what Slurm says of the job.
    ///
    /// Of the record nothing is used but what names files, which are then opened with the rights of the span's owner:
    /// a job whose name imitates a record can only make us read another file of the same user.
    pub fn new(record: &JobRecord, span: &JobSpan) -> Self {
        let field = |name: &str| record.fields.get(name).cloned().unwrap_or_default();
        let nodes = if span.nodes.is_empty() { record.nodes.clone() } else { span.nodes.clone() };
        Self {
            job: span.run.job,
            array: span.run.array.or(record.array),
            name: field("JobName"),
            user: span.user.clone(),
            nodes,
            uid: span.uid,
            stdout: record.stdout.clone(),
            stderr: record.stderr.clone(),
            work_dir: field("WorkDir"),
            start: span.run.start,
            end: span.end,
            node: span.node.clone(),
            boot: span.boot.clone(),
        }
    }

    /// Where the job's output is, by its record alone, with the rights of `owner` (user id and name).
    pub(crate) fn of_record(record: &JobRecord, run: &RunId, owner: (u32, &str)) -> Self {
        let field = |name: &str| record.fields.get(name).cloned().unwrap_or_default();
        Self {
            job: record.job,
            array: run.array.or(record.array),
            name: field("JobName"),
            user: owner.1.to_owned(),
            nodes: record.nodes.clone(),
            uid: owner.0,
            stdout: record.stdout.clone(),
            stderr: record.stderr.clone(),
            work_dir: field("WorkDir"),
            start: run.start,
            end: None,
            node: NodeName::from(""),
            boot: BootId::from(""),
        }
    }

    /// What the lines are read against.
    pub fn hints(&self) -> Hints {
        let end = self.end.unwrap_or_else(|| self.start.plus_secs(ZONES_S));
        Hints {
            calendar: Calendar { start: self.start, end },
            node: self.node.clone(),
            boot: self.boot.clone(),
        }
    }

    pub(super) fn names(&self) -> Names {
        let own =
            nix::sys::utsname::uname().ok().and_then(|name| name.nodename().to_str().map(str::to_owned));
        let hosts = self.nodes.iter().map(|node| node.as_str().to_owned()).chain(own);
        Names {
            job: self.job,
            array: self.array,
            user: self.user.clone(),
            name: self.name.clone(),
            hosts: hosts.collect(),
        }
    }
}

/// What the child is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Task {
    /// Say what the output means.
    Look,
    /// Hand over the bytes themselves, for a bundle.
    Copy,
    /// Append this line.
    Append(String),
}

/// All that the child is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) request: OutputRequest,
    /// Whose rights to take; `None`: we have no others than our own.
    pub(super) owner: Option<u32>,
    /// Bytes of the beginnings, of all files together.
    pub(super) head: u64,
    /// Bytes of the ends, of all files together.
    pub(super) tail: u64,
    /// When to be done, milliseconds from the start.
    pub(super) millis: u64,
    /// The site's own catalogue files.
    pub(super) catalog: PathBuf,
    /// What to do.
    pub(super) task: Task,
}
