//! What a reader of a job's output hands over: findings and what it could not see, both bounded.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attribute::OutputEvent;
use crate::progress::Progress;

/// Most findings handed over: eight of each of 512 ranks, some megabytes on a pipe.
const MOST_EVENTS: usize = 4096;

/// Most sentences about what could not be read.
const MOST_BLIND: usize = 16;

/// What was found in a job's output. All of it is the job's own word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputReport {
    /// The files that were read, in the order of their numbers in [`OutputEvent::file`], which begin at 1.
    pub files: Vec<OutputFile>,
    /// The findings, in order of file and place; of [`crate::joblog::Scanner::finish`].
    pub events: Vec<OutputEvent>,
    /// What could not be read, one sentence each.
    pub blind: Vec<String>,
    /// How far the job got.
    pub progress: Progress,
}

impl OutputReport {
    /// The report of these findings. Of more than 4096 as many of each code are kept as there is room for, the first
    /// ones first, so that a flood of one meaning hides no other; that some are missing is told.
    pub fn new(mut events: Vec<OutputEvent>, mut blind: Vec<String>) -> Self {
        let found = events.len();
        let mut most = MOST_EVENTS;
        while events.len() > MOST_EVENTS {
            most /= 2;
            keep_of_each_code(&mut events, most);
        }
        if events.len() < found {
            blind.insert(0, format!("output: {} of {found} findings were kept", events.len()));
        }
        let more = blind.len().saturating_sub(MOST_BLIND);
        if more > 0 {
            blind.truncate(MOST_BLIND - 1);
            blind.push(format!("output: {} more parts could not be read", more + 1));
        }
        Self { events, blind, ..Self::default() }
    }

    /// Nothing was read, and why.
    pub fn unread(why: impl Into<String>) -> Self {
        Self { blind: vec![why.into()], ..Self::default() }
    }
}

/// One file of a job's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its name without its folder, unique within the report. Bytes that are no UTF-8 are replaced.
    pub name: String,
    /// How long it was, bytes.
    pub length: u64,
    /// How much of that was read, bytes: its beginning and its end.
    pub read: u64,
}

/// Keeps at most so many findings of each code, the first ones.
pub(super) fn keep_of_each_code(events: &mut Vec<OutputEvent>, most: usize) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    events.retain(|event| {
        let count = seen.entry(event.event.code.to_string()).or_default();
        *count += 1;
        *count <= most
    });
    // So many codes do not exist; a bound that rests on that alone would be none.
    if most <= 1 {
        events.truncate(MOST_EVENTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::build::{exception, timeout};

    #[test]
    fn a_flood_of_one_meaning_hides_no_other() {
        let mut events: Vec<OutputEvent> = (0..20_000).map(|rank| timeout(rank, 1, 600)).collect();
        events.push(exception(7));
        let report = OutputReport::new(events, Vec::new());
        assert!(report.events.len() <= MOST_EVENTS);
        assert!(report.events.iter().any(|seen| seen.code() == "python.exception"));
        assert!(report.blind[0].contains("of 20001 findings"), "{:?}", report.blind);
    }

    #[test]
    fn a_thousand_unreadable_files_are_told_in_a_few_lines() {
        let blind = (0..1000).map(|n| format!("output {n}: it is a FIFO")).collect();
        let report = OutputReport::new(Vec::new(), blind);
        assert_eq!(report.blind.len(), MOST_BLIND);
        assert!(report.blind[MOST_BLIND - 1].contains("985 more"), "{:?}", report.blind);
    }

    #[test]
    fn it_travels_as_json() {
        let report = OutputReport::new(vec![exception(3)], vec!["a".to_owned()]);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<OutputReport>(&text).unwrap(), report);
    }
}
