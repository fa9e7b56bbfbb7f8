//! What is removed, in the order in which it is given up.
use rusqlite::{Connection, Transaction, params};
use triage_core::Stamp;

use crate::error::Result;
use crate::rows::meta;

/// Tables with the number of rows removed from each.
pub(super) type Removed = Vec<(&'static str, u64)>;

/// One kind of record that may go.
#[derive(Debug)]
pub(super) struct Stage {
    /// The rows that may go when they are older than `?1`, as the rest of a SELECT, oldest first.
    candidates: &'static str,
    remove: fn(&Transaction<'_>, &str, Stamp, u32) -> Result<Removed>,
}

impl Stage {
    pub(super) fn has_any(&self, conn: &Connection, before: Stamp) -> Result<bool> {
        let sql = format!("SELECT EXISTS (SELECT 1 {} LIMIT 1)", self.candidates);
        Ok(conn.query_row(&sql, [before.micros()], |row| row.get(0))?)
    }

    pub(super) fn remove(&self, tx: &Transaction<'_>, before: Stamp, limit: u32) -> Result<Removed> {
        (self.remove)(tx, self.candidates, before, limit)
    }
}

pub(super) const STAGES: &[Stage] = &[
    Stage {
        candidates: "FROM events e WHERE e.at < ?1
             AND NOT EXISTS (SELECT 1 FROM case_events c WHERE c.event_id = e.id) ORDER BY e.at",
        remove: events,
    },
    Stage { candidates: "FROM tasks t WHERE t.at < ?1 ORDER BY t.at", remove: tasks },
    Stage {
        candidates: "FROM cases c WHERE c.state IN ('resolved', 'acquitted') AND c.last_seen < ?1
             AND ifnull(c.closed_at, c.last_seen) < ?1 ORDER BY c.last_seen",
        remove: cases,
    },
    Stage {
        candidates: "FROM actions a WHERE a.created < ?1 AND a.state NOT IN ('pending', 'running')
             AND NOT EXISTS (SELECT 1 FROM cases c WHERE c.id = a.case_id) ORDER BY a.id",
        remove: actions,
    },
    Stage {
        candidates: "FROM decisions d WHERE d.at < ?1
             AND NOT EXISTS (SELECT 1 FROM cases c WHERE c.id = d.case_id)
             AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.decision_id = d.id) ORDER BY d.seq",
        remove: decisions,
    },
    Stage { candidates: "FROM verdicts v WHERE v.at < ?1 ORDER BY v.at", remove: verdicts },
    Stage { candidates: "FROM job_spans s WHERE s.ended < ?1 ORDER BY s.ended", remove: spans },
    Stage { candidates: "FROM sightings s WHERE s.last_seen < ?1 ORDER BY s.last_seen", remove: sightings },
    // What may still stand is never given up for want of room.
    Stage {
        candidates: "FROM holds h WHERE (h.ended_at < ?1
             OR (h.ended_at IS NULL AND h.until < ?1 AND ?1 < 9223372036854775807)) ORDER BY h.id",
        remove: holds,
    },
    // What has been quiet for longer than any window. Bounded by itself, so never for want of room.
    Stage {
        candidates: "FROM rates r WHERE r.last_at < ?1 - 7776000000000 AND ?1 < 9223372036854775807
             AND r.fired_at IS NULL ORDER BY r.last_at",
        remove: rates,
    },
    Stage { candidates: "FROM audit a WHERE a.at < ?1 ORDER BY a.at", remove: audit },
];

fn delete(tx: &Transaction<'_>, sql: &str, before: Stamp, limit: u32) -> Result<u64> {
    Ok(tx.execute(sql, params![before.micros(), limit])? as u64)
}

