//! One pass over a job's output.
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use memchr::{memchr2, memrchr2};

use super::findings::{Findings, Key};
use super::gate::Gate;
use super::prefix::{self, Peeled};
use super::stamp::Calendar;
use super::trace::{Blocks, Row, Step};
use crate::attribute::{LineTime, OutputEvent};
use crate::catalog::{Catalog, Origin};
use crate::classify::{LINE_CAP, Meaning};
use crate::progress::{Progress, Tail};
use crate::{BootId, Code, Event, EventId, NodeName, Provenance, Resource, Role, SourceKind, Stamp};

/// So many progress reports after a finding, and it did not end the job. Ranks that wait for a dead one still print a
/// line or two that were under way.
const WENT_ON: u32 = 5;

/// How far back a time is looked for before a line that has none, bytes.
const LOOK_BACK: usize = 64 * 1024;

/// Most lines looked at for a time before one line.
const LOOK_BACK_LINES: usize = 64;

/// A file in which no time was found so often has none.
const LOOK_BACK_FAILURES: u32 = 8;

/// How much of a line's text is kept, bytes: a job may print twenty thousand different lines of the greatest length.
const KEPT_TEXT: usize = 1024;

/// What the lines of a job are read against.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// The days the job ran.
    pub calendar: Calendar,
    /// The node that events are booked on until attribution finds the right one: the batch host.
    pub node: NodeName,
    /// Its boot.
    pub boot: BootId,
}

/// Reads a job's output, file after file, piece after piece.
pub struct Scanner<'c> {
    catalog: &'c Catalog,
    hints: Hints,
    findings: Findings,
    blocks: Blocks,
    file: u32,
    stream: String,
    /// The last time read in this file.
    last_stamp: Option<Stamp>,
    /// How often none was found before a line of this file.
    no_stamp: u32,
    /// Progress reports since the last finding.
    progress: u32,
    /// The file's end, for how far the job got.
    tail: Tail,
    /// Lines of a flood, by their shape.
    shapes: Shapes,
}

impl<'c> Scanner<'c> {
    /// A scanner that found nothing yet.
    pub fn new(catalog: &'c Catalog, hints: Hints) -> Self {
        Self {
            catalog,
            hints,
            findings: Findings::default(),
            blocks: Blocks::default(),
            file: 0,
            stream: String::new(),
            last_stamp: None,
            no_stamp: 0,
            progress: 0,
            tail: Tail::default(),
            shapes: Shapes::default(),
        }
    }

    /// The next file begins. `name` is what events call it.
    pub fn begin(&mut self, name: &str) {
        self.end_of_file();
        self.file += 1;
        name.clone_into(&mut self.stream);
        self.last_stamp = None;
        self.no_stamp = 0;
    }

    /// A piece of the file was left out: what came before it is long past.
    pub fn gap(&mut self) {
        self.blocks.clear();
        self.findings.survived();
        self.findings.end_of_file();
        self.last_stamp = None;
        self.progress = 0;
        self.tail.gap();
    }

    /// Reads a piece that begins at a line's beginning and ends at a line's end. `offset` is its place in the file.
    pub fn feed(&mut self, piece: &[u8], offset: u64) {
        self.tail.feed(piece);
        let mut gate = Gate::new(piece);
        let mut from = 0;
        while from < piece.len() {
            let at = if self.every_line() { Some(from) } else { gate.next(from) };
            let Some(at) = at else { break };
            let start = memrchr2(b'\n', b'\r', &piece[from..at]).map_or(from, |back| from + back + 1);
            let end = memchr2(b'\n', b'\r', &piece[at..]).map_or(piece.len(), |ahead| at + ahead);
            let candidate = gate.next(start).is_some_and(|hit| hit < end);
            self.line(piece, start, end, candidate, offset);
            from = end + 1;
        }
    }

    /// How far the job got, by the ends of the files so far.
    pub fn how_far(&mut self) -> Progress {
        self.tail.end_of_file();
        self.tail.found()
    }

