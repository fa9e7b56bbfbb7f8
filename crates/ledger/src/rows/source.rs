//! `sources`: whether each source can be read.
use rusqlite::{Connection, Row, params};

use super::{SqlResult, from_sql_u64, optional_stamp, stamp, text, to_sql_u64, word};
use crate::batch::{ProcessId, Seen, SourceReport};
use crate::error::Result;
use crate::query::SourceRow;

pub(crate) const COLUMNS: &str = "s.source, s.stream, s.last_try, s.last_ok, s.blind_since, s.reason, s.hung_pid, \
     s.hung_start, s.hung_boot, s.cost_us";

/// Writes what one look found. Blindness keeps the moment it began; an older look changes nothing.
pub(crate) fn put(conn: &Connection, report: &SourceReport) -> Result<()> {
    let (blind, reason, hung) = match &report.seen {
        Seen::Read => (false, "", None),
        Seen::Blind { reason, hung } => (true, reason.as_str(), hung.as_ref()),
    };
    conn.execute(
        "INSERT INTO sources (source, stream, last_try, last_ok, blind_since, reason, hung_pid, hung_start,
                              hung_boot, cost_us)
         VALUES (?1, ?2, ?3, iif(?4, NULL, ?3), iif(?4, ?3, NULL), ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (source, stream) DO UPDATE SET
             last_try = excluded.last_try,
             last_ok = ifnull(excluded.last_ok, last_ok),
             blind_since = iif(excluded.blind_since IS NULL, NULL, ifnull(blind_since, excluded.blind_since)),
             reason = excluded.reason, hung_pid = excluded.hung_pid, hung_start = excluded.hung_start,
             hung_boot = excluded.hung_boot, cost_us = excluded.cost_us
         WHERE excluded.last_try >= sources.last_try",
        params![
            report.source.word(),
            report.stream,
            report.at.micros(),
            blind,
            reason,
            hung.map(|process| process.pid),
            hung.map(|process| to_sql_u64(process.start)),
            hung.map(|process| process.boot.as_str()),
            to_sql_u64(report.cost_us),
        ],
    )?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<SourceRow> {
    Ok(SourceRow {
        source: word(row, "source")?,
        stream: row.get("stream")?,
        last_try: stamp(row, "last_try")?,
        last_ok: optional_stamp(row, "last_ok")?,
        blind_since: optional_stamp(row, "blind_since")?,
        reason: row.get("reason")?,
        hung: process(row, ["hung_pid", "hung_start", "hung_boot"])?,
        cost_us: from_sql_u64(row, "cost_us")?,
    })
}

/// Three columns that name one process.
pub(crate) fn process(row: &Row<'_>, [pid, start, boot]: [&str; 3]) -> SqlResult<Option<ProcessId>> {
    let Some(pid) = row.get(pid)? else { return Ok(None) };
    Ok(Some(ProcessId { pid, start: from_sql_u64(row, start)?, boot: text(row, boot)? }))
}
