//! The only things the edge may carry out. The list is closed on purpose.
use serde::{Deserialize, Serialize};

use super::{CaseId, DecisionId, NodeName, RunId, Stamp};

/// One thing to do to the outside world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Action {
    /// Set the node to drain with our reason, unless it is out already for another reason.
    Drain {
        /// The node.
        node: NodeName,
        /// ASCII, under 200 bytes, begins with `slurm-triage: `.
        reason: String,
        /// The case it is for.
        case: CaseId,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Lift our own drain; a foreign one is left alone.
    Resume {
        /// The node.
        node: NodeName,
        /// The case whose drain is lifted.
        case: CaseId,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Requeue the run and keep it off `exclude`.
    Requeue {
        /// The run.
        run: RunId,
        /// Nodes to add to the job's `ExcNodeList`.
        exclude: Vec<NodeName>,
        /// Put it back held instead.
        hold: bool,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Clear the begin time Slurm gave the requeued job, once it is PENDING and no longer COMPLETING. Slurm lets a
    /// requeued job wait two minutes otherwise, and overwrites a begin time set earlier.
    ClearBeginTime {
        /// The run that was requeued.
        run: RunId,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Tell the job's batch host what this node knows, in this node's own `Extra` field under our key.
    Publish {
        /// The node: always the one that runs.
        node: NodeName,
        /// The JSON object that goes under our key.
        body: String,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Refuse the job in the prolog: exit 1.
    RefuseJob {
        /// The run.
        run: RunId,
        /// The case it is for.
        case: CaseId,
        /// The decision that wants it.
        decision: DecisionId,
    },
}

/// What makes an action the same action: a second one with the same key is not carried out while the first one's
/// intent stands.
pub type ActionKey = String;

impl Action {
    /// Identity: (kind, case or run, node). A drain for one case on one node happens once; a run is requeued once.
    pub fn key(&self) -> ActionKey {
        let run_key = |run: &RunId| {
            format!("{}:{}:{}:{}", run.cluster, run.scontrol_name(), run.restart, run.start.micros())
        };
        match self {
            Self::Drain { node, case, .. } => format!("drain:{node}:{case}"),
            Self::Resume { node, case, .. } => format!("resume:{node}:{case}"),
            Self::Requeue { run, .. } => format!("requeue:{}", run_key(run)),
            Self::ClearBeginTime { run, .. } => format!("begin:{}", run_key(run)),
            Self::Publish { node, decision, .. } => format!("publish:{node}:{decision}"),
            Self::RefuseJob { run, case, .. } => format!("refuse:{}:{case}", run_key(run)),
        }
    }

    /// The word for the kind of action.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Drain { .. } => "drain",
            Self::Resume { .. } => "resume",
            Self::Requeue { .. } => "requeue",
            Self::ClearBeginTime { .. } => "clear_begin_time",
            Self::Publish { .. } => "publish",
            Self::RefuseJob { .. } => "refuse_job",
        }
    }

    /// The decision behind it.
    pub const fn decision(&self) -> &DecisionId {
        match self {
            Self::Drain { decision, .. }
            | Self::Resume { decision, .. }
            | Self::Requeue { decision, .. }
            | Self::ClearBeginTime { decision, .. }
            | Self::Publish { decision, .. }
            | Self::RefuseJob { decision, .. } => decision,
        }
    }
}

/// What became of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// When it was known.
    pub at: Stamp,
    /// Whether the wanted state was reached (also when it was reached already).
    pub done: bool,
    /// May be tried again later (controller away, deadline passed).
    pub retry: bool,
    /// What Slurm answered, or why nothing was asked, one line.
    pub answer: String,
}
