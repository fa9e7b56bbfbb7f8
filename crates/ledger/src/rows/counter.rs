//! `counters`: what is only counted, by UTC day.
use rusqlite::{Connection, params};
use triage_core::Stamp;

use super::to_sql_u64;
use crate::error::Result;

/// Lines without an event; the name is the source.
pub(crate) const LINES: &str = "lines_without_event";
/// Events beyond the bound of one pass; the name is the code.
pub(crate) const REPEATS: &str = "repeats";
/// Spool records that could not be read; the name is the fault.
pub(crate) const BAD_RECORDS: &str = "bad_spool_records";
/// Task edges beyond the bound of one job; the name is `start` or `end`.
pub(crate) const TASKS: &str = "tasks_not_kept";
/// Rows that retention removed; the name is the table.
pub(crate) const PRUNED: &str = "pruned";

/// Adds to today's count.
pub(crate) fn add(conn: &Connection, now: Stamp, kind: &str, name: &str, count: u64) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    conn.execute(
        "INSERT INTO counters (day, kind, name, count) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (day, kind, name) DO UPDATE SET count = count + excluded.count",
        params![day(now), kind, name, to_sql_u64(count)],
    )?;
    Ok(())
}

/// Days since 1970-01-01, UTC.
pub(crate) const fn day(at: Stamp) -> i64 {
    at.micros().div_euclid(86_400_000_000)
}
