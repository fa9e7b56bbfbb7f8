//! `cases` and `case_events`.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{Case, EventId};

use super::{SqlResult, collect, optional_stamp, run, stamp, text, word};
use crate::error::{Error, Result};

/// For a query over [`FROM`]; the evidence comes by [`with_evidence`].
pub(crate) const COLUMNS: &str = "c.id, c.fault, c.code, c.class, c.resource, c.node, c.boot, c.state, \
     c.confidence, c.provenance, c.synthetic, c.advice, c.clears, c.opened_at, c.last_seen, c.closed_at, c.why, \
     c.stood_down, c.part, r.cluster, r.job, r.array_job, r.array_task, r.het, r.restart, r.start";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "cases c LEFT JOIN runs r ON r.id = c.run";

/// Writes the case's new state. A final state is never left: a pass that had not heard of it yet must not reopen what
/// a repair or a person closed.
pub(crate) fn put(conn: &Connection, case: &Case) -> Result<()> {
    let run = run::optional_number(conn, case.run.as_ref())?;
    let changed = conn
        .execute(
            "INSERT INTO cases (id, fault, code, class, resource, node, boot, state, confidence, provenance,
                                synthetic, advice, clears, opened_at, last_seen, closed_at, run, why, stood_down, part)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
             ON CONFLICT (id) DO UPDATE SET
                 code = excluded.code, class = excluded.class, boot = excluded.boot, state = excluded.state,
                 confidence = excluded.confidence, provenance = excluded.provenance,
                 synthetic = excluded.synthetic, advice = excluded.advice, clears = excluded.clears,
                 opened_at = excluded.opened_at, last_seen = excluded.last_seen, closed_at = excluded.closed_at,
                 run = excluded.run, why = excluded.why, stood_down = excluded.stood_down, part = excluded.part
             WHERE state IN ('open', 'acted') AND node = excluded.node AND fault = excluded.fault
               AND resource = excluded.resource",
            params![
                case.id.as_str(),
                case.fault,
                case.code.as_str(),
                case.class.word(),
                case.resource.to_string(),
                case.node.as_str(),
                case.boot.as_str(),
                case.state.word(),
                case.confidence.word(),
                case.provenance.word(),
                case.synthetic,
                case.advice.word(),
                case.clears.word(),
                case.opened_at.micros(),
                case.last_seen.micros(),
                case.closed_at.map(|at| at.micros()),
                run,
                case.why,
                case.stood_down,
                case.part,
            ],
        )
        .map_err(|error| second_open(case, error))?;
    if changed == 0 {
        return untouched(conn, case);
    }
    put_evidence(conn, case)
}

fn second_open(case: &Case, error: rusqlite::Error) -> Error {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) {
        let what = format!(
            "case {}: there is another open case of {} on {} {}",
            case.id, case.fault, case.node, case.resource
        );
        return Error::Conflict { what };
    }
    error.into()
}

/// The row was left alone: because it is closed, which is in order, or because another case has the id. That our drain
/// for a closed case is let go is written all the same: else every health check would ask the controller about it for ever.
fn untouched(conn: &Connection, case: &Case) -> Result<()> {
    let same = conn
        .query_row(
            "SELECT 1 FROM cases WHERE id = ?1 AND node = ?2 AND fault = ?3 AND resource = ?4",
            params![case.id.as_str(), case.node.as_str(), case.fault, case.resource.to_string()],
            |_| Ok(()),
        )
        .optional()?;
    match same {
        Some(()) if case.stood_down => {
            conn.execute(
                "UPDATE cases SET stood_down = 1 WHERE id = ?1 AND stood_down = 0",
                [case.id.as_str()],
            )?;
            Ok(())
        }
        Some(()) => Ok(()),
        None => Err(Error::Conflict { what: format!("case {}: the id belongs to another case", case.id) }),
    }
}

fn put_evidence(conn: &Connection, case: &Case) -> Result<()> {
    let mut statement = conn.prepare(
        "INSERT INTO case_events (case_id, position, event_id) VALUES (?1, ?2, ?3)
         ON CONFLICT (case_id, position) DO UPDATE SET event_id = excluded.event_id
         WHERE event_id <> excluded.event_id",
    )?;
    let mut count = 0_i64;
    for (position, event) in (0_i64..).zip(&case.events) {
        count = position + 1;
        statement.execute(params![case.id.as_str(), position, event.as_str()])?;
    }
    conn.execute(
        "DELETE FROM case_events WHERE case_id = ?1 AND position >= ?2",
        params![case.id.as_str(), count],
    )?;
    Ok(())
}

/// The case without its evidence.
pub(crate) fn read(row: &Row<'_>) -> SqlResult<Case> {
    Ok(Case {
        id: text(row, "id")?,
        fault: row.get("fault")?,
        code: text(row, "code")?,
        class: word(row, "class")?,
        resource: text(row, "resource")?,
        node: text(row, "node")?,
        boot: text(row, "boot")?,
        state: word(row, "state")?,
        confidence: word(row, "confidence")?,
        provenance: word(row, "provenance")?,
        synthetic: row.get("synthetic")?,
        advice: word(row, "advice")?,
        clears: word(row, "clears")?,
        opened_at: stamp(row, "opened_at")?,
        last_seen: stamp(row, "last_seen")?,
        closed_at: optional_stamp(row, "closed_at")?,
        run: run::read_optional(row)?,
        events: Vec::new(),
        why: row.get("why")?,
        stood_down: row.get("stood_down")?,
        part: row.get("part")?,
    })
}

/// Fills in the evidence of each case.
pub(crate) fn with_evidence(conn: &Connection, mut cases: Vec<Case>) -> Result<Vec<Case>> {
    if cases.is_empty() {
        return Ok(cases);
    }
    let mut statement =
        conn.prepare("SELECT event_id FROM case_events WHERE case_id = ?1 ORDER BY position")?;
    for case in &mut cases {
        case.events = collect(&mut statement, [case.id.as_str()], |row| text::<EventId>(row, "event_id"))?;
    }
    Ok(cases)
}