    /// What was found.
    pub fn finish(mut self) -> Vec<OutputEvent> {
        self.end_of_file();
        self.findings.finish()
    }

    fn end_of_file(&mut self) {
        self.blocks.clear();
        self.findings.end_of_file();
        self.tail.end_of_file();
        self.progress = 0;
    }

    /// Whether lines without news matter too: they may belong to a block, tell a time, or show that the job went on.
    fn every_line(&self) -> bool {
        self.blocks.any() || self.findings.any_pending() || self.findings.any_undated()
    }

    fn line(&mut self, piece: &[u8], start: usize, end: usize, candidate: bool, offset: u64) {
        let whole = &piece[start..end];
        let whole = prefix::without_escapes(whole.get(..LINE_CAP).unwrap_or(whole));
        let peeled = prefix::peel(after_bar(&whole));
        if let Some(at) = peeled.at(&self.hints.calendar) {
            self.last_stamp = Some(at);
            self.findings.dated(at);
        }
        let step = if candidate || self.blocks.any() { self.blocks.line(&peeled) } else { Step::Outside };
        let place = offset.saturating_add(start as u64);
        match step {
            Step::Inside => return,
            Step::FirstFailure(row) => {
                self.first_failure(&peeled, &row, place);
                return;
            }
            Step::Exception | Step::Outside => {}
        }
        let in_traceback = step == Step::Exception;
        let shape = (candidate && !in_traceback).then(|| shape(self.file, &peeled));
        if let Some(known) = shape.and_then(|shape| self.shapes.known(shape))
            && self.findings.count_at(known)
        {
            self.progress = 0;
            return;
        }
        if candidate || in_traceback {
            let meaning = read(self.catalog, &peeled, in_traceback);
            if let Some(meaning) = meaning.filter(|meaning| meaning.role != Role::Noise) {
                let found = self.found(&peeled, meaning, place, &piece[..start]);
                if let (Some(shape), Some(found)) = (shape, found) {
                    self.shapes.learn(shape, found);
                }
                return;
            }
        }
        self.count_progress(peeled.text);
    }

    fn count_progress(&mut self, text: &[u8]) {
        if self.findings.any_pending() && is_progress(text) {
            self.progress += 1;
            if self.progress >= WENT_ON {
                self.findings.survived();
                self.progress = 0;
            }
        }
    }

    /// Keeps a line with a meaning, or counts it; the finding it is one of. `before` is what stands before it in the same
    /// piece of the file.
    fn found(&mut self, peeled: &Peeled<'_>, meaning: Meaning, place: u64, before: &[u8]) -> Option<usize> {
        self.progress = 0;
        let rank = peeled.rank.or(peeled.group_rank);
        let host = peeled.host.map(|host| String::from_utf8_lossy(host).into_owned());
        let code = meaning.code.to_string();
        let key = Key { code, file: self.file, task: peeled.task, rank, host: host.clone(), pid: peeled.pid };
        if let Some(known) = self.findings.count(&key).or_else(|| self.findings.count_beyond(&key)) {
            return Some(known);
        }
        let calendar = &self.hints.calendar;
        let own = peeled.at(calendar).or_else(|| stamp_within(&meaning, calendar));
        if self.last_stamp.is_none() && self.no_stamp < LOOK_BACK_FAILURES {
            self.last_stamp = look_back(before, calendar);
            self.no_stamp += u32::from(self.last_stamp.is_none());
        }
        let after = self.last_stamp;
        let kept = peeled.text.get(..KEPT_TEXT).unwrap_or(peeled.text);
        let text = String::from_utf8_lossy(kept).into_owned();
        Some(self.findings.add(
            key,
            OutputEvent {
                event: event(&self.hints, &self.stream, place, own.or(after), meaning, text),
                time: LineTime { own, after, before: None },
                rank,
                task: peeled.task,
                host,
                pid: peeled.pid,
                gpu: peeled.gpu,
                file: self.file,
                place,
                count: 1,
                survived: false,
            },
        ))
    }

