//! What to do about this node, for one open case.
use super::{Decided, Draft, gates};
use crate::pipeline::Input;
use crate::policy::Claim;
use crate::{Action, Case, Intent, Subject, reason};

pub(super) fn decide(input: &Input<'_>, case: &Case, decided: &mut Decided) {
    let claim =
        Claim { class: case.class, confidence: case.confidence, code: &case.code, resource: &case.resource };
    let matched = input.policy.rule_for(&claim);
    // A rule may want a drain for a class; a case whose evidence asks for less than that only gets a note.
    let intent = match matched.node {
        Intent::Drain if !case.advice.wants_node_out() => Intent::Note,
        intent => intent,
    };
    if intent == Intent::None {
        return;
    }
    let mode = matched.mode_for(&input.policy.mode, intent);
    let gates = match intent {
        Intent::Drain => vec![
            gates::provenance(case),
            gates::stood_down(case),
            gates::foreign_reason(&input.node_record),
            gates::mode(mode),
        ],
        _ => Vec::new(),
    };
    let draft = Draft {
        subject: Subject::Node(case.node.clone()),
        intent,
        rule: matched.name,
        mode,
        gates,
        case: Some(case),
        verdict: None,
        synthetic: case.synthetic,
        why: format!("{} {} {} on {}: {}", case.confidence, case.class, case.fault, case.resource, case.why),
    };
    if let Some(decision) = decided.push(input, draft)
        && intent == Intent::Drain
    {
        decided.actions.push(Action::Drain {
            node: case.node.clone(),
            reason: reason::for_case(case),
            case: case.id.clone(),
            decision,
        });
    }
}
