//! Earlier failed runs, as far as they may tell why the next one fails: by the verdicts that were reached here, and by
//! what the kernel and NVML said of GPUs while a run was on this node.
use rusqlite::{Connection, Row, params};
use triage_core::attribute::{PastCulprit, PastRun};
use triage_core::{Culprit, NodeName, Resource, RunId, Stamp};

use crate::error::Result;
use crate::open::Ledger;
use crate::rows::{self, json, run, text};

/// How far back, seconds: attribution remembers no longer than 30 days.
const BACK_S: i64 = 30 * 86_400;

/// Most runs of either kind, the latest ones. A pass has little time, and more would tell nothing new.
const MOST: u32 = 256;

/// Most runs and GPU errors looked at.
const MOST_STAYS: u32 = 2048;

/// How long after a run left the node the kernel may still speak of it, microseconds.
const LATE_US: i64 = 60_000_000;

impl Ledger {
    /// Earlier failed runs that this node's ledger remembers, the latest first: at most 256 by their verdicts, and as many
    /// by GPU errors while they alone were on the node. `now` is the run that is asked about; it is left out.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn history(&self, now: &RunId) -> Result<Vec<PastRun>> {
        let since = now.start.plus_secs(-BACK_S);
        self.read(|conn| {
            let current = run::find(conn, now)?;
            let mut runs = by_verdicts(conn, since, current)?;
            runs.extend(by_gpu_errors(conn, since, current)?);
            Ok(runs)
        })
    }
}

/// Whom a verdict names counts only where it stands on what no job can write.
fn by_verdicts(conn: &Connection, since: Stamp, without: Option<i64>) -> Result<Vec<PastRun>> {
    let mut statement = conn.prepare(
        "SELECT v.at, v.class, v.code, v.culprits, v.trusted, s.user, s.uid, s.nodes, r.job, r.array_job, r.array_task
         FROM verdicts v JOIN runs r ON r.id = v.run JOIN job_spans s ON s.run = v.run
         WHERE v.at >= ?1 AND v.run IS NOT ?2 AND v.synthetic = 0 ORDER BY v.at DESC LIMIT ?3",
    )?;
    rows::collect(&mut statement, params![since.micros(), without, MOST], |row| {
        let trusted: bool = row.get("trusted")?;
        let named: Vec<Culprit> = if trusted { json(row, "culprits")? } else { Vec::new() };
        let culprits =
            named.into_iter().map(|c| PastCulprit { node: c.node, resource: c.resource }).collect();
        Ok(PastRun { class: row.get("class")?, signature: row.get("code")?, culprits, ..past(row, "at")? })
    })
}

/// One run that was on the node.
struct Stay {
    run: PastRun,
    node: NodeName,
    from: i64,
    to: i64,
    failed: bool,
}

/// Errors on a GPU within a run that failed, where no other run was on the node at that moment: a program's doing, or
/// the GPU's; that other users' runs met the same tells which.
fn by_gpu_errors(conn: &Connection, since: Stamp, without: Option<i64>) -> Result<Vec<PastRun>> {
    let stays = stays(conn, since, without)?;
    let mut found: Vec<PastRun> = Vec::new();
    for (at, code, class, resource) in gpu_errors(conn, since)? {
        let mut there = stays.iter().filter(|stay| stay.from <= at && at <= stay.to);
        let (Some(stay), None) = (there.next(), there.next()) else { continue };
        let culprits = vec![PastCulprit { node: stay.node.clone(), resource: Some(resource) }];
        let run = PastRun { class, signature: code, culprits, ..stay.run.clone() };
        if stay.failed && found.len() < MOST as usize && !found.contains(&run) {
            found.push(run);
        }
    }
    Ok(found)
}

/// The latest runs on the node, the one asked about only as somebody who was there.
fn stays(conn: &Connection, since: Stamp, now: Option<i64>) -> Result<Vec<Stay>> {
    let mut statement = conn.prepare(
        "SELECT s.run, s.node, s.ended, s.user, s.uid, s.nodes, r.start, r.job, r.array_job, r.array_task,
                ifnull(s.exit_code, 0) <> 0 OR s.exit_signal IS NOT NULL AS failed
         FROM job_spans s JOIN runs r ON r.id = s.run
         WHERE s.ended >= ?1 ORDER BY s.ended DESC LIMIT ?2",
    )?;
    rows::collect(&mut statement, params![since.micros(), MOST_STAYS], |row| {
        let failed: bool = row.get("failed")?;
        Ok(Stay {
            run: past(row, "ended")?,
            node: text(row, "node")?,
            from: row.get("start")?,
            to: row.get::<_, i64>("ended")?.saturating_add(LATE_US),
            failed: failed && Some(row.get("run")?) != now,
        })
    })
}

/// What was said of GPUs by somebody who may be blamed, the latest first.
fn gpu_errors(conn: &Connection, since: Stamp) -> Result<Vec<(i64, String, String, Resource)>> {
    let mut statement = conn.prepare(
        "SELECT at, code, class, resource FROM events
         WHERE at >= ?1 AND role IN ('root', 'either') AND provenance = 'trusted' AND synthetic = 0
           AND resource LIKE 'gpu:%' ORDER BY at DESC LIMIT ?2",
    )?;
    rows::collect(&mut statement, params![since.micros(), MOST_STAYS], |row| {
        Ok((row.get("at")?, row.get("code")?, row.get("class")?, text(row, "resource")?))
    })
}

/// What both know of a run.
fn past(row: &Row<'_>, at: &str) -> rusqlite::Result<PastRun> {
    let (array, task): (Option<u32>, Option<u32>) = (row.get("array_job")?, row.get("array_task")?);
    let user: String = row.get("user")?;
    Ok(PastRun {
        job: match (array, task) {
            (Some(job), Some(task)) => format!("{job}_{task}"),
            _ => row.get::<_, u32>("job")?.to_string(),
        },
        user: if user.is_empty() { row.get::<_, u32>("uid")?.to_string() } else { user },
        at: rows::stamp(row, at)?,
        nodes: json(row, "nodes")?,
        ..PastRun::default()
    })
}
