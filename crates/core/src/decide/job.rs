//! What to do about the run that just ended, on its batch host.
use super::{Decided, Draft, gates};
use crate::pipeline::Input;
use crate::policy::Claim;
use crate::{Action, Case, Code, Intent, NodeName, Resource, Subject, Verdict};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], verdict: &Verdict, decided: &mut Decided) {
    let Some(span) = &input.span else { return };
    let (code, resource) = lead(input, cases, verdict);
    let claim =
        Claim { class: verdict.class, confidence: verdict.confidence, code: &code, resource: &resource };
    let matched = input.policy.rule_for(&claim);
    let intent = matched.job;
    if intent == Intent::None {
        return;
    }
    let mode = matched.mode_for(&input.policy.mode, intent);
    let limits = &input.policy.job;
    let gates = match intent {
        Intent::Requeue | Intent::RequeueHold => {
            let mut gates = vec![
                gates::culprit_named(verdict),
                gates::job_ask(span),
                gates::requeue_allowed(&input.job),
                gates::job_state(&input.job),
                gates::exit_code(span, &limits.no_requeue_exit_codes),
                gates::restart_budget(span, limits.max_restarts),
            ];
            gates.extend(gates::drill(verdict, cases));
            gates.push(gates::mode(mode));
            gates
        }
        _ => Vec::new(),
    };
    let draft = Draft {
        subject: Subject::Run(span.run.clone()),
        intent,
        rule: matched.name,
        mode,
        gates,
        case: None,
        verdict: Some(verdict),
        synthetic: verdict.synthetic,
        why: format!("{} {} cause", verdict.confidence, verdict.class),
    };
    if let Some(decision) = decided.push(input, draft)
        && matches!(intent, Intent::Requeue | Intent::RequeueHold)
    {
        let mut exclude: Vec<NodeName> =
            verdict.culprits.iter().map(|culprit| culprit.node.clone()).collect();
        exclude.dedup();
        let run = input.job.get().map_or_else(
            || span.run.clone(),
            |job| {
                let mut run = span.run.clone();
                run.array = run.array.or(job.array);
                run.het = run.het.or(job.het);
                run
            },
        );
        let hold = intent == Intent::RequeueHold;
        decided.actions.push(Action::Requeue { run: run.clone(), exclude, hold, decision: decision.clone() });
        if !hold {
            decided.actions.push(Action::ClearBeginTime { run, decision });
        }
    }
}

/// The code and resource that speak for the verdict: of its first case here, else of the first peer's.
fn lead(input: &Input<'_>, cases: &[Case], verdict: &Verdict) -> (Code, Resource) {
    let own = cases.iter().find(|case| verdict.cases.contains(&case.id));
    let peer =
        input.peers.get().and_then(|peers| peers.iter().find(|peer| verdict.cases.contains(&peer.case)));
    match (own, peer) {
        (Some(case), _) => (case.code.clone(), case.resource.clone()),
        (None, Some(peer)) => (peer.code.clone(), peer.resource.clone()),
        (None, None) => (Code::from("unknown"), Resource::Job),
    }
}
