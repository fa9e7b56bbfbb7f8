//! What the policy is asked: cases and verdicts with the circumstances that are known of them.
use super::bounds;
use crate::pipeline::Input;
use crate::policy::Claim;
use crate::{Case, Code, Confidence, JobSpan, NodeName, Resource, Stamp, Verdict};

/// When cases of this fault were opened, the present one among them; `None` where nobody asked the ledger.
pub(super) fn repeats(input: &Input<'_>, case: &Case) -> Option<Vec<Stamp>> {
    let mut opened = input.memory.get()?.repeats(&case.fault, &case.resource.to_string());
    if !opened.contains(&case.opened_at) {
        opened.push(case.opened_at);
    }
    Some(opened)
}

/// How sure the case is, for the policy. A node that we brought back lately is on probation: what is probable then
/// counts as confirmed.
pub(super) fn confidence(input: &Input<'_>, case: &Case) -> Confidence {
    let since = input.now.plus_secs(-i64::from(input.policy.repair.probation_days) * 86_400);
    let came_back = input.returns.iter().any(|at| *at >= since && *at <= case.opened_at);
    match case.confidence {
        Confidence::Probable if came_back => Confidence::Confirmed,
        confidence => confidence,
    }
}

/// The claim a case makes about its node.
pub(super) fn of_case<'a>(input: &'a Input<'_>, case: &'a Case, repeats: Option<&'a [Stamp]>) -> Claim<'a> {
    let of_run = |span: &&JobSpan| case.run.as_ref() == Some(&span.run);
    let span = input.span.iter().chain(&input.spans).find(of_run);
    Claim {
        evidence: case.provenance,
        at: Some(input.now),
        nodes: std::slice::from_ref(&case.node),
        partitions: input.node_record.get().map_or(&[], |record| &record.partitions),
        user: span.map(|span| span.user.as_str()).filter(|user| !user.is_empty()),
        repeats,
        ..Claim::new(case.class, confidence(input, case), &case.code, &case.resource)
    }
}

/// The claim a verdict makes about its run.
pub(super) fn of_verdict<'a>(
    input: &'a Input<'_>,
    span: &'a JobSpan,
    verdict: &'a Verdict,
    (code, resource): (&'a Code, &'a Resource),
    (nodes, repeats): (&'a [NodeName], Option<&'a [Stamp]>),
) -> Claim<'a> {
    Claim {
        at: Some(input.now),
        nodes,
        partitions: if span.partition.is_empty() { &[] } else { std::slice::from_ref(&span.partition) },
        account: bounds::account(&input.job),
        qos: bounds::qos(&input.job),
        user: Some(span.user.as_str()).filter(|user| !user.is_empty()),
        repeats,
        ..Claim::new(verdict.class, verdict.confidence, code, resource)
    }
}
