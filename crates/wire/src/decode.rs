//! From lines to records. A line that cannot be understood spoils no other.
use serde::Deserialize;

use crate::crc32;
use crate::record::{End, MAX_LINE, Step, TaskRecord, What};

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// Its checksum is another one, or not where it belongs: torn, or altered.
    Checksum,
    /// Longer than a record can be.
    TooLong,
    /// No JSON, or not the members that are needed.
    Malformed(String),
    /// A version this reader does not know.
    Version(u32),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum does not fit: the line was torn or altered"),
            Self::TooLong => write!(f, "longer than {MAX_LINE} bytes"),
            Self::Malformed(why) => write!(f, "no task record: {why}"),
            Self::Version(version) => write!(f, "version {version} is not known here: upgrade the reader"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub why: DecodeError,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default = "one")]
    v: u32,
    at: String,
    what: String,
    #[serde(default)]
    cluster: String,
    #[serde(default)]
    node: String,
    #[serde(default)]
    job: u32,
    array_job: Option<u32>,
    array_task: Option<u32>,
    #[serde(default)]
    restart: u32,
    #[serde(default)]
    step: serde_json::Value,
    #[serde(default)]
    rank: u32,
    #[serde(default)]
    local: u32,
    #[serde(default)]
    pid: u32,
    uid: Option<u32>,
    #[serde(default)]
    triage: String,
    #[serde(default)]
    gpus: Vec<String>,
    exit: Option<i32>,
    signal: Option<i32>,
    #[serde(default)]
    core: bool,
    crc: Option<serde::de::IgnoredAny>,
}

const fn one() -> u32 {
    1
}

/// How every record begins.
const HEAD: &[u8] = br#"{"v":"#;

/// All records of a spool file or a bundle's `tasks.jsonl`, and the lines that are none. A last line without line feed
/// is read like any other; whoever follows a growing file keeps it back. A line that begins with a torn record may
/// give both: what is bad of it and, by [`after_torn`], the record behind it.
pub fn decode_all(bytes: &[u8]) -> (Vec<TaskRecord>, Vec<BadLine>) {
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match decode_line(line) {
            Ok(record) => records.push(record),
            Err(why) => {
                bad.push(BadLine { line: index + 1, why });
                records.extend(after_torn(line));
            }
        }
    }
    (records, bad)
}

/// The record at the end of a line that as a whole is none: a full disk tore a record, and the next one was appended
/// to what was left of it. No text inside a record can be taken for one: JSON has its quotes escaped.
pub fn after_torn(line: &[u8]) -> Option<TaskRecord> {
    let at = line.windows(HEAD.len()).rposition(|window| window == HEAD).filter(|at| *at > 0)?;
    decode_line(line.get(at..)?).ok()
}

/// One line, with or without its line feed.
///
/// # Errors
/// When it is no record.
pub fn decode_line(line: &[u8]) -> Result<TaskRecord, DecodeError> {
    let line = line.trim_ascii_end();
    if line.len() > MAX_LINE {
        return Err(DecodeError::TooLong);
    }
    let checked = check(line)?;
    let malformed = |why: &dyn std::fmt::Display| DecodeError::Malformed(why.to_string());
    // As text: serde_json reads bytes with functions of their own, and programs that read records have those for text.
    let line = str::from_utf8(line).map_err(|error| malformed(&error))?;
    let line: Line = serde_json::from_str(line).map_err(|error| malformed(&error))?;
    if line.crc.is_some() && !checked {
        return Err(DecodeError::Checksum);
    }
    if line.v != 1 {
        return Err(DecodeError::Version(line.v));
    }
    let at: jiff::Timestamp = line.at.parse().map_err(|error| malformed(&error))?;
    let what = match (line.what.as_str(), line.signal, line.exit) {
        ("task_start", ..) => What::Start,
        ("task_exit", Some(signal), None) => What::End(End::Signal(signal, line.core)),
        ("task_exit", None, Some(code)) => What::End(End::Exit(code)),
        ("task_exit", ..) => return Err(malformed(&"one of exit and signal must be given")),
        (other, ..) => return Err(malformed(&format_args!("what = {other:?}"))),
    };
    Ok(TaskRecord {
        at_us: at.as_microsecond(),
        what,
        cluster: line.cluster,
        node: line.node,
        job: line.job,
        array: line.array_job.zip(line.array_task),
        restart: line.restart,
        step: step(&line.step).ok_or_else(|| malformed(&"step"))?,
        rank: line.rank,
        local: line.local,
        pid: line.pid,
        uid: line.uid,
        triage: line.triage,
        gpus: line.gpus,
    })
}

fn step(value: &serde_json::Value) -> Option<Step> {
    match value {
        serde_json::Value::Null => Some(Step::default()),
        serde_json::Value::Number(number) => Some(Step::Number(u32::try_from(number.as_u64()?).ok()?)),
        serde_json::Value::String(word) => match word.as_str() {
            "batch" => Some(Step::Batch),
            "extern" => Some(Step::Extern),
            "interactive" => Some(Step::Interactive),
            number => number.parse().ok().map(Step::Number),
        },
        _ => None,
    }
}

/// Whether the line has a checksum where the writer puts it, as the last member; bundles have none.
fn check(line: &[u8]) -> Result<bool, DecodeError> {
    const MARK: &[u8] = br#","crc":""#;
    let Some(at) = line.windows(MARK.len()).rposition(|window| window == MARK) else { return Ok(false) };
    let (body, rest) = line.split_at(at);
    let digits = rest.get(MARK.len()..).and_then(|rest| rest.strip_suffix(br#""}"#));
    let told = digits.filter(|d| d.len() == 8).and_then(|d| std::str::from_utf8(d).ok());
    match told.and_then(|told| u32::from_str_radix(told, 16).ok()) {
        Some(crc) if crc == crc32(body) => Ok(true),
        _ => Err(DecodeError::Checksum),
    }
}
