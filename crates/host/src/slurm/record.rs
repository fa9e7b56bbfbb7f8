//! `scontrol -o show job` and `scontrol -o show node`. 22.05 has no JSON; the one-line form is the same in all releases.
//!
//! Values may hold spaces and `=` (names, comments, reasons, paths), so a record cannot simply be split: a new field
//! begins at a blank followed by a known kind of name and `=`.
use std::collections::BTreeMap;

use triage_core::{ArrayId, JobRecord, NodeName, NodeRecord};

use super::hostlist;

/// The fields of one line. The first of two with one name holds: users write free text only behind what Slurm wrote.
pub fn fields(line: &str) -> BTreeMap<String, String> {
    let starts = field_starts(line);
    let mut fields = BTreeMap::new();
    for (index, (start, name_end)) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(line.len(), |(next, _)| *next);
        let (Some(name), Some(value)) = (line.get(*start..*name_end), line.get(name_end + 1..end)) else {
            continue;
        };
        fields.entry(name.to_owned()).or_insert_with(|| value.trim_end().to_owned());
    }
    fields
}

/// Where fields begin, and where their names end. A name is letters, digits and a few signs, begins with an upper case
/// letter, and stands at the start or behind a blank.
fn field_starts(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut starts = Vec::new();
    let mut word = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b' ' | b'\t' => word = at + 1,
            b'=' => {
                let name = bytes.get(word..at).unwrap_or_default();
                let is_name = name.first().is_some_and(u8::is_ascii_uppercase)
                    && name
                        .iter()
                        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'/' | b'%'));
                if is_name && starts.last().is_none_or(|(start, _)| *start < word) {
                    starts.push((word, at));
                }
            }
            _ => {}
        }
    }
    starts
}

/// A job from its one-line record; `None` when it is none.
pub fn job(line: &str) -> Option<JobRecord> {
    let fields = fields(line);
    let get = |name: &str| fields.get(name).map_or("", String::as_str);
    let number = |name: &str| get(name).parse::<u32>().ok();
    let completing = get("JobState") == "COMPLETING";
    Some(JobRecord {
        job: number("JobId")?,
        array: number("ArrayJobId").zip(number("ArrayTaskId")).map(|(job, task)| ArrayId { job, task }),
        het: number("HetJobId").filter(|leader| *leader != 0),
        state: if completing { ended_as(get("Reason"), get("ExitCode")) } else { get("JobState") }.to_owned(),
        completing,
        reason: get("Reason").to_owned(),
        restarts: number("Restarts").unwrap_or(0),
        requeue: get("Requeue") == "1",
        batch: get("BatchFlag") != "0",
        excluded: hostlist::expand(get("ExcNodeList")).unwrap_or_default(),
        nodes: hostlist::expand(get("NodeList")).unwrap_or_default(),
        stdout: get("StdOut").to_owned(),
        stderr: get("StdErr").to_owned(),
        fields: fields.clone(),
    })
}

/// How a job that is COMPLETING ended. scontrol shows the flag in place of the state, so the state has to be told from
/// the reason and the exit code (tried on 22.05: a cancelled job has reason None and a signal, a failed one a reason).
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

/// A node from its one-line record; `None` when it is none.
pub fn node(line: &str) -> Option<NodeRecord> {
    let fields = fields(line);
    let get = |name: &str| fields.get(name).map_or("", String::as_str);
    let name = fields.get("NodeName").filter(|name| !name.is_empty())?;
    Some(NodeRecord {
        node: NodeName::new(name.as_str()),
        state: get("State")
            .split('+')
            .map(|s| s.trim_end_matches(['*', '$', '@', '#', '~', '!', '%', '^', '-']).to_owned())
            .collect(),
        reason: reason(get("Reason")),
        extra: get("Extra").to_owned(),
    })
}

/// Without the trailing `[user@time]` that scontrol adds.
fn reason(text: &str) -> String {
    let stamped = text.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    match stamped {
        Some((reason, stamp)) if stamp.contains('@') => reason.to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JOB: &str = "JobId=43 ArrayJobId=42 ArrayTaskId=1 JobName=a b=c UserId=u(1000) Requeue=1 Restarts=2 BatchFlag=1 \
        JobState=RUNNING Reason=None ExcNodeList=n[3-4] NodeList=n[1-2] Command=/tmp/x y=1 StdErr=/tmp/e StdOut=/tmp/o Power=";
    const NODE: &str = "NodeName=n1 Arch=x86_64 CoresPerSocket=1 State=IDLE*+DRAIN Gres=gpu:8 OS=Linux 6.1 #1 SMP \
        CfgTRES=cpu=2,gres/gpu=8 AllocTRES= Reason=slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d] [root@2026-01-01T00:00:00] Comment=x";

    #[test]
    fn a_job_with_blanks_and_equal_signs_in_its_values() {
        let job = job(JOB).unwrap();
        assert_eq!((job.job, job.array), (43, Some(ArrayId { job: 42, task: 1 })));
        assert_eq!(job.fields["JobName"], "a b=c");
        assert_eq!(job.excluded.len(), 2);
        assert!(job.requeue && job.batch && !job.completing);
        assert_eq!(job.restarts, 2);
        assert_eq!(job.stdout, "/tmp/o");
    }

    #[test]
    fn a_drained_node_and_its_reason() {
        let node = node(NODE).unwrap();
        assert!(node.is_out());
        assert_eq!(node.state, ["IDLE", "DRAIN"]);
        assert_eq!(node.reason, "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]");
    }

    #[test]
    fn a_reason_that_only_looks_stamped_is_kept_whole() {
        assert_eq!(reason("bad [gpu 3]"), "bad [gpu 3]");
        assert_eq!(reason("bad [gpu 3] [root@now]"), "bad [gpu 3]");
    }

    #[test]
    fn a_job_name_cannot_pass_for_another_field_that_slurm_wrote_before() {
        let line = "JobId=7 JobName=x Requeue=1 UserId=u(1) Requeue=0";
        // The name is free text, so this one is taken at its word; scontrol is asked again before acting and refuses.
        assert!(job(line).is_some());
    }

    #[test]
    fn an_array_task_that_is_not_split_off_has_no_number() {
        assert_eq!(job("JobId=5 ArrayJobId=5 ArrayTaskId=2-9%4 JobState=PENDING").unwrap().array, None);
    }

    #[test]
    fn how_a_completing_job_ended_is_told_from_its_reason() {
        for (reason, exit, state) in [
            ("NonZeroExitCode", "3:0", "FAILED"),
            ("None", "0:15", "CANCELLED"),
            ("JobLaunchFailure", "0:6", "FAILED"),
            ("RaisedSignal:9(Killed)", "0:9", "FAILED"),
            ("TimeLimit", "0:15", "TIMEOUT"),
            ("None", "0:0", "COMPLETED"),
            ("SomethingNew", "1:0", "CANCELLED"),
        ] {
            let job = job(&format!("JobId=1 JobState=COMPLETING Reason={reason} ExitCode={exit}")).unwrap();
            assert_eq!((job.state.as_str(), job.completing), (state, true), "{reason} {exit}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_answered(line in ".{0,200}") {
            let _ = (job(&line), node(&line));
        }
    }
}
