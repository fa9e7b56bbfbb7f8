//! What caused it.
use serde::{Deserialize, Serialize};

use super::{CaseId, CauseClass, Confidence, EventId, NodeName, Resource, RunId, Stamp, VerdictId};

/// Who is to blame.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Culprit {
    /// The node.
    pub node: NodeName,
    /// The part of it, where known.
    pub resource: Option<Resource>,
}

/// The cause of a run's end, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Identity.
    pub id: VerdictId,
    /// Which run.
    pub run: RunId,
    /// When it was reached.
    pub at: Stamp,
    /// Kind of cause.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// Who is to blame; empty: nobody can be named.
    pub culprits: Vec<Culprit>,
    /// Nodes that only suffered.
    pub victims: Vec<NodeName>,
    /// Cases it rests on.
    pub cases: Vec<CaseId>,
    /// Events it rests on.
    pub evidence: Vec<EventId>,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// At most ten lines a person reads in ten seconds.
    pub story: Vec<String>,
}
