//! What to do about this node, for one open case.
use super::{Decided, Draft, bounds, claims, down, gates};
use crate::pipeline::Input;
use crate::policy::Matched;
use crate::still::Looks;
use crate::{Action, Case, CaseState, Gate, Intent, Mode, Subject, fleet, reason};

pub(super) fn decide(input: &Input<'_>, case: &Case, looks: &Looks, decided: &mut Decided) {
    let repeats = claims::repeats(input, case);
    let matched = input.policy.rule_for(&claims::of_case(input, case, repeats.as_deref()));
    // A rule may want a drain for a class; a case whose evidence asks for less than that only gets a note.
    let wanted = match matched.node {
        intent if intent.takes_node_out() && !case.advice.wants_node_out() => Intent::Note,
        intent => intent,
    };
    // Each is a drain first; what follows it has a decision of its own.
    let intent = if wanted.takes_node_out() { Intent::Drain } else { wanted };
    if intent == Intent::None {
        return;
    }
    let mode = matched.mode_for(&input.policy.mode, intent);
    // What was drained for already stays drained until its case is closed, whatever the check finds meanwhile.
    let seen = gates::seen(looks, case).filter(|_| case.state != CaseState::Acted);
    let gates = if intent == Intent::Drain { drain(input, case, &matched, mode, seen) } else { Vec::new() };
    let draft = Draft {
        subject: Subject::Node(case.node.clone()),
        intent,
        rule: matched.name,
        mode,
        gates,
        case: Some(case),
        verdict: None,
        synthetic: case.synthetic,
        why: format!(
            "{} {} {} on {}: {}{}",
            case.confidence,
            case.class,
            case.fault,
            case.resource,
            case.why,
            and_then(wanted)
        ),
    };
    if let Some(decision) = decided.push(input, draft)
        && intent == Intent::Drain
    {
        let is_out = input.node_record.get().is_some_and(fleet::is_out_by_us);
        let limits = (!is_out).then(|| {
            let unknown = fleet::Fleet::default();
            bounds::limits(input, case, input.fleet.get().unwrap_or(&unknown))
        });
        decided.actions.push(Action::Drain {
            node: case.node.clone(),
            reason: reason::for_case(case),
            case: case.id.clone(),
            decision: decision.clone(),
        });
        // Many nodes may have decided in the same moment, each without the others: whoever is one too many goes back.
        decided.actions.extend(limits.map(|limits| Action::ConfirmDrain {
            node: case.node.clone(),
            case: case.id.clone(),
            limits,
            decision,
        }));
    }
    if wanted == Intent::Down {
        down::decide(input, case, &matched, looks, decided);
    }
}

/// What the rule wants after the drain, in words.
const fn and_then(wanted: Intent) -> &'static str {
    match wanted {
        Intent::RebootWhenIdle => "; to be booted again once idle",
        Intent::Down => "; to be set down",
        _ => "",
    }
}

pub(super) fn drain(
    input: &Input<'_>,
    case: &Case,
    matched: &Matched<'_>,
    mode: Mode,
    seen: Option<Gate>,
) -> Vec<Gate> {
    let limits = &input.policy.node;
    let mut gates = vec![
        gates::provenance(case),
        gates::stood_down(case),
        gates::foreign_reason(&input.node_record),
        bounds::confidence(claims::confidence(input, case), limits.min_confidence),
        bounds::reservation(&input.node_record, &limits.leave_alone_states),
        bounds::excepted_node(input, &input.policy.except),
    ];
    gates.extend(gates::check(input, case));
    gates.extend(seen);
    gates.extend(bounds::probation(input, case));
    gates.extend(bounds::doubt(matched));
    gates.push(gates::mode(mode));
    if gates.iter().all(|gate| gate.passed) {
        gates.push(bounds::brake(input, case));
    } else {
        gates.extend(bounds::held_as_well(input, case));
    }
    gates
}
