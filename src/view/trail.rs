//! A row of the trail: who, what, when, why, on what evidence, past which gates, with which outcome.
use serde::Serialize;
use triage_core::{CaseId, Gate, Mode, Stamp};
use triage_ledger::AuditRow;

/// A row of the trail.
#[derive(Debug, Serialize)]
pub(crate) struct TrailView<'a> {
    /// Its number; grows with time.
    pub(crate) id: i64,
    /// When.
    pub(crate) at: Stamp,
    /// The person; null: the suite itself.
    pub(crate) person: Option<&'a str>,
    /// The rule of the policy; null where none spoke.
    pub(crate) rule: Option<&'a str>,
    /// The program that wrote it.
    pub(crate) program: &'a str,
    /// What: `case.opened`, `decision.drain`, `action.drain`, `hold.placed` ...
    pub(crate) what: &'a str,
    /// What it is about, as the row names it.
    pub(crate) subject: &'a str,
    /// The node; null where it is about none.
    pub(crate) node: Option<&'a str>,
    /// The case.
    pub(crate) case: Option<&'a CaseId>,
    /// The job, as scontrol is told.
    pub(crate) job: Option<&'a str>,
    /// Why, one sentence.
    pub(crate) why: &'a str,
    /// Ids of events.
    pub(crate) evidence: &'a [String],
    /// Every gate that was asked, in order.
    pub(crate) gates: &'a [Gate],
    /// `monitor` or `act`, of a decision.
    pub(crate) mode: Option<Mode>,
    /// The decision it is, or follows from.
    pub(crate) decision: Option<&'a str>,
    /// What came of it.
    pub(crate) outcome: Option<&'a str>,
    /// What stood before.
    pub(crate) before: Option<&'a str>,
    /// What stands now.
    pub(crate) after: Option<&'a str>,
    /// Until when it holds.
    pub(crate) until: Option<Stamp>,
    /// The uid the person's process ran as.
    pub(crate) uid: Option<u32>,
    /// The uid the person logged in with.
    pub(crate) login_uid: Option<u32>,
    /// What `SUDO_USER` said: a hint.
    pub(crate) sudo_user: Option<&'a str>,
    /// `info`, `warning`, `error`.
    pub(crate) level: &'static str,
    /// Rests on a drill or a test.
    pub(crate) synthetic: bool,
}

impl<'a> From<&'a AuditRow> for TrailView<'a> {
    fn from(row: &'a AuditRow) -> Self {
        let (note, facts) = (&row.note, &row.note.facts);
        let named = |text: &'a str| (!text.is_empty()).then_some(text);
        Self {
            id: row.id,
            at: row.at,
            person: named(&note.actor),
            rule: named(&note.rule),
            program: &row.program,
            what: &note.kind,
            subject: &note.subject,
            node: named(&note.node),
            case: note.case.as_ref(),
            job: note.job.as_deref(),
            why: &note.text,
            evidence: &facts.evidence,
            gates: &facts.gates,
            mode: facts.mode,
            decision: facts.refers.as_deref(),
            outcome: facts.outcome.as_deref(),
            before: facts.before.as_deref(),
            after: facts.after.as_deref(),
            until: facts.until,
            uid: facts.uid,
            login_uid: facts.login_uid,
            sudo_user: facts.sudo_user.as_deref(),
            level: note.level.word(),
            synthetic: note.synthetic,
        }
    }
}

impl TrailView<'_> {
    /// Who, for people.
    pub(crate) fn who(&self) -> String {
        match (self.person, self.rule) {
            (Some(person), _) => person.to_owned(),
            (None, Some(rule)) => format!("rule {rule}"),
            (None, None) => self.program.to_owned(),
        }
    }

    /// What came of it, or how it changed, for people.
    pub(crate) fn outcome(&self) -> String {
        match (self.outcome, self.before, self.after) {
            (Some(outcome), ..) => outcome.to_owned(),
            (None, Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
            (None, _, Some(after)) => after.to_owned(),
            (None, _, None) => String::new(),
        }
    }
}
