//! What caused it.
use serde::{Deserialize, Serialize};

use super::{
    CaseId, CauseClass, Code, Confidence, EventId, NodeName, Provenance, Resource, RunId, Stamp, VerdictId,
};

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
    /// What attribution tells of it besides.
    #[serde(default)]
    pub grounds: Grounds,
}

/// How a verdict was reached: empty for verdicts of before version 5 of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grounds {
    /// The rule that decided; `docs/attribution.md` lists them.
    pub rule: String,
    /// The code that leads it: what policy rules and later runs know it by.
    pub code: Code,
    /// What that code is about; `None`: the job.
    pub resource: Option<Resource>,
    /// It stands on something that no job can write.
    pub trusted: bool,
    /// What it rests on, oldest first. Lines of the job's output are nowhere else in the ledger.
    pub told: Vec<Evidence>,
    /// What was seen and does not count, with the reason.
    pub discounted: Vec<Discounted>,
    /// What could not be seen.
    pub blind: Vec<String>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// When, where it is known; of a symptom with a duration: when it began.
    pub time: Option<Stamp>,
    /// On which node, where it is known.
    pub node: Option<NodeName>,
    /// The catalogue's name for it.
    pub code: Code,
    /// The line, or what was found, in words.
    pub text: String,
    /// How far it can be believed.
    pub provenance: Provenance,
    /// The event it is, where it is one.
    pub event: Option<EventId>,
}

/// Something seen that does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Discounted {
    /// What was seen.
    pub evidence: Evidence,
    /// How many of its kind.
    pub count: u64,
    /// Why it does not count.
    pub why: String,
}
