//! What policy wanted, and every gate.
use serde::Serialize;
use triage_core::{CaseId, Decision, DecisionId, Gate, NodeName, Stamp, Subject, VerdictId};

/// What policy wanted, and every gate.
#[derive(Debug, Serialize)]
pub(crate) struct DecisionView<'a> {
    /// Identity.
    pub(crate) id: &'a DecisionId,
    /// When.
    pub(crate) at: Stamp,
    /// The node it is about, where it is about one.
    pub(crate) node: Option<&'a NodeName>,
    /// The job it is about, as scontrol is told.
    pub(crate) job: Option<String>,
    /// Restart count of that run.
    pub(crate) restart: Option<u32>,
    /// `none`, `note`, `refuse_job`, `drain`, `resume`, `requeue`, `requeue_hold`, `stop`.
    pub(crate) intent: &'static str,
    /// The policy rule that said so.
    pub(crate) rule: &'a str,
    /// `monitor` or `act`.
    pub(crate) mode: &'static str,
    /// Every gate let it through.
    pub(crate) allowed: bool,
    /// The first gate that did not.
    pub(crate) held_by: Option<&'a str>,
    /// Every gate that was asked, in order.
    pub(crate) gates: &'a [Gate],
    /// The case it rests on.
    pub(crate) case: Option<&'a CaseId>,
    /// The verdict it rests on.
    pub(crate) verdict: Option<&'a VerdictId>,
    /// Rests on a drill or a test.
    pub(crate) synthetic: bool,
    /// Why, one sentence.
    pub(crate) why: &'a str,
}

impl<'a> From<&'a Decision> for DecisionView<'a> {
    fn from(decision: &'a Decision) -> Self {
        let (node, run) = match &decision.subject {
            Subject::Node(node) => (Some(node), None),
            Subject::Run(run) => (None, Some(run)),
        };
        Self {
            id: &decision.id,
            at: decision.at,
            node,
            job: run.map(triage_core::RunId::scontrol_name),
            restart: run.map(|run| run.restart),
            intent: decision.intent.word(),
            rule: &decision.rule,
            mode: decision.mode.word(),
            allowed: decision.allowed(),
            held_by: decision.held_by().map(|gate| gate.name.as_str()),
            gates: &decision.gates,
            case: decision.case.as_ref(),
            verdict: decision.verdict.as_ref(),
            synthetic: decision.synthetic,
            why: &decision.why,
        }
    }
}
