//! From the lines of a spool file to task edges.
use serde::Deserialize;
use triage_core::{ArrayId, ExitStatus, JobAsk, Stamp, TaskEdge, TaskWhat};

use crate::rows::task::Extra;

/// What a piece of a spool file holds.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) edges: Vec<(Stamp, TaskEdge, Extra)>,
    /// Lines that are no record.
    pub(super) bad: u64,
}

#[derive(Deserialize)]
struct Line {
    at: Stamp,
    what: String,
    #[serde(default)]
    cluster: String,
    #[serde(default)]
    node: String,
    job: u32,
    array_job: Option<u32>,
    array_task: Option<u32>,
    #[serde(default)]
    restart: u32,
    step: Step,
    rank: u32,
    local: u32,
    pid: u32,
    uid: Option<u32>,
    #[serde(default)]
    triage: Option<String>,
    #[serde(default)]
    gpus: Vec<String>,
    exit: Option<i32>,
    signal: Option<i32>,
    core: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Number(u32),
    Name(String),
}

/// Reads whole lines; a line that cannot be understood spoils no other.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Line>(line).ok().and_then(edge) {
            Some(edge) => decoded.edges.push(edge),
            None => decoded.bad += 1,
        }
    }
    decoded
}

fn edge(line: Line) -> Option<(Stamp, TaskEdge, Extra)> {
    let what = match line.what.as_str() {
        "task_start" => TaskWhat::Start,
        "task_exit" => TaskWhat::End(match (line.signal, line.exit) {
            (Some(signal), _) => ExitStatus::Signal(signal),
            (None, Some(code)) => ExitStatus::Exit(code),
            (None, None) => return None,
        }),
        _ => return None,
    };
    let edge = TaskEdge {
        job: line.job,
        array: line.array_job.zip(line.array_task).map(|(job, task)| ArrayId { job, task }),
        restart: line.restart,
        step: match line.step {
            Step::Number(n) => n.to_string(),
            Step::Name(name) => name,
        },
        rank: line.rank,
        local: line.local,
        pid: line.pid,
        what,
        ask: line.triage.as_deref().and_then(|word| word.parse().ok()).unwrap_or(JobAsk::Default),
        gpus: line.gpus,
    };
    let extra = Extra { cluster: line.cluster, node: line.node, uid: line.uid, core: line.core };
    Some((line.at, edge, extra))
}
