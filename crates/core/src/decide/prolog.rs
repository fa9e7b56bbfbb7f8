//! Whether the job may start here. Only a confirmed case for which policy would drain, and only in act mode.
use super::{Decided, Draft, gates};
use crate::pipeline::Input;
use crate::policy::Claim;
use crate::{Action, Case, Intent, Subject};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], decided: &mut Decided) {
    let Some(span) = &input.span else { return };
    for case in cases.iter().filter(|case| case.is_open() && case.advice.wants_node_out()) {
        let claim = Claim {
            class: case.class,
            confidence: case.confidence,
            code: &case.code,
            resource: &case.resource,
        };
        let matched = input.policy.rule_for(&claim);
        if matched.node != Intent::Drain {
            continue;
        }
        let mode = matched.mode_for(&input.policy.mode, Intent::RefuseJob);
        let draft = Draft {
            subject: Subject::Run(span.run.clone()),
            intent: Intent::RefuseJob,
            rule: matched.name,
            mode,
            gates: vec![gates::provenance(case), gates::stood_down(case), gates::mode(mode)],
            case: Some(case),
            verdict: None,
            synthetic: case.synthetic,
            why: format!("{} has an open case {}: {} on {}", case.node, case.id, case.code, case.resource),
        };
        if let Some(decision) = decided.push(input, draft) {
            decided.actions.push(Action::RefuseJob {
                run: span.run.clone(),
                case: case.id.clone(),
                decision,
            });
            return;
        }
    }
}
