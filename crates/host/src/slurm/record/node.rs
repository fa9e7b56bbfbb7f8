//! `scontrol -o show node`.
use serde::de::IgnoredAny;
use triage_core::{NodeName, NodeRecord, Stamp};

use super::split::{Fields, records};

/// Signs Slurm puts behind a state: not responding, maintenance, reboot, power saving (sinfo(1), NODE STATE CODES).
const SIGNS: [char; 9] = ['*', '$', '@', '#', '~', '!', '%', '^', '-'];

/// Every node of an answer.
pub fn nodes(answer: &str) -> Vec<NodeRecord> {
    records(answer, "NodeName=").into_iter().filter_map(node).collect()
}

fn node(record: &str) -> Option<NodeRecord> {
    let (record, extra) = without_extra(record);
    let fields = Fields::of(record);
    let name = Some(fields.first("NodeName")).filter(|name| !name.is_empty())?;
    Some(NodeRecord {
        node: NodeName::new(name),
        state: fields.first("State").split('+').map(|word| word.trim_end_matches(SIGNS).to_owned()).collect(),
        reason: reason(fields.first("Reason")).to_owned(),
        reason_at: reason_at(fields.first("Reason")),
        partitions: list(fields.first("Partitions")),
        extra: extra.to_owned(),
    })
}

/// Without the trailing `[user@time]` that scontrol adds.
fn reason(text: &str) -> &str {
    match text.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
        Some((reason, stamp)) if stamp.contains('@') => reason,
        _ => text,
    }
}

/// The time in the trailing `[user@time]`, which is in seconds since 1970 under `SLURM_TIME_FORMAT=%s`.
fn reason_at(text: &str) -> Option<Stamp> {
    let stamp = text.strip_suffix(']')?.rsplit_once(" [")?.1;
    stamp.rsplit_once('@')?.1.parse().ok().map(Stamp::from_secs)
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|name| !matches!(*name, "" | "(null)")).map(str::to_owned).collect()
}

/// The record up to `Extra`, and that field's value. `Extra` is other programs' JSON and may hold anything, also what
/// looks like a field. A comment that holds ` Extra=` makes it unknown which one is meant; the value then is no JSON,
/// so that nobody takes it for ours or writes over it.
fn without_extra(record: &str) -> (&str, &str) {
    const NAME: &str = " Extra=";
    let Some((before, value)) = record.split_once(NAME) else { return (record, "") };
    let value = value.trim_end();
    let mut json = serde_json::Deserializer::from_str(value).into_iter::<IgnoredAny>();
    let end = match json.next() {
        Some(Ok(_)) if value.starts_with('{') => json.byte_offset(),
        _ => Fields::of(record).first("Extra").len(),
    };
    match value.get(end..) {
        Some(after) if !after.contains(NAME) => (before, value.get(..end).unwrap_or(value).trim_end()),
        _ => (before, value),
    }
}
