//! `audit`: what the suite and the people who use it did. Append only, kept so by triggers.
use rusqlite::{Connection, Row, params};
use triage_core::{CaseId, Stamp};

use super::{SqlResult, clip, json, optional_text, stamp, to_json};
use crate::batch::{AuditNote, Level};
use crate::error::Result;
use crate::query::AuditRow;

pub(crate) const COLUMNS: &str = "a.id, a.at, a.program, a.actor, a.level, a.kind, a.subject, a.text, \
     a.synthetic, a.node, a.case_id, a.job, a.rule, a.facts";

pub(crate) fn put(conn: &Connection, now: Stamp, program: &str, note: &AuditNote) -> Result<()> {
    conn.execute(
        "INSERT INTO audit (at, program, actor, level, kind, subject, text, synthetic, node, case_id, job, rule,
                            facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            now.micros(),
            program,
            note.actor,
            note.level.word(),
            note.kind,
            note.subject,
            clip(&note.text),
            note.synthetic,
            note.node,
            note.case.as_ref().map(CaseId::as_str),
            note.job,
            note.rule,
            to_json("the facts of a row of the trail", &note.facts)?,
        ],
    )?;
    Ok(())
}

/// Seconds in which a file that stays unusable is told once: every pass meets it anew, and rows are never removed.
const STANDING_S: i64 = 3_600;

/// Whether the note is of a trouble that stands, and was told within the hour.
pub(crate) fn stands(conn: &Connection, now: Stamp, note: &AuditNote) -> SqlResult<bool> {
    if !matches!(note.kind.as_str(), "config.unusable" | "config.ignored" | "policy.unusable") {
        return Ok(false);
    }
    conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM audit
                        WHERE level <> 'info' AND at BETWEEN ?1 AND ?2 AND kind = ?3 AND text = ?4)",
        params![now.plus_secs(-STANDING_S).micros(), now.micros(), note.kind, clip(&note.text)],
        |row| row.get(0),
    )
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<AuditRow> {
    let level: String = row.get("level")?;
    Ok(AuditRow {
        id: row.get("id")?,
        at: stamp(row, "at")?,
        program: row.get("program")?,
        note: AuditNote {
            // The table admits three words.
            level: match level.as_str() {
                "error" => Level::Error,
                "warning" => Level::Warning,
                _ => Level::Info,
            },
            kind: row.get("kind")?,
            subject: row.get("subject")?,
            actor: row.get("actor")?,
            text: row.get("text")?,
            synthetic: row.get("synthetic")?,
            node: row.get("node")?,
            case: optional_text(row, "case_id")?,
            job: row.get("job")?,
            rule: row.get("rule")?,
            // A row whose facts a later version wrote in another way still tells the rest.
            facts: json(row, "facts").unwrap_or_default(),
        },
    })
}
