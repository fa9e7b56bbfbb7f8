//! Bounds on what we do: to one job, and to whom nothing is ever done.
use serde::{Deserialize, Serialize};

use super::{Glob, Hosts};
use crate::Confidence;

/// Bounds on what we do to one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobLimits {
    /// Restarts after which a job is not requeued again. Slurm itself has no such bound for `scontrol requeue`.
    pub max_restarts: u32,
    /// Exit codes by which a job says "do not run me again". 93 is the contract of NVIDIA's resiliency extension.
    pub no_requeue_exit_codes: Vec<i32>,
    /// A verdict less sure than this leaves the job alone, whatever a rule says.
    pub min_confidence: Confidence,
    /// Least time between two requeues of a job, seconds; doubles with each. What is left of it the job waits.
    pub backoff_s: u32,
    /// A restart whose run is shorter than this, seconds, got no further and counts double.
    pub progress_s: u32,
    /// So many runs of a job ended by the same fault on nodes that have none in common: the job does it itself.
    pub same_fault_runs: u32,
    /// So many nodes of one job to blame at once: the job or the network is suspected first.
    pub suspect_nodes: u32,
    /// Requeue a job that still runs on a node which is out by us for a confirmed fault, instead of waiting for its end.
    pub requeue_running: bool,
    /// Kill its steps and its batch script first, so that Slurm's `KillWait` is not waited out.
    pub kill_steps_first: bool,
    /// Append a line about what was done to the job's own output file, with its owner's rights.
    pub last_line: bool,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            max_restarts: 3,
            no_requeue_exit_codes: vec![93],
            min_confidence: Confidence::Probable,
            backoff_s: 60,
            progress_s: 600,
            same_fault_runs: 3,
            suspect_nodes: 4,
            requeue_running: false,
            kill_steps_first: false,
            last_line: false,
        }
    }
}

/// Bounds on what we do to one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeLimits {
    /// A case less sure than this does not reach its node, whatever a rule says.
    pub min_confidence: Confidence,
    /// Words of the node's state that mean it is somebody else's now. A word covers those that begin with it.
    pub leave_alone_states: Vec<String>,
}

impl Default for NodeLimits {
    fn default() -> Self {
        let states = ["MAINT", "RESERVED", "POWER", "REBOOT", "FUTURE"];
        Self { min_confidence: Confidence::Probable, leave_alone_states: states.map(str::to_owned).to_vec() }
    }
}

/// To whom nothing is ever done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Except {
    /// Nodes that are not drained.
    pub nodes: Vec<Hosts>,
    /// Partitions whose nodes are not drained and whose jobs are not touched.
    pub partitions: Vec<Glob>,
    /// Accounts whose jobs are not touched.
    pub accounts: Vec<Glob>,
    /// Users whose jobs are not touched.
    pub users: Vec<Glob>,
}
