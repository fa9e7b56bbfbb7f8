//! `runs`: the whole identity of a run, referred to by number from everything that concerns it.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{ArrayId, RunId};

use super::{SqlResult, stamp};
use crate::error::Result;

/// The run's number, where the ledger knows it. A job id with restart count and start is enough to tell it from every
/// other: array tasks and het components have job ids of their own.
pub(crate) fn find(conn: &Connection, run: &RunId) -> Result<Option<i64>> {
    Ok(conn
        .query_row(
            "SELECT id FROM runs WHERE job = ?1 AND start = ?2 AND restart = ?3 AND cluster = ?4",
            params![run.job, run.start.micros(), run.restart, run.cluster],
            |row| row.get(0),
        )
        .optional()?)
}

/// The run's number; a new one if need be. The array or het job a run is part of may become known after it began: a
/// prolog is not told.
pub(crate) fn number(conn: &Connection, run: &RunId) -> Result<i64> {
    let (array_job, array_task) = run.array.map_or((None, None), |array| (Some(array.job), Some(array.task)));
    if let Some(id) = find(conn, run)? {
        conn.execute(
            "UPDATE runs SET array_job = ifnull(?2, array_job), array_task = ifnull(?3, array_task),
                             het = ifnull(?4, het)
             WHERE id = ?1 AND ((?2 IS NOT NULL AND array_job IS NULL) OR (?4 IS NOT NULL AND het IS NULL))",
            params![id, array_job, array_task, run.het],
        )?;
        return Ok(id);
    }
    conn.execute(
        "INSERT INTO runs (cluster, job, array_job, array_task, het, restart, start)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![run.cluster, run.job, array_job, array_task, run.het, run.restart, run.start.micros()],
    )?;
    Ok(conn.last_insert_rowid())
}

/// The same where there may be no run.
pub(crate) fn optional_number(conn: &Connection, run: Option<&RunId>) -> Result<Option<i64>> {
    run.map(|run| number(conn, run)).transpose()
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<RunId> {
    Ok(RunId {
        cluster: row.get("cluster")?,
        job: row.get("job")?,
        array: read_array(row)?,
        het: row.get("het")?,
        restart: row.get("restart")?,
        start: stamp(row, "start")?,
    })
}

pub(crate) fn read_array(row: &Row<'_>) -> SqlResult<Option<ArrayId>> {
    let job: Option<u32> = row.get("array_job")?;
    let task: Option<u32> = row.get("array_task")?;
    Ok(job.zip(task).map(|(job, task)| ArrayId { job, task }))
}

/// For a query with `LEFT JOIN runs r`.
pub(crate) fn read_optional(row: &Row<'_>) -> SqlResult<Option<RunId>> {
    let start: Option<i64> = row.get("start")?;
    start.map(|_| read(row)).transpose()
}
