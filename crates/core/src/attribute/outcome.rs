//! What the evidence says.
use crate::{Advice, CauseClass, Code, Confidence, Culprit, NodeName, Resource, Stamp};
pub use crate::{Discounted, Evidence};

/// The cause of a run's end, with everything it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// Kind of cause; [`CauseClass::None`] when there is nothing to explain.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// The rule that decided.
    pub rule: &'static str,
    /// Whether the claim stands on something that no job can write.
    pub trusted: bool,
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

impl Attribution {
    /// The code that says best what happened, and what it is about: of the fault that ended the run, else of the first
    /// piece of evidence. Policy rules are asked by it, and later runs remember it.
    pub fn lead(&self) -> (Code, Resource) {
        match self.faults.iter().find(|fault| fault.ended_run) {
            Some(fault) => (fault.code.clone(), fault.resource.clone()),
            None => {
                let first = self.evidence.first().map(|evidence| evidence.code.clone());
                (first.unwrap_or_else(|| Code::from("unknown")), Resource::Job)
            }
        }
    }
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
