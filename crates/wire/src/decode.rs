//! From lines to records. A line that cannot be understood spoils no other.
use serde::Deserialize;

use crate::crc32;
use crate::record::{End, MAX_LINE, Step, TaskRecord, What};

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// Its checksum is another one: torn, or altered.
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
}

const fn one() -> u32 {
    1
}

/// All records of a spool file or a bundle's `tasks.jsonl`, and the lines that are none. A last line without line feed
/// is read like any other; whoever follows a growing file keeps it back.
pub fn decode_all(bytes: &[u8]) -> (Vec<TaskRecord>, Vec<BadLine>) {
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match decode_line(line) {
            Ok(record) => records.push(record),
            Err(why) => bad.push(BadLine { line: index + 1, why }),
        }
    }
    (records, bad)
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
    check(line)?;
    let malformed = |why: &dyn std::fmt::Display| DecodeError::Malformed(why.to_string());
    let line: Line = serde_json::from_slice(line).map_err(|error| malformed(&error))?;
    if line.v != 1 {
        return Err(DecodeError::Version(line.v));
    }
    let at: jiff::Timestamp = line.at.parse().map_err(|error| malformed(&error))?;
    let what = match (line.what.as_str(), line.signal, line.exit) {
        ("task_start", ..) => What::Start,
        ("task_exit", Some(signal), _) => What::End(End::Signal(signal, line.core)),
        ("task_exit", None, Some(code)) => What::End(End::Exit(code)),
        ("task_exit", None, None) => return Err(malformed(&"neither exit nor signal")),
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

/// A line with a checksum must fit it; bundles have none.
fn check(line: &[u8]) -> Result<(), DecodeError> {
    const MARK: &[u8] = br#","crc":""#;
    let Some(at) = line.windows(MARK.len()).rposition(|window| window == MARK) else { return Ok(()) };
    let (body, rest) = line.split_at(at);
    let digits = rest.get(MARK.len()..).and_then(|rest| rest.strip_suffix(br#""}"#));
    let told = digits.filter(|d| d.len() == 8).and_then(|d| std::str::from_utf8(d).ok());
    match told.and_then(|told| u32::from_str_radix(told, 16).ok()) {
        Some(crc) if crc == crc32(body) => Ok(()),
        _ => Err(DecodeError::Checksum),
    }
}