fn events(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql =
        format!("DELETE FROM events WHERE seq IN (SELECT e.seq {candidates} LIMIT ?2) RETURNING observation");
    let mut statement = tx.prepare(&sql)?;
    let observations: Vec<i64> = statement
        .query_map(params![before.micros(), limit], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // One sweep can stand behind several events.
    let mut orphan = tx.prepare(
        "DELETE FROM observations WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM events WHERE observation = ?1)",
    )?;
    let mut gone = 0;
    for observation in &observations {
        gone += orphan.execute([observation])? as u64;
    }
    Ok(vec![("events", observations.len() as u64), ("observations", gone)])
}

fn tasks(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM tasks WHERE id IN (SELECT t.id {candidates} LIMIT ?2)");
    Ok(vec![("tasks", delete(tx, &sql, before, limit)?)])
}

fn cases(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    // Each has up to 64 rows of evidence.
    let limit = (limit / 16).max(1);
    let chosen = format!("SELECT c.id {candidates} LIMIT ?2");
    delete(tx, &format!("DELETE FROM case_events WHERE case_id IN ({chosen})"), before, limit)?;
    let cases = delete(tx, &format!("DELETE FROM cases WHERE id IN ({chosen})"), before, limit)?;
    // Their evidence is now like any other event, and as old: it goes with the next pass over the stages.
    Ok(vec![("cases", cases)])
}

fn actions(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM actions WHERE id IN (SELECT a.id {candidates} LIMIT ?2)");
    Ok(vec![("actions", delete(tx, &sql, before, limit)?)])
}

fn decisions(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM decisions WHERE seq IN (SELECT d.seq {candidates} LIMIT ?2)");
    Ok(vec![("decisions", delete(tx, &sql, before, limit)?)])
}

fn verdicts(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM verdicts WHERE id IN (SELECT v.id {candidates} LIMIT ?2)");
    Ok(vec![("verdicts", delete(tx, &sql, before, limit)?)])
}

fn spans(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!(
        "DELETE FROM job_spans WHERE (run, node) IN (SELECT s.run, s.node {candidates} LIMIT ?2) RETURNING run"
    );
    let mut statement = tx.prepare(&sql)?;
    let runs: Vec<i64> = statement
        .query_map(params![before.micros(), limit], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut unnamed = tx.prepare(
        "DELETE FROM runs WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM job_spans WHERE run = ?1) AND NOT EXISTS (SELECT 1 FROM cases WHERE run = ?1)
         AND NOT EXISTS (SELECT 1 FROM verdicts WHERE run = ?1)
         AND NOT EXISTS (SELECT 1 FROM decisions WHERE run = ?1)
         AND NOT EXISTS (SELECT 1 FROM actions WHERE run = ?1)",
    )?;
    let mut gone = 0;
    for run in &runs {
        gone += unnamed.execute([run])? as u64;
    }
    Ok(vec![("job_spans", runs.len() as u64), ("runs", gone)])
}

fn sightings(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM sightings WHERE id IN (SELECT s.id {candidates} LIMIT ?2)");
    Ok(vec![("sightings", delete(tx, &sql, before, limit)?)])
}

fn holds(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!("DELETE FROM holds WHERE id IN (SELECT h.id {candidates} LIMIT ?2)");
    Ok(vec![("holds", delete(tx, &sql, before, limit)?)])
}

fn rates(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let sql = format!(
        "DELETE FROM rates WHERE (rule, identity) IN (SELECT r.rule, r.identity {candidates} LIMIT ?2)"
    );
    Ok(vec![("rates", delete(tx, &sql, before, limit)?)])
}

/// The trigger lets go only of what is older than the floor written down here.
fn audit(tx: &Transaction<'_>, candidates: &str, before: Stamp, limit: u32) -> Result<Removed> {
    let newest: Option<i64> = tx.query_row(
        &format!("SELECT max(at) FROM (SELECT a.at {candidates} LIMIT ?2)"),
        params![before.micros(), limit],
        |row| row.get(0),
    )?;
    let Some(newest) = newest else { return Ok(Vec::new()) };
    meta::set(tx, "audit_floor", &newest.saturating_add(1))?;
    let gone = tx.execute("DELETE FROM audit WHERE at <= ?1", [newest])? as u64;
    Ok(vec![("audit", gone)])
}
