//! `readings`: the last NVML sweeps.
use rusqlite::{Connection, Row, params};
use triage_core::NodeName;

use super::{SqlResult, json, stamp, text, to_json};
use crate::batch::Reading;
use crate::error::Result;

/// Sweeps kept: a quarter of an hour at one a minute, enough to see a value change.
const KEPT: i64 = 16;

pub(crate) const COLUMNS: &str = "g.at, g.boot, g.synthetic, g.reading";

/// Writes the sweep and lets go of old ones; the last of each boot stays as long as its events do.
pub(crate) fn put(conn: &Connection, node: &NodeName, reading: &Reading) -> Result<()> {
    conn.execute(
        "INSERT INTO readings (at, node, boot, synthetic, reading) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            reading.at.micros(),
            node.as_str(),
            reading.boot.as_str(),
            reading.synthetic,
            to_json("an NVML sweep", &reading.reading)?
        ],
    )?;
    conn.execute(
        "DELETE FROM readings WHERE id <= ?1 AND id NOT IN (SELECT max(id) FROM readings GROUP BY boot)",
        [conn.last_insert_rowid().saturating_sub(KEPT)],
    )?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<Reading> {
    Ok(Reading {
        at: stamp(row, "at")?,
        boot: text(row, "boot")?,
        synthetic: row.get("synthetic")?,
        reading: json(row, "reading")?,
    })
}
