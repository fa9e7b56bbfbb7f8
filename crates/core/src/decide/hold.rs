//! The gate of people: what somebody has put on hold is left alone until it is released or the hold ends.
use crate::pipeline::Input;
use crate::{Case, CaseId, Gate, Hold, HoldOn, Intent, NodeName, RunId, Subject, Verdict};

/// The gate's name.
const NAME: &str = "operator_hold";

/// What a decision touches.
pub(super) struct Touched<'a> {
    pub(super) subject: &'a Subject,
    pub(super) case: Option<&'a Case>,
    pub(super) verdict: Option<&'a Verdict>,
}

/// The gate for `intent`; `None` where nothing would be carried out anyway.
pub(super) fn gate(input: &Input<'_>, intent: Intent, touched: &Touched<'_>) -> Option<Gate> {
    if matches!(intent, Intent::None | Intent::Note) {
        return None;
    }
    let held = standing(input).find(|hold| touches(hold, input, touched));
    Some(Gate {
        name: NAME.to_owned(),
        passed: held.is_none(),
        why: held.map_or_else(|| "nobody holds it".to_owned(), Hold::sentence),
    })
}

/// Whether the node itself or this case is on hold.
pub(super) fn holds_case(input: &Input<'_>, case: &Case) -> bool {
    standing(input).any(|hold| match &hold.on {
        HoldOn::Node(node) => *node == input.node,
        HoldOn::Case(id) => *id == case.id,
        HoldOn::Job(_) => false,
    })
}

fn standing<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a Hold> {
    input.holds.iter().filter(|hold| hold.stands(input.now))
}

fn touches(hold: &Hold, input: &Input<'_>, touched: &Touched<'_>) -> bool {
    match &hold.on {
        HoldOn::Node(node) => is_for_node(node, input, touched.subject),
        HoldOn::Case(id) => rests_on(id, touched),
        HoldOn::Job(job) => run_of(touched.subject).is_some_and(|run| job.covers(run)),
    }
}

/// A node on hold neither has anything done to it nor does anything about its jobs.
fn is_for_node(node: &NodeName, input: &Input<'_>, subject: &Subject) -> bool {
    match subject {
        Subject::Node(of) => of == node,
        Subject::Run(_) => *node == input.node,
    }
}

fn rests_on(id: &CaseId, touched: &Touched<'_>) -> bool {
    touched.case.is_some_and(|case| case.id == *id)
        || touched.verdict.is_some_and(|verdict| verdict.cases.contains(id))
}

const fn run_of(subject: &Subject) -> Option<&RunId> {
    match subject {
        Subject::Run(run) => Some(run),
        Subject::Node(_) => None,
    }
}
