//! What a rule asks for beyond a drain: the node set down, so that nothing goes on running on it.
use super::{Decided, Draft, bounds, gates, node};
use crate::pipeline::{Asked, Input, Trigger};
use crate::policy::Matched;
use crate::still::Looks;
use crate::{Action, Case, Intent, Mode, Subject, fleet};

/// Decides about setting the node down for `case`, whose rule asks for that. The node is drained for it first, so that a
/// controller with `ReturnToService=2` does not bring it back, and a brake can still be heard before jobs are ended.
///
/// Not from a prolog: nobody has counted the other nodes then, and jobs that were ended do not come back by themselves.
pub(super) fn decide(
    input: &Input<'_>,
    case: &Case,
    matched: &Matched<'_>,
    looks: &Looks,
    decided: &mut Decided,
) {
    let is_down = |record: &crate::NodeRecord| record.state.iter().any(|word| word == "DOWN");
    if input.trigger == Trigger::Prolog || input.node_record.get().is_some_and(is_down) {
        return;
    }
    // Both words have to say so: a node is set down by way of its drain.
    let modes = [Intent::Drain, Intent::Down].map(|intent| matched.mode_for(&input.policy.mode, intent));
    let mode = if modes.contains(&Mode::Monitor) { Mode::Monitor } else { Mode::Act };
    let mut gates = node::drain(input, case, matched, mode, gates::seen(looks, case));
    gates.push(known(input));
    let draft = Draft {
        subject: Subject::Node(case.node.clone()),
        intent: Intent::Down,
        rule: matched.name,
        mode,
        gates,
        case: Some(case),
        verdict: None,
        synthetic: case.synthetic,
        why: format!(
            "rule {} wants nothing to run on beside {} on {}",
            matched.name, case.fault, case.resource
        ),
    };
    if let Some(decision) = decided.push(input, draft) {
        let unknown = fleet::Fleet::default();
        let limits = bounds::limits(input, case, input.fleet.get().unwrap_or(&unknown));
        decided.actions.push(Action::Down {
            node: case.node.clone(),
            case: case.id.clone(),
            limits,
            decision,
        });
    }
}

/// A drain may be wanted while the controller is away, since it is looked at again; ended jobs are gone.
fn known(input: &Input<'_>) -> crate::Gate {
    const NAME: &str = "node_record";
    match &input.node_record {
        Asked::Answer(_) => gates::gate(NAME, true, "the node's record was read"),
        Asked::NotAsked => gates::gate(NAME, true, "not read in this pass; read again right before acting"),
        Asked::NoAnswer(why) => {
            gates::gate(NAME, false, format!("not known ({why}): no job is ended on a guess"))
        }
    }
}
