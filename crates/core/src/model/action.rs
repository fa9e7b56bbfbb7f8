//! The only things the edge may carry out. The list is closed on purpose.
use serde::{Deserialize, Serialize};

use super::{BootId, CaseId, DecisionId, NodeName, RunId, Stamp};
use crate::fleet::Limit;
use crate::policy::Command;
use crate::progress::Progress;

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
    /// Run a command that resets the GPU, on the node itself, while it is idle and out by our own drain.
    Reset {
        /// The node: always the one that runs.
        node: NodeName,
        /// The case it is for.
        case: CaseId,
        /// The boot it is wanted in.
        boot: BootId,
        /// What is run.
        command: Command,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Ask Slurm to boot the node again, while it is idle and out by our own drain.
    Reboot {
        /// The node.
        node: NodeName,
        /// The case it is for.
        case: CaseId,
        /// The boot that is to end.
        boot: BootId,
        /// The drain reason, which the reboot must not take away.
        reason: String,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Run the site's tests, on the node itself, while it is idle and out by our own drain.
    Verify {
        /// The node: always the one that runs.
        node: NodeName,
        /// The case it is for.
        case: CaseId,
        /// The boot they are wanted in.
        boot: BootId,
        /// What is run, in this order, to the first that fails.
        commands: Vec<Command>,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// A moment after a drain of ours, count who else was taken out, and lift it where it was one too many.
    ConfirmDrain {
        /// The node.
        node: NodeName,
        /// The case it was drained for.
        case: CaseId,
        /// The brakes it has to pass.
        limits: Vec<Limit>,
        /// The decision that wanted the drain.
        decision: DecisionId,
    },
    /// Set a node down that is out by our own drain, once that drain is found within the brakes. Slurm ends the jobs on
    /// it then, and puts back those that may be requeued.
    Down {
        /// The node.
        node: NodeName,
        /// The case it is drained for.
        case: CaseId,
        /// The brakes it has to pass.
        limits: Vec<Limit>,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Lift our own drain; a foreign one is left alone.
    Resume {
        /// The node.
        node: NodeName,
        /// The case whose drain is lifted.
        case: CaseId,
        /// We had set the node down as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        from_down: bool,
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
        /// How far it got: told in its `AdminComment`, by which the next run is measured on whatever node it ends.
        #[serde(default, skip_serializing_if = "Progress::is_unknown")]
        progress: Progress,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Kill the steps and the batch script of a run that still goes on, so that its requeue does not wait out `KillWait`.
    KillSteps {
        /// The run.
        run: RunId,
        /// The decision that wants it requeued.
        decision: DecisionId,
    },
    /// Append a line to the job's own output file, with its owner's rights: that it was requeued, or why it was not.
    LastLine {
        /// The run.
        run: RunId,
        /// The job's owner, as slurmd told it.
        uid: u32,
        /// The owner's name, may be empty.
        user: String,
        /// The line; ASCII.
        text: String,
        /// It says that the job was requeued, and is written once that is so.
        requeued: bool,
        /// The decision behind it.
        decision: DecisionId,
    },
    /// Clear the begin time Slurm gave the requeued job, once it is PENDING and no longer COMPLETING. Slurm lets a
    /// requeued job wait two minutes otherwise, and overwrites a begin time set earlier.
    ClearBeginTime {
        /// The run that was requeued.
        run: RunId,
        /// It is to wait until then, after a requeue a short while ago.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Stamp>,
        /// The decision that wants it.
        decision: DecisionId,
    },
    /// Say on a job that Slurm put back held why it is not run again.
    Explain {
        /// The run.
        run: RunId,
        /// Why, in a sentence; ASCII.
        text: String,
        /// The decision behind it.
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
            // A drain that was taken back may be wanted again, by another decision.
            Self::ConfirmDrain { node, case, decision, .. } => format!("confirm:{node}:{case}:{decision}"),
            Self::Down { node, case, .. } => format!("down:{node}:{case}"),
            Self::Resume { node, case, .. } => format!("resume:{node}:{case}"),
            // A repair that did not help in one boot may in another.
            Self::Reset { node, case, boot, .. } => format!("reset:{node}:{case}:{boot}"),
            Self::Reboot { node, case, boot, .. } => format!("reboot:{node}:{case}:{boot}"),
            Self::Verify { node, case, boot, .. } => format!("verify:{node}:{case}:{boot}"),
            Self::Requeue { run, .. } => format!("requeue:{}", run_key(run)),
            Self::KillSteps { run, .. } => format!("kill_steps:{}", run_key(run)),
            Self::LastLine { run, .. } => format!("last_line:{}", run_key(run)),
            Self::ClearBeginTime { run, .. } => format!("begin:{}", run_key(run)),
            Self::Explain { run, .. } => format!("explain:{}", run_key(run)),
            Self::Publish { node, decision, .. } => format!("publish:{node}:{decision}"),
            Self::RefuseJob { run, case, .. } => format!("refuse:{}:{case}", run_key(run)),
        }
    }

    /// The word for the kind of action.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Drain { .. } => "drain",
            Self::ConfirmDrain { .. } => "confirm_drain",
            Self::Reset { .. } => "reset",
            Self::Reboot { .. } => "reboot",
            Self::Verify { .. } => "verify",
            Self::Down { .. } => "down",
            Self::Resume { .. } => "resume",
            Self::Requeue { .. } => "requeue",
            Self::KillSteps { .. } => "kill_steps",
            Self::LastLine { .. } => "last_line",
            Self::ClearBeginTime { .. } => "clear_begin_time",
            Self::Explain { .. } => "explain",
            Self::Publish { .. } => "publish",
            Self::RefuseJob { .. } => "refuse_job",
        }
    }

    /// Whether it may take minutes: a program of its own carries it out, which no hook waits for.
    pub const fn takes_long(&self) -> bool {
        matches!(
            self,
            Self::ClearBeginTime { .. }
                | Self::ConfirmDrain { .. }
                | Self::Down { .. }
                | Self::Explain { .. }
                | Self::LastLine { .. }
                | Self::Reset { .. }
                | Self::Verify { .. }
        )
    }

    /// The case it is for, where it is for one.
    pub const fn case(&self) -> Option<&CaseId> {
        match self {
            Self::Drain { case, .. }
            | Self::ConfirmDrain { case, .. }
            | Self::Reset { case, .. }
            | Self::Reboot { case, .. }
            | Self::Verify { case, .. }
            | Self::Down { case, .. }
            | Self::Resume { case, .. }
            | Self::RefuseJob { case, .. } => Some(case),
            Self::Requeue { .. }
            | Self::KillSteps { .. }
            | Self::LastLine { .. }
            | Self::ClearBeginTime { .. }
            | Self::Explain { .. }
            | Self::Publish { .. } => None,
        }
    }

    /// The decision behind it.
    pub const fn decision(&self) -> &DecisionId {
        match self {
            Self::Drain { decision, .. }
            | Self::ConfirmDrain { decision, .. }
            | Self::Reset { decision, .. }
            | Self::Reboot { decision, .. }
            | Self::Verify { decision, .. }
            | Self::Down { decision, .. }
            | Self::Resume { decision, .. }
            | Self::Requeue { decision, .. }
            | Self::KillSteps { decision, .. }
            | Self::LastLine { decision, .. }
            | Self::ClearBeginTime { decision, .. }
            | Self::Explain { decision, .. }
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
