//! `holds`: what people put on hold.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{Hold, HoldOn, Stamp};

use super::{SqlResult, clip, optional_stamp, stamp, unreadable};
use crate::error::Result;

const COLUMNS: &str = "h.kind, h.name, h.at, h.until, h.actor, h.reason";

/// Every hold that stands at `now`, oldest first.
pub(crate) fn standing(conn: &Connection, now: Stamp) -> Result<Vec<Hold>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {COLUMNS} FROM holds h WHERE h.ended_at IS NULL AND (h.until IS NULL OR h.until > ?1) ORDER BY h.id"
    ))?;
    super::collect(&mut statement, [now.micros()], read)
}

/// The hold on this very thing that nobody has ended, though it may have run out.
pub(crate) fn unended(conn: &Connection, on: &HoldOn) -> Result<Option<Hold>> {
    let sql =
        format!("SELECT {COLUMNS} FROM holds h WHERE h.kind = ?1 AND h.name = ?2 AND h.ended_at IS NULL");
    Ok(conn.query_row(&sql, params![on.kind(), on.name()], read).optional()?)
}

pub(crate) fn put(conn: &Connection, hold: &Hold) -> Result<()> {
    conn.execute(
        "INSERT INTO holds (kind, name, at, until, actor, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            hold.on.kind(),
            hold.on.name(),
            hold.at.micros(),
            hold.until.map(Stamp::micros),
            clip(&hold.by),
            clip(&hold.reason),
        ],
    )?;
    Ok(())
}

/// Ends what stands on it.
pub(crate) fn end(conn: &Connection, on: &HoldOn, at: Stamp, by: &str, why: &str) -> Result<()> {
    conn.execute(
        "UPDATE holds SET ended_at = ?3, ended_by = ?4, ended_why = ?5
         WHERE kind = ?1 AND name = ?2 AND ended_at IS NULL",
        params![on.kind(), on.name(), at.micros(), clip(by), clip(why)],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> SqlResult<Hold> {
    let (kind, name): (String, String) = (row.get("kind")?, row.get("name")?);
    let on = HoldOn::from_words(&kind, &name).ok_or_else(|| unreadable(row, "name", std::fmt::Error))?;
    Ok(Hold {
        on,
        at: stamp(row, "at")?,
        until: optional_stamp(row, "until")?,
        by: row.get("actor")?,
        reason: row.get("reason")?,
    })
}
