//! `tasks.jsonl`: when each task started, and how it ended.
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_core::attribute::NodeEvidence;
use triage_core::{ArrayId, ExitStatus, JobAsk, Stamp, TaskEdge, TaskWhat};
use triage_wire::{End, Step, TaskRecord, What, decode_all};

use crate::files;
use crate::incident::Incident;

/// Most bytes of one node's records: a million lines.
const LARGEST: u64 = 256 << 20;

pub(crate) fn read(place: &Path, incident: &Incident, node: &mut NodeEvidence) {
    let path = place.join("tasks.jsonl");
    let bytes = match files::read(&path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) => {
            node.blind.push(format!("tasks.jsonl: {error}"));
            return;
        }
    };
    let (mut bad, mut first) = (0_usize, None);
    // Line by line: a file may be nothing but bad lines, a hundred million of them.
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        let (records, broken) = decode_all(line);
        bad += broken.len();
        first = first.or_else(|| broken.into_iter().next().map(|bad| (index + 1, bad.why)));
        let of_run = |record: &TaskRecord| record.restart == 0 || record.restart == incident.run.restart;
        let records = records.into_iter().filter(of_run);
        node.tasks.extend(records.map(|record| (Stamp::from_micros(record.at_us), edge(record))));
    }
    if let Some((line, why)) = first {
        node.blind.push(format!("tasks.jsonl: {bad} line(s) are no record, the first is {line}: {why}"));
    }
    node.tasks.arrange_by_key(|(at, edge)| (*at, edge.rank));
}

fn edge(record: TaskRecord) -> TaskEdge {
    TaskEdge {
        job: record.job,
        array: record.array.map(|(job, task)| ArrayId { job, task }),
        restart: record.restart,
        step: match record.step {
            Step::Number(number) => number.to_string(),
            named => named.word().unwrap_or_default().to_owned(),
        },
        rank: record.rank,
        local: record.local,
        pid: record.pid,
        what: match record.what {
            What::Start => TaskWhat::Start,
            What::End(End::Exit(code)) => TaskWhat::End(ExitStatus::Exit(code)),
            What::End(End::Signal(signal, _)) => TaskWhat::End(ExitStatus::Signal(signal)),
        },
        ask: record.triage.parse().unwrap_or(JobAsk::Default),
        gpus: record.gpus,
    }
}
