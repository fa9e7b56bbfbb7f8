//! What went wrong with the suite itself, out of the audit.
use serde::Serialize;
use triage_core::Stamp;
use triage_ledger::AuditRow;

/// A row of the audit.
#[derive(Debug, Serialize)]
pub(crate) struct TroubleView<'a> {
    /// When.
    pub(crate) at: Stamp,
    /// `info`, `warning`, `error`.
    pub(crate) level: &'static str,
    /// The program that wrote it.
    pub(crate) program: &'a str,
    /// The person; empty: the suite itself.
    pub(crate) actor: &'a str,
    /// What kind of thing.
    pub(crate) kind: &'a str,
    /// What it is about; may be empty.
    pub(crate) subject: &'a str,
    /// One sentence.
    pub(crate) text: &'a str,
    /// Rests on a drill or a test.
    pub(crate) synthetic: bool,
}

impl<'a> From<&'a AuditRow> for TroubleView<'a> {
    fn from(row: &'a AuditRow) -> Self {
        Self {
            at: row.at,
            level: row.note.level.word(),
            program: &row.program,
            actor: &row.note.actor,
            kind: &row.note.kind,
            subject: &row.note.subject,
            text: &row.note.text,
            synthetic: row.note.synthetic,
        }
    }
}
