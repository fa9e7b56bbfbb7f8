//! `job_spans`: runs on this node, from prolog to epilog.
use rusqlite::{Connection, Row, params};
use triage_core::{BootId, JobSpan, Stamp};

use super::{SqlResult, exit, exit_columns, json, optional_stamp, run, text, to_json, word};
use crate::error::Result;

/// For a query over [`FROM`].
pub(crate) const COLUMNS: &str = "s.node, s.boot, s.uid, s.user, s.partition, s.nodes, s.gpus, s.ask, s.ended, \
     s.exit_code, s.exit_signal, s.state, r.cluster, r.job, r.array_job, r.array_task, r.het, r.restart, r.start";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "job_spans s JOIN runs r ON r.id = s.run";

/// Writes the span's new state. One that has ended is not opened again by a slower program.
pub(crate) fn put(conn: &Connection, span: &JobSpan) -> Result<()> {
    let run = run::number(conn, &span.run)?;
    if span.end.is_none() {
        end_earlier_runs(conn, span)?;
    }
    let (code, signal) = exit_columns(span.exit);
    conn.execute(
        "INSERT INTO job_spans (run, node, boot, uid, user, partition, nodes, gpus, ask, ended, ended_by,
                                exit_code, exit_signal, state)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
         ON CONFLICT (run, node) DO UPDATE SET
             boot = excluded.boot, uid = excluded.uid, user = excluded.user, partition = excluded.partition,
             nodes = excluded.nodes, gpus = excluded.gpus, ask = excluded.ask, ended = excluded.ended,
             ended_by = excluded.ended_by, exit_code = excluded.exit_code, exit_signal = excluded.exit_signal,
             state = excluded.state
         WHERE job_spans.ended IS NULL OR excluded.ended IS NOT NULL",
        params![
            run,
            span.node.as_str(),
            span.boot.as_str(),
            span.uid,
            span.user,
            span.partition,
            to_json("node names", &span.nodes)?,
            to_json("GPU indices", &span.gpus)?,
            span.ask.word(),
            span.end.map(Stamp::micros),
            span.end.map(|_| "epilog"),
            code,
            signal,
            span.state,
        ],
    )?;
    Ok(())
}

/// A job is on a node once at a time: what is still open of an earlier run when the next one begins ended without an
/// epilog that could write. Nobody saw when.
fn end_earlier_runs(conn: &Connection, span: &JobSpan) -> Result<()> {
    conn.execute(
        "UPDATE job_spans SET ended = ?1 WHERE ended IS NULL AND node = ?2 AND run IN
             (SELECT id FROM runs WHERE job = ?3 AND cluster = ?4 AND start < ?1)",
        params![span.run.start.micros(), span.node.as_str(), span.run.job, span.run.cluster],
    )?;
    Ok(())
}

/// Ends what an earlier boot left open: no run outlives its boot. When exactly it ended nobody saw; the first moment
/// of the new boot is the latest it can be.
pub(crate) fn end_other_boots(conn: &Connection, boot: &BootId, now: Stamp) -> Result<usize> {
    Ok(conn.execute(
        "UPDATE job_spans SET ended = max(?2, (SELECT start FROM runs WHERE id = run)), ended_by = 'reboot'
         WHERE ended IS NULL AND boot <> ?1",
        params![boot.as_str(), now.micros()],
    )?)
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<JobSpan> {
    Ok(JobSpan {
        run: run::read(row)?,
        node: text(row, "node")?,
        boot: text(row, "boot")?,
        uid: row.get("uid")?,
        user: row.get("user")?,
        partition: row.get("partition")?,
        nodes: json(row, "nodes")?,
        gpus: json(row, "gpus")?,
        ask: word(row, "ask")?,
        end: optional_stamp(row, "ended")?,
        exit: exit(row)?,
        state: row.get("state")?,
    })
}
