//! `tasks`: starts and ends of tasks.
use rusqlite::{Connection, Row, params};
use triage_core::{Stamp, TaskEdge, TaskWhat};

use super::{SqlResult, exit, exit_columns, json, run, stamp, to_json, word};
use crate::error::Result;

/// For a query over `tasks t`.
pub(crate) const COLUMNS: &str = "t.at, t.what, t.job, t.array_job, t.array_task, t.restart, t.step, t.rank, \
     t.local, t.pid, t.ask, t.gpus, t.exit_code, t.exit_signal";

/// What a record tells beyond the edge itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) uid: Option<u32>,
    pub(crate) core: Option<bool>,
}

/// Writes the edge; `false` when it was there already.
pub(crate) fn put(conn: &Connection, at: Stamp, edge: &TaskEdge, extra: &Extra) -> Result<bool> {
    let (what, (code, signal)) = match edge.what {
        TaskWhat::Start => ("start", (None, None)),
        TaskWhat::End(exit) => ("end", exit_columns(Some(exit))),
    };
    let changed = conn.execute(
        "INSERT INTO tasks (at, what, cluster, node, job, array_job, array_task, restart, step, rank, local, pid,
                            uid, ask, gpus, exit_code, exit_signal, core)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
         ON CONFLICT DO NOTHING",
        params![
            at.micros(),
            what,
            extra.cluster,
            extra.node,
            edge.job,
            edge.array.map(|array| array.job),
            edge.array.map(|array| array.task),
            edge.restart,
            edge.step,
            edge.rank,
            edge.local,
            edge.pid,
            extra.uid,
            edge.ask.word(),
            to_json("GPU names", &edge.gpus)?,
            code,
            signal,
            extra.core,
        ],
    )?;
    Ok(changed > 0)
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<(Stamp, TaskEdge)> {
    let end = exit(row)?;
    let edge = TaskEdge {
        job: row.get("job")?,
        array: run::read_array(row)?,
        restart: row.get("restart")?,
        step: row.get("step")?,
        rank: row.get("rank")?,
        local: row.get("local")?,
        pid: row.get("pid")?,
        what: end.map_or(TaskWhat::Start, TaskWhat::End),
        ask: word(row, "ask")?,
        gpus: json(row, "gpus")?,
    };
    Ok((stamp(row, "at")?, edge))
}
