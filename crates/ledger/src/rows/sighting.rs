//! `sightings`: the node as Slurm had it.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{NodeRecord, Stamp, reason};

use super::{SqlResult, clip, stamp, text};
use crate::error::Result;
use crate::query::Sighting;

/// For a query over `sightings s`.
pub(crate) const COLUMNS: &str = "s.node, s.state, s.reason, s.is_out, s.ours, s.first_seen, s.last_seen";

/// Writes what Slurm said of the node: a new row where it differs from the last one, else the last one lasts longer.
pub(crate) fn put(conn: &Connection, record: &NodeRecord, now: Stamp) -> Result<()> {
    let state = record.state.join("+");
    let said = clip(&record.reason);
    let last = conn
        .query_row(
            "SELECT id, state, reason FROM sightings WHERE node = ?1 ORDER BY id DESC LIMIT 1",
            [record.node.as_str()],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)),
        )
        .optional()?;
    if let Some((id, _, _)) = last.filter(|(_, s, r)| *s == state && *r == *said) {
        conn.execute(
            "UPDATE sightings SET last_seen = max(last_seen, ?2) WHERE id = ?1",
            params![id, now.micros()],
        )?;
        return Ok(());
    }
    conn.execute(
        "INSERT INTO sightings (node, state, reason, is_out, ours, first_seen, last_seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        params![
            record.node.as_str(),
            state,
            said,
            record.is_out(),
            reason::is_ours(&record.reason),
            now.micros()
        ],
    )?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<Sighting> {
    Ok(Sighting {
        node: text(row, "node")?,
        state: row.get("state")?,
        reason: row.get("reason")?,
        is_out: row.get("is_out")?,
        ours: row.get("ours")?,
        first_seen: stamp(row, "first_seen")?,
        last_seen: stamp(row, "last_seen")?,
    })
}
