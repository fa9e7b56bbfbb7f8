//! From cases and verdicts to decisions, and from decisions to actions. Every gate that was asked is recorded, also
//! when it let the action through; a decision that was held is a decision too.
mod again;
mod bounds;
mod claims;
mod down;
mod gates;
mod hold;
mod job;
mod node;
mod prolog;
mod publish;
pub(crate) mod repair;
pub(crate) mod running;

use crate::pipeline::{Input, Trigger};
use crate::still::Looks;
use crate::{Action, Case, Decision, DecisionId, Gate, Intent, Mode, Subject, Verdict};

/// What this stage found.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) actions: Vec<Action>,
}

/// Decides about this node and, at a run's end, about the run.
pub(crate) fn decide(input: &Input<'_>, cases: &[Case], verdict: Option<&Verdict>, looks: &Looks) -> Decided {
    let mut decided = Decided::default();
    for case in cases.iter().filter(|case| case.is_open()) {
        node::decide(input, case, looks, &mut decided);
    }
    repair::decide(input, cases, looks, &mut decided);
    publish::decide(input, cases, &mut decided);
    if input.trigger == Trigger::Prolog {
        prolog::decide(input, cases, looks, &mut decided);
    }
    if let Some(verdict) = verdict {
        job::decide(input, cases, verdict, &mut decided);
    }
    running::decide(input, cases, &mut decided);
    decided
}

/// A decision about to be made.
struct Draft<'a> {
    subject: Subject,
    intent: Intent,
    rule: &'a str,
    mode: Mode,
    gates: Vec<Gate>,
    case: Option<&'a Case>,
    verdict: Option<&'a Verdict>,
    synthetic: bool,
    why: String,
}

impl Decided {
    /// Keeps the decision unless the last one for the same subject said the same; returns its id when every gate
    /// let it through. The action of a repeated decision is wanted again: its intent in the ledger knows whether it
    /// was done.
    fn push(&mut self, input: &Input<'_>, draft: Draft<'_>) -> Option<DecisionId> {
        let case = draft.case.map(|case| case.id.clone());
        let touched = hold::Touched { subject: &draft.subject, case: draft.case, verdict: draft.verdict };
        let held = hold::gate(input, draft.intent, &touched);
        let decision = Decision {
            id: DecisionId::of(
                &draft.subject.to_string(),
                draft.intent.word(),
                case.as_ref().map_or("", |id| id.as_str()),
                input.now,
            ),
            at: input.now,
            subject: draft.subject,
            intent: draft.intent,
            rule: draft.rule.to_owned(),
            mode: draft.mode,
            gates: held.into_iter().chain(draft.gates).collect(),
            case,
            verdict: draft.verdict.map(|verdict| verdict.id.clone()),
            synthetic: draft.synthetic,
            why: draft.why,
        };
        let renewed =
            |last: &Decision| draft.case.is_some_and(|case| bounds::is_another_look(input, case, last));
        let same = input.decided.iter().find(|last| says_the_same(last, &decision) && !renewed(last));
        let allowed = decision.allowed().then(|| same.map_or(&decision.id, |last| &last.id).clone());
        if same.is_none() {
            self.decisions.push(decision);
        }
        allowed
    }
}

/// Whether `new` would tell a reader nothing that `last` has not told.
fn says_the_same(last: &Decision, new: &Decision) -> bool {
    let held = |d: &Decision| d.held_by().map(|gate| gate.name.clone());
    last.subject == new.subject
        && last.case == new.case
        && last.intent == new.intent
        && last.rule == new.rule
        && last.mode == new.mode
        && held(last) == held(new)
}
