//! `baselines`: what the node had when it was admitted.
use rusqlite::{Connection, params};
use triage_core::Stamp;
use triage_core::baseline::Learned;

use super::{clip, json, to_json};
use crate::error::Result;

/// Baselines kept: more than the repairs of a node's life.
const KEPT: i64 = 32;

/// Writes a baseline, which holds from now on.
pub(crate) fn put(conn: &Connection, learned: &Learned, now: Stamp) -> Result<()> {
    conn.execute(
        "INSERT INTO baselines (at, learned, by, why, baseline) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            learned.baseline.at.micros(),
            now.micros(),
            clip(&learned.by),
            clip(&learned.why),
            to_json("a baseline", &learned.baseline)?
        ],
    )?;
    conn.execute("DELETE FROM baselines WHERE id <= ?1", [conn.last_insert_rowid().saturating_sub(KEPT)])?;
    Ok(())
}

/// The baseline that holds. One of another version that cannot be read is as good as none.
pub(crate) fn last(conn: &Connection) -> Result<Option<Learned>> {
    let mut statement = conn.prepare("SELECT by, why, baseline FROM baselines ORDER BY id DESC LIMIT 1")?;
    let rows = super::collect(&mut statement, [], |row| {
        Ok(Learned { baseline: json(row, "baseline")?, by: row.get("by")?, why: row.get("why")? })
    });
    Ok(rows?.pop())
}
