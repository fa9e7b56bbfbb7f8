//! From the lines of a spool file to task edges.
use triage_core::{ArrayId, ExitStatus, JobAsk, Stamp, TaskEdge, TaskWhat};
use triage_wire::{End, Step, TaskRecord, What, decode_line};

use crate::rows::task::Extra;

/// What a piece of a spool file holds.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) edges: Vec<(Stamp, TaskEdge, Extra)>,
    /// Lines that are no record.
    pub(super) bad: u64,
}

/// How every record begins.
const HEAD: &[u8] = br#"{"v":"#;

/// Reads whole lines; a line that cannot be understood spoils no other.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    for line in bytes.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let record = decode_line(line).ok().or_else(|| {
            decoded.bad += 1;
            after_torn(line)
        });
        decoded.edges.extend(record.map(edge));
    }
    decoded
}

/// A disk that was full tore a line, and the next record was appended to what is left of it.
fn after_torn(line: &[u8]) -> Option<TaskRecord> {
    let at = line.windows(HEAD.len()).rposition(|window| window == HEAD).filter(|&at| at > 0)?;
    decode_line(line.get(at..)?).ok()
}

fn edge(record: TaskRecord) -> (Stamp, TaskEdge, Extra) {
    let (what, core) = match record.what {
        What::Start => (TaskWhat::Start, None),
        What::End(End::Exit(code)) => (TaskWhat::End(ExitStatus::Exit(code)), None),
        What::End(End::Signal(signal, core)) => (TaskWhat::End(ExitStatus::Signal(signal)), Some(core)),
    };
    let step = match record.step {
        Step::Number(number) => number.to_string(),
        named => named.word().unwrap_or_default().to_owned(),
    };
    let edge = TaskEdge {
        job: record.job,
        array: record.array.map(|(job, task)| ArrayId { job, task }),
        restart: record.restart,
        step,
        rank: record.rank,
        local: record.local,
        pid: record.pid,
        what,
        // A word of a later version is no wish we know.
        ask: record.triage.parse().unwrap_or(JobAsk::Default),
        gpus: record.gpus,
    };
    let extra = Extra { cluster: record.cluster, node: record.node, uid: record.uid, core };
    (Stamp::from_micros(record.at_us), edge, extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_records_or_counted(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
            let decoded = decode(&bytes);
            prop_assert!(decoded.edges.len() <= lines);
            prop_assert!(decoded.edges.len() as u64 + decoded.bad >= lines as u64);
        }

        #[test]
        fn whatever_stands_before_a_record_on_its_line_it_is_read(torn in "[^\n]{1,80}", rank: u32) {
            let line = triage_wire::encode(&TaskRecord { job: 1, rank, ..TaskRecord::default() });
            let decoded = decode(format!("{torn}{line}").as_bytes());
            prop_assert!(decoded.edges.iter().any(|(_, edge, _)| edge.rank == rank));
        }
    }
}
