//! An intent and what became of it.
use serde::Serialize;
use triage_core::{Action, CaseId, DecisionId, NodeName, RunId, Stamp};
use triage_ledger::IntentRow;

/// An intent and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct ActionView<'a> {
    /// `drain`, `resume`, `requeue`, `clear_begin_time`, `publish`, `refuse_job`.
    pub(crate) kind: &'static str,
    /// `pending`, `running`, `done`, `failed`, `expired`.
    pub(crate) state: &'static str,
    /// The node it is for, where it is for one.
    pub(crate) node: Option<&'a NodeName>,
    /// The job it is for, as scontrol is told: `4711`, `4700_3`.
    pub(crate) job: Option<String>,
    /// Restart count of that run.
    pub(crate) restart: Option<u32>,
    /// The case it is for.
    pub(crate) case: Option<&'a CaseId>,
    /// The decision behind it.
    pub(crate) decision: &'a DecisionId,
    /// The drain reason.
    pub(crate) reason: Option<&'a str>,
    /// Nodes the job is to be kept off.
    pub(crate) exclude: &'a [NodeName],
    /// When it was wanted.
    pub(crate) created: Stamp,
    /// After this moment it is not begun any more.
    pub(crate) expires: Stamp,
    /// How often it was tried.
    pub(crate) attempts: u32,
    /// When it was last begun.
    pub(crate) claimed_at: Option<Stamp>,
    /// When it reached its state.
    pub(crate) settled_at: Option<Stamp>,
    /// What Slurm answered, or why nothing was asked.
    pub(crate) answer: &'a str,
    /// Rests on a drill or a test.
    pub(crate) synthetic: bool,
}

impl<'a> From<&'a IntentRow> for ActionView<'a> {
    fn from(row: &'a IntentRow) -> Self {
        let About { node, run, case, reason, exclude } = about(&row.action);
        Self {
            kind: row.action.kind(),
            state: row.state.word(),
            node,
            job: run.map(RunId::scontrol_name),
            restart: run.map(|run| run.restart),
            case,
            decision: row.action.decision(),
            reason,
            exclude,
            created: row.created,
            expires: row.expires,
            attempts: row.attempts,
            claimed_at: row.claimed_at,
            settled_at: row.settled_at,
            answer: &row.answer,
            synthetic: row.synthetic,
        }
    }
}

#[derive(Default)]
struct About<'a> {
    node: Option<&'a NodeName>,
    run: Option<&'a RunId>,
    case: Option<&'a CaseId>,
    reason: Option<&'a str>,
    exclude: &'a [NodeName],
}

fn about(action: &Action) -> About<'_> {
    match action {
        Action::Drain { node, reason, case, .. } => {
            About { node: Some(node), case: Some(case), reason: Some(reason), ..About::default() }
        }
        Action::ConfirmDrain { node, case, .. }
        | Action::Reset { node, case, .. }
        | Action::Reboot { node, case, .. }
        | Action::Verify { node, case, .. }
        | Action::Down { node, case, .. }
        | Action::Resume { node, case, .. } => {
            About { node: Some(node), case: Some(case), ..About::default() }
        }
        Action::Requeue { run, exclude, .. } => About { run: Some(run), exclude, ..About::default() },
        Action::ClearBeginTime { run, .. } | Action::KillSteps { run, .. } => {
            About { run: Some(run), ..About::default() }
        }
        Action::Explain { run, text, .. } | Action::LastLine { run, text, .. } => {
            About { run: Some(run), reason: Some(text), ..About::default() }
        }
        Action::Publish { node, .. } => About { node: Some(node), ..About::default() },
        Action::RefuseJob { run, case, .. } => About { run: Some(run), case: Some(case), ..About::default() },
    }
}

impl ActionView<'_> {
    /// Whom it is about, for people: `node n1`, `job 4711 restart 1`.
    pub(crate) fn subject(&self) -> String {
        match (self.node, &self.job, self.restart) {
            (Some(node), ..) => format!("node {node}"),
            (None, Some(job), Some(restart @ 1..)) => format!("job {job} restart {restart}"),
            (None, Some(job), _) => format!("job {job}"),
            (None, None, _) => String::new(),
        }
    }
}
