//! What a rule is asked about, and what is known of it.
use crate::{CauseClass, Code, Confidence, NodeName, Provenance, Resource, Stamp};

/// A case, or the verdict over a job, with the circumstances a rule may ask for. What is not known is empty or `None`;
/// no condition holds for it, and a rule that would have been next is only followed in monitor mode then.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Kind of cause.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// The leading code.
    pub code: &'a Code,
    /// What is bad.
    pub resource: &'a Resource,
    /// Whether a trusted source says so.
    pub evidence: Provenance,
    /// The moment.
    pub at: Option<Stamp>,
    /// The nodes to blame.
    pub nodes: &'a [NodeName],
    /// The partitions of the node, or the one of the job.
    pub partitions: &'a [String],
    /// The job's account.
    pub account: Option<&'a str>,
    /// The job's quality of service.
    pub qos: Option<&'a str>,
    /// The job's owner.
    pub user: Option<&'a str>,
    /// When cases of this fault on this resource were opened, this one among them.
    pub repeats: Option<&'a [Stamp]>,
}

impl<'a> Claim<'a> {
    /// A claim of trusted evidence of whose circumstances nothing is known.
    pub const fn new(
        class: CauseClass,
        confidence: Confidence,
        code: &'a Code,
        resource: &'a Resource,
    ) -> Self {
        Self {
            class,
            confidence,
            code,
            resource,
            evidence: Provenance::Trusted,
            at: None,
            nodes: &[],
            partitions: &[],
            account: None,
            qos: None,
            user: None,
            repeats: None,
        }
    }
}
