//! What the policy would do in act mode: about every node with a fault, and about the job.
use std::collections::BTreeSet;

use triage_core::attribute::{Attribution, Fault};
use triage_core::policy::{Claim, Policy};
use triage_core::{CauseClass, Code, ExitStatus, Intent, NodeName, Resource};

use crate::Bundle;

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Nodes that would be drained, in the job's order.
    pub drain: Vec<NodeName>,
    /// What would be done with the job: `requeue`, `requeue_hold`, `stop` or `none`.
    pub job: Intent,
}

pub(crate) fn decide(attribution: &Attribution, bundle: &Bundle, policy: &Policy) -> Decision {
    let out: BTreeSet<&NodeName> = attribution
        .faults
        .iter()
        .filter(|fault| is_drained(fault, policy))
        .map(|fault| &fault.node)
        .collect();
    let nodes = bundle.evidence.nodes.iter().map(|node| &node.node);
    Decision {
        drain: nodes.filter(|node| out.contains(node)).cloned().collect(),
        job: about_job(attribution, bundle, policy),
    }
}

fn is_drained(fault: &Fault, policy: &Policy) -> bool {
    let claim = Claim::new(fault.class, fault.confidence, &fault.code, &fault.resource);
    policy.rule_for(&claim).node == Intent::Drain && fault.advice.wants_node_out()
}

fn about_job(attribution: &Attribution, bundle: &Bundle, policy: &Policy) -> Intent {
    if attribution.class == CauseClass::None {
        return Intent::None;
    }
    let lead = attribution.faults.iter().find(|fault| fault.ended_run);
    let code = lead
        .map(|fault| fault.code.clone())
        .or_else(|| attribution.evidence.first().map(|evidence| evidence.code.clone()))
        .unwrap_or_else(|| Code::from("unknown"));
    let resource = lead.map_or(Resource::Job, |fault| fault.resource.clone());
    let claim = Claim::new(attribution.class, attribution.confidence, &code, &resource);
    match policy.rule_for(&claim).job {
        wanted @ (Intent::Requeue | Intent::RequeueHold) if may_run_again(bundle, policy) => wanted,
        Intent::Stop => Intent::Stop,
        _ => Intent::None,
    }
}

/// The same gates the epilog asks: Slurm's leave, how the job ended, its own word, and how often it was tried.
fn may_run_again(bundle: &Bundle, policy: &Policy) -> bool {
    let run = &bundle.evidence.run;
    let state = run.state.split_whitespace().next().unwrap_or_default();
    let ended_on_purpose =
        matches!(state, "CANCELLED" | "COMPLETED" | "TIMEOUT" | "DEADLINE" | "PREEMPTED" | "RUNNING");
    let asks_not_to =
        matches!(run.exit, Some(ExitStatus::Exit(code)) if policy.job.no_requeue_exit_codes.contains(&code));
    bundle.rules.requeue != Some(false)
        && !ended_on_purpose
        && !asks_not_to
        && run.restart < policy.job.max_restarts
}
