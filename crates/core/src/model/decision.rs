//! What policy wants, and what held it back.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::vocabulary;
use super::{CaseId, DecisionId, NodeName, RunId, Stamp, UnknownWord, VerdictId};

vocabulary! {
    /// Whether decisions are carried out.
    Mode ("mode") {
        /// Decide and write down what would have been done.
        Monitor = "monitor",
        /// Carry it out.
        Act = "act",
    }
}

vocabulary! {
    /// What policy wants.
    Intent ("intent") {
        /// Nothing.
        None = "none",
        /// Write it down.
        Note = "note",
        /// Keep this job off this node (prolog).
        RefuseJob = "refuse_job",
        /// Take the node out of service.
        Drain = "drain",
        /// Take the node out of service, and boot it again once it is idle. Decided as a drain, then a reboot.
        RebootWhenIdle = "reboot_when_idle",
        /// Take the node out of service, and end what runs on it: Slurm kills the jobs of a node that is down.
        Down = "down",
        /// Reset the GPU of a node we drained.
        Reset = "reset",
        /// Boot a node we drained again, once it is idle.
        Reboot = "reboot",
        /// Run the site's tests on a node we drained, once it is repaired.
        Verify = "verify",
        /// Lift our own drain.
        Resume = "resume",
        /// Run the job again elsewhere.
        Requeue = "requeue",
        /// Put the job back, held.
        RequeueHold = "requeue_hold",
        /// Do not run the job again.
        Stop = "stop",
    }
}

impl Intent {
    /// Whether a rule that says so wants the node out of service, with whatever follows.
    pub const fn takes_node_out(self) -> bool {
        matches!(self, Self::Drain | Self::RebootWhenIdle | Self::Down)
    }
}

/// Whom a decision is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A node.
    Node(NodeName),
    /// A run of a job.
    Run(RunId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Run(run) => write!(f, "job {run}"),
        }
    }
}

/// One condition an action had to pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name: `mode`, `provenance`, `foreign_reason`, `job_ask`, `requeue_allowed` ...
    pub name: String,
    /// Whether it let the action through.
    pub passed: bool,
    /// Why, one sentence.
    pub why: String,
}

/// What policy wants for one subject, the rule that said so, and every gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Identity.
    pub id: DecisionId,
    /// When.
    pub at: Stamp,
    /// About whom.
    pub subject: Subject,
    /// What is wanted.
    pub intent: Intent,
    /// The policy rule that said so.
    pub rule: String,
    /// The mode the rule runs in.
    pub mode: Mode,
    /// Every gate that was asked, in order.
    pub gates: Vec<Gate>,
    /// The case it rests on.
    pub case: Option<CaseId>,
    /// The verdict it rests on.
    pub verdict: Option<VerdictId>,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// Why, one sentence.
    pub why: String,
}

impl Decision {
    /// Whether every gate let it through.
    pub fn allowed(&self) -> bool {
        self.gates.iter().all(|gate| gate.passed)
    }

    /// The first gate that held it.
    pub fn held_by(&self) -> Option<&Gate> {
        self.gates.iter().find(|gate| !gate.passed)
    }
}
