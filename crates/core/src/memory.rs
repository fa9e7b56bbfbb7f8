//! What this node's ledger remembers, as far as a rule or a gate asks for it.
use crate::progress::Progress;
use crate::{CauseClass, Code, NodeName, Stamp};

/// What is remembered. Empty lists: nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Cases of this node, drills left out.
    pub cases: Vec<PastCase>,
    /// Earlier runs of the job that just ended, oldest first. Only those whose batch host was this node are known whole.
    pub runs: Vec<PastRun>,
}

/// A case, open or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCase {
    /// Fault class.
    pub fault: String,
    /// What was claimed to be bad, as text.
    pub resource: String,
    /// When the first evidence happened.
    pub opened_at: Stamp,
}

/// An earlier run of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastRun {
    /// Slurm's restart count in it.
    pub restart: u32,
    /// When it began here.
    pub start: Stamp,
    /// When it ended here.
    pub end: Option<Stamp>,
    /// What ended it.
    pub cause: Option<PastCause>,
    /// When we requeued the job after it.
    pub requeued_at: Option<Stamp>,
    /// How far it got, by what it printed.
    pub progress: Progress,
}

/// What ended an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastCause {
    /// Kind of cause; `None` where it is not known.
    pub class: Option<CauseClass>,
    /// Codes of this node's cases it rested on.
    pub codes: Vec<Code>,
    /// Kinds of parts to blame: `gpu`, `nic`.
    pub kinds: Vec<String>,
    /// The nodes to blame.
    pub nodes: Vec<NodeName>,
}

impl Memory {
    /// When cases of this fault on this resource were opened.
    pub fn repeats(&self, fault: &str, resource: &str) -> Vec<Stamp> {
        let same = |case: &&PastCase| case.fault == fault && case.resource == resource;
        self.cases.iter().filter(same).map(|case| case.opened_at).collect()
    }
}
