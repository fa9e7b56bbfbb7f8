//! Telling the batch host what this node knows, through this node's own record. Only a node with evidence publishes,
//! and only where the site lets us act: monitor mode leaves the scheduler as it is.
use super::{Decided, gates, hold};
use crate::pipeline::{Input, Trigger};
use crate::{Action, Case, Confidence, DecisionId, Intent, JobSpan, Mode, Provenance, peer};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], decided: &mut Decided) {
    if input.trigger == Trigger::Prolog || input.policy.mode.of(Intent::Drain) != Mode::Act {
        return;
    }
    let told = cases
        .iter()
        .filter(|case| {
            case.is_open()
                && case.provenance == Provenance::Trusted
                && case.advice.wants_node_out()
                && gates::stood_down(case).passed
                && gates::check(input, case).is_none()
                && !hold::holds_case(input, case)
        })
        .max_by_key(|case| (case.confidence, case.last_seen));
    if let Some(case) = told.filter(|case| case.confidence >= Confidence::Probable) {
        if let Some((span, body)) = several(input).and_then(|s| Some((s, peer::body(case, Some(s.run.job))?)))
        {
            let decision =
                DecisionId::of(&span.node.to_string(), "publish", case.id.as_str(), case.last_seen);
            decided.actions.push(Action::Publish { node: input.node.clone(), body, decision });
        }
    } else if cases.iter().any(|case| !case.is_open() || stood_down_now(input, case)) {
        // The last case closed in this pass, or a person put the node back: what was told is no longer so.
        let decision = DecisionId::of(&input.node.to_string(), "unpublish", "", input.now);
        decided.actions.push(Action::Publish { node: input.node.clone(), body: String::new(), decision });
    }
}

/// Whether the case is given up in this very pass.
fn stood_down_now(input: &Input<'_>, case: &Case) -> bool {
    case.stood_down && input.cases.iter().any(|before| before.id == case.id && !before.stood_down)
}

/// The run of this epilog, or one that is on the node now, if other nodes take part in it.
fn several<'a>(input: &'a Input<'_>) -> Option<&'a JobSpan> {
    input
        .span
        .iter()
        .chain(input.spans.iter().filter(|span| span.end.is_none()))
        .find(|span| span.nodes.len() > 1)
}
