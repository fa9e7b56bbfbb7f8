//! What the policy would do in act mode: about every node with a fault, and about the job.
use triage_core::attribute::Attribution;
use triage_core::catalog::Catalog;
use triage_core::outlook::{Ended, outlook};
use triage_core::policy::Policy;
use triage_core::{Intent, NodeName};

use crate::Bundle;

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Nodes that would be drained, in the job's order.
    pub drain: Vec<NodeName>,
    /// What would be done with the job: `requeue`, `requeue_hold`, `stop` or `none`.
    pub job: Intent,
}

pub(crate) fn decide(
    attribution: &Attribution,
    bundle: &Bundle,
    catalog: &Catalog,
    policy: &Policy,
) -> Decision {
    let nodes: Vec<NodeName> = bundle.evidence.nodes.iter().map(|node| node.node.clone()).collect();
    let ended = Ended { run: &bundle.evidence.run, nodes: &nodes, requeue: bundle.rules.requeue };
    let wanted = outlook(attribution, ended, catalog, policy);
    Decision { drain: wanted.drain, job: wanted.job.unwrap_or(Intent::None) }
}
