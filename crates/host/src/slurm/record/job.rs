//! `scontrol -o show job`.
use triage_core::{ArrayId, JobRecord};

use super::RecordError;
use super::split::{Fields, records};
use crate::slurm::hostlist;

/// The record of one job in an answer that may hold those of a whole array.
///
/// # Errors
/// When it is not there, or contradicts itself.
pub fn job(answer: &str, job: u32) -> Result<JobRecord, RecordError> {
    let missing = || RecordError::Missing(format!("job {job}"));
    let id = job.to_string();
    let own: Vec<&str> = records(answer, "JobId=")
        .into_iter()
        .filter(|record| Fields::of(record).first("JobId") == id)
        .collect();
    match own.as_slice() {
        [] => Err(missing()),
        [record] => read(record, job),
        _ => Err(RecordError::Contradiction { of: format!("job {job}"), what: "JobId" }),
    }
}

/// The components of a het job in an answer, each with its offset. They are named by leader and offset, which stand before
/// the first text of a user: a text that imitates a record can only name a component of the same job.
///
/// # Errors
/// When none is there, or one contradicts itself.
pub fn components(answer: &str, leader: u32) -> Result<Vec<(u32, JobRecord)>, RecordError> {
    let mut found = Vec::new();
    for record in records(answer, "JobId=") {
        let ids = Fields::of(ids(record));
        let of = number(ids.first("JobId")).zip(number(ids.first("HetJobOffset")));
        if let Some((id, offset)) = of.filter(|_| number(ids.first("HetJobId")) == Some(leader)) {
            found.push((offset, job(answer, id)?));
        }
    }
    if found.is_empty() {
        return Err(RecordError::Missing(format!("het job {leader}")));
    }
    Ok(found)
}

/// What scontrol will be told to act on stands before the first text of a user. Elsewhere it could name another user's
/// job, and a record without it looks the same as one with it.
fn ids(record: &str) -> &str {
    record.split_once(" JobName=").map_or(record, |(ids, _)| ids)
}

fn read(record: &str, job: u32) -> Result<JobRecord, RecordError> {
    let fields = Fields::of(record);
    let get =
        |name| fields.one(name).map_err(|what| RecordError::Contradiction { of: format!("job {job}"), what });
    // Without a state it is the beginning of a record that a line feed in the job's name tore.
    let shown = Some(get("JobState")?).filter(|state| !state.is_empty());
    let shown = shown.ok_or_else(|| RecordError::Missing(format!("job {job}")))?;
    let reason = get("Reason")?;
    let (state, completing) = state(shown, reason, get("ExitCode")?);
    let ids = Fields::of(ids(record));
    let array = number(ids.first("ArrayJobId")).zip(number(ids.first("ArrayTaskId")));
    Ok(JobRecord {
        job,
        array: array.map(|(job, task)| ArrayId { job, task }),
        het: number(ids.first("HetJobId")).filter(|leader| *leader != 0),
        state: state.to_owned(),
        completing,
        reason: reason.to_owned(),
        restarts: number(get("Restarts")?).unwrap_or(0),
        requeue: get("Requeue")? == "1",
        batch: get("BatchFlag")? != "0",
        excluded: hostlist::expand(get("ExcNodeList")?).unwrap_or_default(),
        nodes: hostlist::expand(get("NodeList")?).unwrap_or_default(),
        stdout: fields.first("StdOut").to_owned(),
        stderr: fields.first("StdErr").to_owned(),
        fields: fields.to_map(),
    })
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// The state, and whether the job is completing. A release that shows the flag beside the state is understood; those
/// up to 26.05 show it in place of the state.
fn state<'a>(shown: &'a str, reason: &str, exit_code: &str) -> (&'a str, bool) {
    let mut words = shown.split([',', '+']);
    let completing = words.clone().any(|word| word == "COMPLETING");
    match words.find(|word| *word != "COMPLETING") {
        Some(state) => (state, completing),
        None => (ended_as(reason, exit_code), true),
    }
}

/// How a job that is COMPLETING ended, told from the reason and the exit code (tried on 22.05: a cancelled job has
/// reason None and a signal, a failed one a reason).
fn ended_as(reason: &str, exit_code: &str) -> &'static str {
    match reason {
        "NonZeroExitCode" | "JobLaunchFailure" => "FAILED",
        reason if reason.starts_with("RaisedSignal") => "FAILED",
        "TimeLimit" => "TIMEOUT",
        "DeadLine" => "DEADLINE",
        "NodeDown" | "NodeFail" => "NODE_FAIL",
        "OutOfMemory" | "OOM" => "OUT_OF_MEMORY",
        _ if exit_code == "0:0" => "COMPLETED",
        // Cancelled or preempted: what a person or Slurm ended is not run again by us.
        _ => "CANCELLED",
    }
}
