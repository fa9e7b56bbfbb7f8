//! `events.jsonl`: what sources other than the kernel's log said, as the ledger keeps it.
use std::io;
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_core::attribute::NodeEvidence;
use triage_core::{Event, Provenance};

use crate::files;

/// Most bytes of one node's events.
const LARGEST: u64 = 16 << 20;

/// Most events of one node.
const MOST: usize = 4096;

/// The file is optional. What a job could have written is left out: this is where trusted sources speak.
pub(crate) fn read(place: &Path, node: &mut NodeEvidence) {
    let bytes = match files::read(&place.join("events.jsonl"), LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            node.blind.push(format!("events.jsonl: {error}"));
            return;
        }
    };
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut bad = 0_usize;
    for line in lines.take(MOST) {
        match triage_core::json::from_bytes::<Event>(line) {
            Ok(event) if event.provenance == Provenance::Trusted => {
                node.events.push(Event { node: node.node.clone(), ..event });
            }
            _ => bad += 1,
        }
    }
    if bad > 0 {
        node.blind.push(format!("events.jsonl: {bad} line(s) are no event of a trusted source"));
    }
    node.events.arrange_by_key(|event| (event.at, event.cursor));
}
