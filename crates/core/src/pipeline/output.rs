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

impl Output {
    /// Whether the pass found nothing worth a word: no event, no case, no decision, no question, and every check that
    /// looked is content. Such an output rests on the observations and the checks' last results alone, whatever else
    /// the input held.
    pub fn is_uneventful(&self) -> bool {
        let Self { events, repeats, cases, verdicts, decisions, actions, checks, engines, needs } = self;
        events.is_empty()
            && repeats.is_empty()
            && cases.is_empty()
            && verdicts.is_empty()
            && decisions.is_empty()
            && actions.is_empty()
            && engines.is_empty()
            && needs.is_empty()
            && checks.iter().all(crate::checks::CheckState::is_clean)
    }
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
    /// How far the run got, by the end of what it printed: where that is not read for the run's cause.
    Progress,
    /// The jobs that run on this node now, where one of them may be ended for a fault under it.
    Running,
    /// Every node's record: how many are out by us. Only where a drain would be carried out otherwise.
    Fleet,
    /// What this node's ledger remembers; no question for the controller.
    Memory,
}