    fn first_failure(&mut self, peeled: &Peeled<'_>, row: &Row, place: u64) {
        let Some(meaning) = first_failure_meaning(self.catalog, row) else { return };
        let text = format!(
            "torchrun saw rank {} fail first on {} with exit code {}",
            row.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string()),
            row.host,
            row.exitcode.unwrap_or_default()
        );
        let told =
            Peeled { text: text.as_bytes(), rank: row.rank, host: Some(row.host.as_bytes()), ..*peeled };
        let reading = super::stamp::iso(&mut super::stamp::Bytes(row.time.as_bytes()));
        self.found(&Peeled { reading, ..told }, meaning, place, &[]);
    }
}

/// A flood repeats lines that differ in numbers only. A line whose shape meant the same often enough is counted without
/// being read again.
#[derive(Default)]
struct Shapes(HashMap<u64, Shape>);

#[derive(Clone, Copy)]
struct Shape {
    finding: usize,
    seen: u16,
}

impl Shapes {
    /// Most shapes kept.
    const MOST: usize = 32_768;

    /// So many lines of a shape were read and meant the same before one is counted unread.
    const SURE: u16 = 16;

    fn known(&self, shape: u64) -> Option<usize> {
        self.0.get(&shape).filter(|known| known.seen >= Self::SURE).map(|known| known.finding)
    }

    fn learn(&mut self, shape: u64, finding: usize) {
        if self.0.len() >= Self::MOST {
            return;
        }
        let known = self.0.entry(shape).or_insert(Shape { finding, seen: 0 });
        // A shape that means now this, now that, is never sure.
        known.seen = if known.finding == finding { known.seen.saturating_add(1) } else { 0 };
        known.finding = finding;
    }
}

/// Origin and text of a line without its longer numbers: ports, addresses in memory, sequence numbers. One and two digits
/// stay, they may be a status or an error number.
fn shape(file: u32, peeled: &Peeled<'_>) -> u64 {
    const LOOKED_AT: usize = 400;
    let mut hasher = DefaultHasher::new();
    (file, peeled.task, peeled.rank, peeled.group_rank, peeled.host, peeled.pid).hash(&mut hasher);
    let mut rest = peeled.text.get(..LOOKED_AT).unwrap_or(peeled.text);
    while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
        let digits = rest[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let kept = if digits > 2 { at } else { at + digits };
        hasher.write(&rest[..kept]);
        rest = &rest[at + digits..];
    }
    hasher.write(rest);
    hasher.finish()
}

/// The nearest time before a line, so that one without can still be placed.
fn look_back(before: &[u8], calendar: &Calendar) -> Option<Stamp> {
    let near = before.get(before.len().saturating_sub(LOOK_BACK)..)?;
    near.rsplit(|b| is_end(*b))
        .take(LOOK_BACK_LINES)
        .find_map(|line| prefix::peel(line.get(..512).unwrap_or(line)).at(calendar))
}

/// What one line of a job's output means, prefixes and all; `None` for a line without meaning.
pub fn read_line(catalog: &Catalog, line: &[u8]) -> Option<Meaning> {
    let line: Cow<'_, [u8]> = prefix::without_escapes(line.get(..LINE_CAP).unwrap_or(line));
    read(catalog, &prefix::peel(after_bar(&line)), false)
}

/// What follows a progress bar that did not end its line: `... 1.70s/it, loss=1.6][rank3]: ...`.
fn after_bar(line: &[u8]) -> &[u8] {
    const RATES: [&[u8]; 2] = [b"it/s", b"s/it"];
    /// What a bar shows behind its rate.
    const TAIL: usize = 200;
    // A bar of known length shows how far it is.
    if !line.contains(&b'%') {
        return line;
    }
    let rate = (0..line.len().saturating_sub(4))
        .rev()
        .find(|at| RATES.iter().any(|rate| line[*at..].starts_with(rate)));
    let Some(rate) = rate else { return line };
    let end = line[rate..].iter().take(TAIL).position(|b| *b == b']').map(|at| rate + at + 1);
    match end.map(|end| &line[end..]) {
        Some(rest) if !rest.trim_ascii().is_empty() => rest,
        _ => line,
    }
}

