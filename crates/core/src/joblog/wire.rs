//! What a reader of job output tells the program that started it: bounded, and believed no more than the job itself.
//!
//! The reader is a process with the rights of the job's owner, who may stop it, kill it, or speak in its place. So what
//! comes back is taken as the job's own word: it is cut to size, its origin is written over it, and a report
//! that is none is an error, not a finding.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::report::keep_of_each_code;
use super::{Hints, OutputFile, OutputReport};
use crate::attribute::{LineTime, OutputEvent};
use crate::progress::Progress;
use crate::{
    Advice, CauseClass, ClearedBy, Code, Confidence, Event, EventId, Provenance, Resource, Role, SourceKind,
    Stamp,
};

/// Longest report, bytes. Two findings of each of 512 ranks, a few hundred bytes each, are below half of it.
pub const REPORT_CAP: usize = 1 << 20;

/// Most files that a report tells of.
pub const MOST_FILES: usize = 1024;

/// Most sentences about what could not be read.
const MOST_BLIND: usize = 64;

/// Longest of them, and longest name of a file, bytes.
const LONGEST: usize = 512;

/// What is kept of a line's text when a report would be too long, bytes.
const SHORT_TEXT: usize = 200;

/// Most named parts of a line, and the longest part, bytes.
const MOST_FIELDS: usize = 32;

/// Why bytes are no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// There are more than a report may have.
    #[error("longer than {REPORT_CAP} bytes")]
    TooLong,
    /// They cannot be understood.
    #[error("{0}")]
    Malformed(String),
}

/// What travels. What the receiver knows itself, and what it would not believe, is left out.
#[derive(Serialize, Deserialize)]
struct Wire {
    v: u32,
    files: Vec<OutputFile>,
    events: Vec<Seen>,
    blind: Vec<String>,
    #[serde(default, skip_serializing_if = "Progress::is_unknown")]
    progress: Progress,
}

#[derive(Serialize, Deserialize)]
struct Seen {
    code: Code,
    class: CauseClass,
    role: Role,
    advice: Advice,
    confidence: Confidence,
    clears: ClearedBy,
    #[serde(default = "job", skip_serializing_if = "is_job")]
    resource: Resource,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<String, String>,
    text: String,
    at: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu: Option<u32>,
    file: u32,
    place: u64,
    count: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    survived: bool,
}

const fn job() -> Resource {
    Resource::Job
}

fn is_job(resource: &Resource) -> bool {
    *resource == Resource::Job
}

impl OutputReport {
    /// The report as one JSON object of at most [`REPORT_CAP`] bytes. Where it would be longer, texts are cut, and then
    /// each code keeps fewer findings, the first ones: what comes later follows from them.
    pub fn encode(&self) -> Vec<u8> {
        let wire = |report: &Self, text| serde_json::to_vec(&report.wire(text)).unwrap_or_default();
        let whole = wire(self, usize::MAX);
        if whole.len() <= REPORT_CAP {
            return whole;
        }
        let mut report = self.clone();
        report.files.truncate(MOST_FILES);
        report.blind.truncate(MOST_BLIND);
        let mut most = report.events.len();
        loop {
            let encoded = wire(&report, SHORT_TEXT);
            if encoded.len() <= REPORT_CAP || report.events.is_empty() {
                return encoded;
            }
            most = most * 7 / 8;
            keep_of_each_code(&mut report.events, most);
            report.blind.truncate(MOST_BLIND);
            let kept = report.events.len();
            report.blind.push(format!("output: {kept} of {} findings were kept", self.events.len()));
        }
    }

    fn wire(&self, text: usize) -> Wire {
        Wire {
            v: 1,
            files: self.files.clone(),
            events: self.events.iter().map(|seen| Seen::of(seen, text)).collect(),
            blind: self.blind.clone(),
            progress: self.progress,
        }
    }

    /// Reads a report. Every event becomes user evidence about this job on `hints.node`, whatever it says of itself.
    ///
    /// # Errors
    /// When it is too long or no report.
    pub fn decode(bytes: &[u8], hints: &Hints) -> Result<Self, ReportError> {
        if bytes.len() > REPORT_CAP {
            return Err(ReportError::TooLong);
        }
        let wire: Wire =
            crate::json::from_bytes(bytes).map_err(|error| ReportError::Malformed(error.to_string()))?;
        if wire.v != 1 {
            return Err(ReportError::Malformed(format!("version {} is not known here", wire.v)));
        }
        let mut files = wire.files;
        files.truncate(MOST_FILES);
        for file in &mut files {
            file.name = plain(&file.name);
            file.read = file.read.min(file.length);
        }
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        Ok(Self {
            events: wire.events.into_iter().map(|seen| seen.into_event(&names, hints)).collect(),
            blind: wire.blind.iter().take(MOST_BLIND + 1).map(|line| plain(line)).collect(),
            files,
            progress: wire.progress,
        })
    }
}

