//! What one pass took from the kernel's log.
use std::borrow::Cow;
use std::ops::Range;

use triage_core::{BootId, NodeName, Observation, Payload, Provenance, SourceKind, Stamp};

use super::Cursor;
use super::file::Dating;

/// What one pass took: one buffer, an index of its lines, and what was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRead {
    pub(super) origin: Origin,
    pub(super) boot: BootId,
    pub(super) buffer: Vec<u8>,
    pub(super) lines: Vec<Entry>,
    /// When the pass read.
    pub read_at: Stamp,
    /// Where the next pass begins.
    pub cursor: Cursor,
    /// What could not be read any more.
    pub lost: Vec<Lost>,
    /// Records that a program wrote through `/dev/kmsg`, and that were dropped for it.
    pub dropped_user_lines: u64,
    /// A bound stopped the pass; the next one goes on.
    pub more: bool,
}

/// What is needed to make a line of a piece of the buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Text and time are apart already.
    Kmsg,
    /// They are not; only lines that are asked for are taken apart.
    File { path: String, dating: Dating },
}

/// One line of the buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its place in the buffer, without the line feed.
    pub(super) range: Range<usize>,
    /// Its place in the source: sequence number, or byte offset in the file.
    pub(super) cursor: u64,
    /// When it was written; of lines of a file, not known yet.
    pub(super) at: Stamp,
    /// Which file of that path: digest of its first line.
    pub(super) generation: u64,
    pub(super) synthetic: bool,
}

/// Something of the log that nobody will read any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// These records, first and last, were overwritten before they were read.
    Records {
        /// First lost sequence number.
        from: u64,
        /// Last lost sequence number.
        to: u64,
    },
    /// How much cannot be told: one line that says why.
    Unknown(String),
}

/// One line with its meta data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLine<'a> {
    /// The text without its transport's prefix. One line always: control characters stay in the form in which the
    /// kernel escapes them, `\x0a`.
    pub text: Cow<'a, str>,
    /// Place in the source: sequence number, or byte offset in the file.
    pub cursor: u64,
    /// Which one of the kind of source: a file's path with a digest of its first line, because offsets begin anew
    /// when it is rotated; empty for `/dev/kmsg`.
    pub stream: Cow<'a, str>,
    /// In which boot it was written.
    pub boot: &'a BootId,
    /// When it was written.
    pub at: Stamp,
    /// It came through the test switch.
    pub synthetic: bool,
}

impl KernelRead {
    /// All lines, each ended by a line feed. For a prefilter: nothing in it is known to be worth a look.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The line that holds this byte of the buffer. `None` also for a line that is not the kernel's, or older than
    /// this boot and not followed since then.
    pub fn line_at(&self, offset: usize) -> Option<KernelLine<'_>> {
        let after = self.lines.partition_point(|entry| entry.range.start <= offset);
        self.line(self.lines.get(after.checked_sub(1)?)?)
    }

    /// Every line that is the kernel's, in the order of the source.
    pub fn lines(&self) -> impl Iterator<Item = KernelLine<'_>> {
        self.lines.iter().filter_map(|entry| self.line(entry))
    }

    fn line(&self, entry: &Entry) -> Option<KernelLine<'_>> {
        let raw = self.buffer.get(entry.range.clone())?;
        let (text, at, boot, stream) = match &self.origin {
            Origin::Kmsg => (raw, entry.at, &self.boot, Cow::Borrowed("")),
            Origin::File { path, dating } => {
                let (text, at, earlier) = dating.date(raw, self.read_at)?;
                let stream = format!("{path}@{:08x}", entry.generation >> 32);
                (text, at, earlier.unwrap_or(&self.boot), Cow::Owned(stream))
            }
        };
        let (cursor, synthetic) = (entry.cursor, entry.synthetic);
        Some(KernelLine { text: String::from_utf8_lossy(text), cursor, stream, boot, at, synthetic })
    }

    /// A line as an observation.
    pub fn observe(&self, node: &NodeName, line: &KernelLine<'_>) -> Observation {
        Observation {
            node: node.clone(),
            boot: line.boot.clone(),
            source: self.kind(),
            stream: line.stream.clone().into_owned(),
            cursor: line.cursor,
            at: line.at,
            provenance: Provenance::Trusted,
            synthetic: line.synthetic,
            payload: Payload::Line(line.text.clone().into_owned()),
        }
    }

    /// What was lost, as observations.
    pub fn observe_lost(&self, node: &NodeName) -> Vec<Observation> {
        let now = u64::try_from(self.read_at.micros()).unwrap_or(0);
        let payloads = self.lost.iter().map(|lost| match lost {
            Lost::Records { from, to } => (*from, Payload::Gap { from: *from, to: *to }),
            Lost::Unknown(reason) => (now, Payload::Blind { reason: reason.clone(), hung: false }),
        });
        let observation = |(cursor, payload)| Observation {
            node: node.clone(),
            boot: self.boot.clone(),
            source: self.kind(),
            stream: self.stream().to_owned(),
            cursor,
            at: self.read_at,
            provenance: Provenance::Trusted,
            synthetic: false,
            payload,
        };
        payloads.map(observation).collect()
    }

    const fn kind(&self) -> SourceKind {
        match self.origin {
            Origin::Kmsg => SourceKind::Kmsg,
            Origin::File { .. } => SourceKind::KernelFile,
        }
    }

    fn stream(&self) -> &str {
        match &self.origin {
            Origin::Kmsg => "",
            Origin::File { path, .. } => path,
        }
    }
}