/// An exception that no family knows by name is one all the same when a traceback ends with it.
fn read(catalog: &Catalog, peeled: &Peeled<'_>, ends_traceback: bool) -> Option<Meaning> {
    let mut meaning = catalog.read(Origin::Job, peeled.text);
    if meaning.is_none() && ends_traceback {
        meaning = by_code(catalog, "python.exception");
        if let Some(meaning) = &mut meaning {
            let name = peeled.text.split(|b| *b == b':').next().unwrap_or_default();
            let name: String = String::from_utf8_lossy(name).chars().take(200).collect();
            meaning.fields.insert("exception".to_owned(), name);
        }
    }
    let mut meaning = meaning?;
    if ends_traceback {
        meaning.fields.insert("traceback".to_owned(), "yes".to_owned());
    }
    Some(meaning)
}

fn by_code(catalog: &Catalog, code: &str) -> Option<Meaning> {
    let entry = catalog.entry(code)?;
    Some(Meaning {
        family: String::new(),
        code: Code::from(code),
        class: entry.class,
        role: entry.role,
        action: entry.action,
        confidence: entry.confidence,
        clears: entry.clears,
        resource: Resource::Job,
        fields: BTreeMap::new(),
    })
}

fn first_failure_meaning(catalog: &Catalog, row: &Row) -> Option<Meaning> {
    let mut meaning = by_code(catalog, "torch.elastic_root")?;
    meaning.fields.insert("host".to_owned(), row.host.clone());
    if let Some(code) = row.exitcode {
        meaning.fields.insert("exitcode".to_owned(), code.to_string());
    }
    Some(meaning)
}

/// slurmstepd writes its time into the text.
fn stamp_within(meaning: &Meaning, calendar: &Calendar) -> Option<Stamp> {
    let text = meaning.fields.get("at")?;
    super::stamp::iso(&mut super::stamp::Bytes(text.as_bytes()))?.at(calendar)
}

fn event(
    hints: &Hints,
    stream: &str,
    place: u64,
    at: Option<Stamp>,
    meaning: Meaning,
    text: String,
) -> Event {
    let source = SourceKind::JobOutput;
    Event {
        id: EventId::of(&hints.node, &hints.boot, source.word(), stream, place, meaning.code.as_str()),
        code: meaning.code,
        at: at.unwrap_or(hints.calendar.start),
        node: hints.node.clone(),
        boot: hints.boot.clone(),
        source,
        stream: stream.to_owned(),
        cursor: place,
        provenance: Provenance::User,
        synthetic: false,
        class: meaning.class,
        role: meaning.role,
        advice: meaning.action,
        confidence: meaning.confidence,
        clears: meaning.clears,
        resource: meaning.resource,
        fields: meaning.fields,
        text,
    }
}

/// Progress bars end their lines with a carriage return.
const fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether the line reports progress: a step or an iteration with its number, a loss, a rate.
fn is_progress(text: &[u8]) -> bool {
    const SIGNS: [&[u8]; 12] = [
        b"iteration ",
        b"it/s",
        b"s/it",
        b"loss",
        b"step ",
        b"step=",
        b"step:",
        b"Step ",
        b"Epoch ",
        b"epoch ",
        b"samples/s",
        b"tok/s",
    ];
    let text = text.get(..512).unwrap_or(text);
    text.iter().any(u8::is_ascii_digit)
        && SIGNS.iter().any(|sign| text.windows(sign.len()).any(|w| w == *sign))
}