impl Seen {
    fn of(seen: &OutputEvent, text: usize) -> Self {
        let event = &seen.event;
        Self {
            code: event.code.clone(),
            class: event.class,
            role: event.role,
            advice: event.advice,
            confidence: event.confidence,
            clears: event.clears,
            resource: event.resource.clone(),
            fields: event.fields.iter().map(|(name, value)| (name.clone(), cut(value, text))).collect(),
            text: cut(&event.text, text),
            at: event.at,
            own: seen.time.own,
            after: seen.time.after,
            before: seen.time.before,
            rank: seen.rank,
            task: seen.task,
            host: seen.host.as_deref().map(|host| cut(host, text)),
            pid: seen.pid,
            gpu: seen.gpu,
            file: seen.file,
            place: seen.place,
            count: seen.count,
            survived: seen.survived,
        }
    }

    fn into_event(self, files: &[String], hints: &Hints) -> OutputEvent {
        let source = SourceKind::JobOutput;
        let named = usize::try_from(self.file).ok().and_then(|file| files.get(file.checked_sub(1)?));
        let stream = named.cloned().unwrap_or_default();
        let id =
            EventId::of(&hints.node, &hints.boot, source.word(), &stream, self.place, self.code.as_str());
        let fields = self.fields.into_iter().take(MOST_FIELDS);
        let event = Event {
            id,
            code: self.code,
            at: self.at,
            node: hints.node.clone(),
            boot: hints.boot.clone(),
            source,
            stream,
            cursor: self.place,
            provenance: Provenance::User,
            synthetic: false,
            class: self.class,
            role: self.role,
            advice: self.advice,
            confidence: self.confidence,
            clears: self.clears,
            resource: self.resource,
            fields: fields.collect(),
            text: self.text,
        };
        OutputEvent {
            event,
            time: LineTime { own: self.own, after: self.after, before: self.before },
            rank: self.rank,
            task: self.task,
            host: self.host,
            pid: self.pid,
            gpu: self.gpu,
            file: self.file,
            place: self.place,
            count: self.count.max(1),
            survived: self.survived,
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text).to_owned()
}

/// One line of bounded length without control characters: it is shown to people and written to logs.
fn plain(text: &str) -> String {
    cut(text, LONGEST).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::build::{exception, timeout};
    use proptest::prelude::*;

    /// Of each rank a timeout, and one exception. As a reader finds them: booked on no node yet.
    fn found(ranks: u32) -> OutputReport {
        let mut events: Vec<OutputEvent> = (0..ranks).map(|rank| timeout(rank, 1, 600)).collect();
        events.push(exception(1));
        for (place, seen) in events.iter_mut().enumerate() {
            (seen.file, seen.place) = (1, place as u64);
            let told = Seen::of(seen, usize::MAX);
            *seen = told.into_event(&["o".to_owned()], &Hints::default());
        }
        OutputReport {
            files: vec![OutputFile { name: "o".to_owned(), length: 9, read: 9 }],
            events,
            blind: vec!["e: missing".to_owned()],
            progress: Progress { step: Some(3), checkpoint: Some(u64::MAX) },
        }
    }

    #[test]
    fn what_was_found_comes_back_the_same() {
        let report = found(512);
        let encoded = report.encode();
        assert_eq!(OutputReport::decode(&encoded, &Hints::default()), Ok(report));
    }

    #[test]
    fn of_too_many_findings_every_code_keeps_some() {
        let report = found(4000);
        let encoded = report.encode();
        assert!(encoded.len() <= REPORT_CAP);
        let back = OutputReport::decode(&encoded, &Hints::default()).unwrap();
        let codes = |report: &OutputReport| {
            report
                .events
                .iter()
                .map(|seen| seen.event.code.clone())
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(codes(&back), codes(&report));
        assert!(back.blind.iter().any(|line| line.contains("findings were kept")), "{:?}", back.blind);
    }

    #[test]
    fn a_reader_cannot_pose_as_the_kernel() {
        let mut report = found(1);
        for seen in &mut report.events {
            seen.event.provenance = Provenance::Trusted;
            seen.event.source = SourceKind::Kmsg;
            seen.event.synthetic = true;
        }
        let back = OutputReport::decode(&report.encode(), &Hints::default()).unwrap();
        let of_user = |seen: &OutputEvent| {
            seen.event.provenance == Provenance::User && seen.event.source == SourceKind::JobOutput
        };
        assert!(!back.events.is_empty() && back.events.iter().all(of_user));
    }

    #[test]
    fn no_sentence_of_a_reader_moves_a_terminal() {
        let report = OutputReport::unread(format!("\u{1b}[2J{}", "x".repeat(10_000)));
        let back = OutputReport::decode(&report.encode(), &Hints::default()).unwrap();
        assert!(back.blind[0].len() < 1000 && !back.blind[0].contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_report_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = OutputReport::decode(&bytes, &Hints::default());
        }

        #[test]
        fn a_torn_or_changed_report_does_no_harm(at in 0usize..4000, byte in any::<u8>(), torn in any::<bool>()) {
            let mut encoded = found(3).encode();
            let at = at % encoded.len();
            encoded[at] = byte;
            if torn {
                encoded.truncate(at);
            }
            let _ = OutputReport::decode(&encoded, &Hints::default());
        }
    }
}
