//! What the evidence says.
use crate::{Advice, CauseClass, Code, Confidence, Culprit, EventId, NodeName, Provenance, Resource, Stamp};

/// The cause of a run's end, with everything it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// Kind of cause; [`CauseClass::None`] when there is nothing to explain.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// The rule that decided.
    pub rule: &'static str,
    /// Who is to blame; empty: nobody can be named.
    pub culprits: Vec<Culprit>,
    /// Nodes that only suffered.
    pub victims: Vec<NodeName>,
    /// What it rests on, oldest first.
    pub evidence: Vec<Evidence>,
    /// What was seen and does not count, with the reason.
    pub discounted: Vec<Discounted>,
    /// What could not be seen.
    pub blind: Vec<String>,
    /// Faults of the job's nodes that stand on trusted evidence, whether they ended the job or not. What to do about
    /// a node is decided from these and from nothing else.
    pub faults: Vec<Fault>,
    /// At most ten lines a person reads in ten seconds.
    pub story: Vec<String>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Discounted {
    /// What was seen.
    pub evidence: Evidence,
    /// How many of its kind.
    pub count: u64,
    /// Why it does not count.
    pub why: String,
}

/// A fault of a node that stands on trusted evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The node.
    pub node: NodeName,
    /// The part of it.
    pub resource: Resource,
    /// The code that says it best.
    pub code: Code,
    /// Kind of cause.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// What the evidence suggests for the node.
    pub advice: Advice,
    /// When it showed first.
    pub at: Stamp,
    /// It is what ended the run.
    pub ended_run: bool,
    /// Why, one sentence.
    pub why: String,
}
