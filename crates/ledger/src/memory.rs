//! What the ledger remembers of a fault and of a job: asked for only where a rule or a gate wants to know.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::memory::{Memory, PastCase, PastCause, PastRun};
use triage_core::progress::Progress;
use triage_core::{Code, Culprit, Evidence, RunId};

use crate::error::Result;
use crate::open::Ledger;
use crate::rows::{self, json, optional_stamp, stamp, word};

/// Cases looked back on at most; the newest.
const MAX_CASES: u32 = 4096;
/// Runs of one job looked back on at most; the newest.
const MAX_RUNS: u32 = 32;
/// How far back runs are looked for, days. Slurm gives job ids again, after millions of jobs.
const RUNS_DAYS: i64 = 60;

impl Ledger {
    /// Cases of this node, and earlier runs of the job whose run is given.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn memory(&self, run: Option<&RunId>) -> Result<Memory> {
        self.read(|conn| {
            let runs = run.map(|run| runs(conn, run)).transpose()?.unwrap_or_default();
            Ok(Memory { cases: cases(conn)?, runs })
        })
    }
}

fn cases(conn: &Connection) -> Result<Vec<PastCase>> {
    let mut statement = conn.prepare(
        "SELECT fault, resource, opened_at FROM cases WHERE synthetic = 0 ORDER BY last_seen DESC LIMIT ?1",
    )?;
    rows::collect(&mut statement, [MAX_CASES], |row| {
        Ok(PastCase {
            fault: row.get("fault")?,
            resource: row.get("resource")?,
            opened_at: stamp(row, "opened_at")?,
        })
    })
}

/// Slurm counts restarts up, so an earlier run of the same job has a smaller count; another job that had the id has not.
fn runs(conn: &Connection, run: &RunId) -> Result<Vec<PastRun>> {
    let mut statement = conn.prepare(
        "SELECT r.id, r.restart, r.start, max(s.ended) AS ended,
                (SELECT max(a.settled_at) FROM actions a
                 WHERE a.run = r.id AND a.kind = 'requeue' AND a.state = 'done') AS requeued
         FROM runs r LEFT JOIN job_spans s ON s.run = r.id
         WHERE r.job = ?1 AND r.cluster = ?2 AND r.restart < ?3 AND r.start BETWEEN ?4 AND ?5
         GROUP BY r.id ORDER BY r.start DESC LIMIT ?6",
    )?;
    let since = run.start.plus_secs(-RUNS_DAYS * 86_400);
    let before = run.start.plus_micros(-1);
    let params = params![run.job, run.cluster, run.restart, since.micros(), before.micros(), MAX_RUNS];
    let mut found = rows::collect(&mut statement, params, |row| Ok((row.get("id")?, past_run(row)?)))?;
    found.reverse();
    found.into_iter().map(|(id, run)| judged(conn, id, run)).collect()
}

fn past_run(row: &Row<'_>) -> rusqlite::Result<PastRun> {
    Ok(PastRun {
        restart: row.get("restart")?,
        start: stamp(row, "start")?,
        end: optional_stamp(row, "ended")?,
        cause: None,
        requeued_at: optional_stamp(row, "requeued")?,
        progress: Progress::default(),
    })
}

/// The run with what its verdict tells: what ended it, and how far it got.
fn judged(conn: &Connection, id: i64, run: PastRun) -> Result<PastRun> {
    let sql = "SELECT class, culprits, code, told FROM verdicts WHERE run = ?1 ORDER BY at DESC LIMIT 1";
    let told = |row: &Row<'_>| Ok((past_cause(row)?, Progress::of(&json::<Vec<Evidence>>(row, "told")?)));
    Ok(match conn.query_row(sql, [id], told).optional()? {
        Some((cause, progress)) => PastRun { cause: Some(cause), progress, ..run },
        None => run,
    })
}

fn past_cause(row: &Row<'_>) -> rusqlite::Result<PastCause> {
    let culprits: Vec<Culprit> = json(row, "culprits")?;
    let code: String = row.get("code")?;
    let kind = |culprit: &Culprit| {
        let text = culprit.resource.as_ref()?.to_string();
        text.split(':').next().map(str::to_owned)
    };
    Ok(PastCause {
        class: Some(word(row, "class")?),
        codes: if code.is_empty() { Vec::new() } else { vec![Code::new(code)] },
        kinds: culprits.iter().filter_map(kind).collect(),
        nodes: culprits.into_iter().map(|culprit| culprit.node).collect(),
    })
}
