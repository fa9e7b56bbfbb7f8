//! Whether the job may start here. Only a confirmed case for which policy would drain, and only in act mode.
use super::{Decided, Draft, bounds, claims, gates};
use crate::pipeline::Input;
use crate::policy::Matched;
use crate::still::Looks;
use crate::{Action, Case, Gate, Intent, Mode, Subject};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], looks: &Looks, decided: &mut Decided) {
    let Some(span) = &input.span else { return };
    for case in cases.iter().filter(|case| case.is_open() && case.advice.wants_node_out()) {
        let repeats = claims::repeats(input, case);
        let matched = input.policy.rule_for(&claims::of_case(input, case, repeats.as_deref()));
        if !matched.node.takes_node_out() {
            continue;
        }
        let mode = matched.mode_for(&input.policy.mode, Intent::RefuseJob);
        let draft = Draft {
            subject: Subject::Run(span.run.clone()),
            intent: Intent::RefuseJob,
            rule: matched.name,
            mode,
            gates: gates(input, case, &matched, (mode, looks)),
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

/// Slurm drains the node of a prolog that refuses, so what holds a drain holds a refusal as well.
fn gates(input: &Input<'_>, case: &Case, matched: &Matched<'_>, (mode, looks): (Mode, &Looks)) -> Vec<Gate> {
    let mut gates = vec![
        gates::provenance(case),
        gates::stood_down(case),
        bounds::confidence(case.confidence, input.policy.node.min_confidence),
        bounds::excepted_node(input, &input.policy.except),
    ];
    gates.extend(gates::check(input, case));
    gates.extend(gates::seen(looks, case));
    gates.extend(bounds::doubt(matched));
    gates.extend([bounds::held_by_brake(input, case), gates::mode(mode)]);
    gates
}
