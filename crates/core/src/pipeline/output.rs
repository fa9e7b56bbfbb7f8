//! What one pass found out and wants. Side effects happen afterwards, elsewhere, from this alone.
use std::collections::BTreeMap;

use crate::serd::Engine;
use crate::{Action, Case, Decision, Event, Verdict};

/// The output of [`super::step`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Events to keep, oldest first.
    pub events: Vec<Event>,
    /// Events beyond the bound of one pass, counted by code.
    pub repeats: BTreeMap<String, u64>,
    /// Cases opened or changed in this pass, in their new state.
    pub cases: Vec<Case>,
    /// The verdict over the run, at its end.
    pub verdicts: Vec<Verdict>,
    /// Decisions that differ from the last one for the same subject.
    pub decisions: Vec<Decision>,
    /// What the decisions that passed every gate want done, in order.
    pub actions: Vec<Action>,
    /// New results of the state checks.
    pub checks: Vec<crate::checks::CheckState>,
    /// Counts of repeats that changed, in their new state; one with nothing to remember is to be forgotten.
    pub engines: Vec<Engine>,
    /// What must be asked before this pass can be finished. While this is not empty, decisions and
    /// actions are; ask, fill the input, and step again.
    pub needs: Vec<Need>,
}

/// A question for the controller, or for the job's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// This node's record.
    Node,
    /// The run's job record.
    Job,
    /// The node records of the run's other nodes.
    Peers,
    /// What the run printed: read after the job's record, which says where it is.
    Output,
    /// Every node's record: how many are out by us. Only where a drain would be carried out otherwise.
    Fleet,
    /// What this node's ledger remembers; no question for the controller.
    Memory,
}
