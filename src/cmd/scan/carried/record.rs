//! Records of the journal with a field a line: `journalctl -o export`, `-o verbose` and `-o json-pretty`.
use std::borrow::Cow;
use std::ops::Range;

use triage_core::Stamp;
use triage_core::classify::prefix::Sender;

use super::Carried;

/// How far before and behind a line its record's other fields are looked for, bytes.
const REACH: usize = 16 * 1024;

/// How many lines before and behind it: a record has some forty fields, and a log of nothing but texts one in every line.
const MOST_FIELDS: usize = 128;

/// The text of a record, if the line is a record's text. The journal's own word on who wrote it is among the lines around.
pub(super) fn field(buffer: &[u8], line: Range<usize>) -> Option<Carried<'_>> {
    let (name, text) = pair(buffer.get(line.clone())?)?;
    (name == "MESSAGE").then_some(())?;
    let around = around(buffer, line);
    let value =
        |wanted: &str| around.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_ref());
    let transport = value("_TRANSPORT");
    let identifier = value("SYSLOG_IDENTIFIER");
    let micros =
        value("__REALTIME_TIMESTAMP").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    let time = micros.map(Stamp::from_micros);
    let sender = match (transport, identifier) {
        (Some(b"kernel"), _) | (None, Some(b"kernel")) => Sender::Kernel,
        (None, None) => Sender::Unsaid,
        _ => Sender::Process,
    };
    if sender != Sender::Process {
        return Some(Carried { text, sender, time });
    }
    let name = String::from_utf8_lossy(identifier.unwrap_or(b"?"));
    let pid = String::from_utf8_lossy(value("_PID").unwrap_or(b"0"));
    Some(Carried::of_process(&name, &pid, &text, time))
}

/// The fields of the record that holds `line`.
fn around(buffer: &[u8], line: Range<usize>) -> Vec<(&str, Cow<'_, [u8]>)> {
    let before = buffer.get(line.start.saturating_sub(REACH)..line.start).unwrap_or_default();
    let behind = buffer.get(line.end..buffer.len().min(line.end + REACH)).unwrap_or_default();
    let is_bound =
        |line: &&[u8]| line.trim_ascii().is_empty() || line.starts_with(b"{") || line.starts_with(b"}");
    // The line feed that ends the line begins what is behind, and ends what is before.
    let before = before.strip_suffix(b"\n").unwrap_or(before).rsplit(|b| *b == b'\n');
    let behind = behind.strip_prefix(b"\n").unwrap_or(behind).split(|b| *b == b'\n');
    let until = |line: &&[u8]| !is_bound(line);
    let before = before.take(MOST_FIELDS).take_while(until);
    before.chain(behind.take(MOST_FIELDS).take_while(until)).filter_map(pair).collect()
}

/// `NAME=value`, or `"NAME" : "value",`.
fn pair(line: &[u8]) -> Option<(&str, Cow<'_, [u8]>)> {
    let line = line.trim_ascii();
    let (name, value) = match line.strip_prefix(b"\"") {
        Some(quoted) => {
            let end = memchr::memchr(b'"', quoted)?;
            let value = quoted.get(end + 1..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii();
            let value = value.strip_suffix(b",").unwrap_or(value);
            let value: String = triage_core::json::from_bytes(value).ok()?;
            (quoted.get(..end)?, Cow::Owned(value.into_bytes()))
        }
        None => {
            let end = line.iter().take(64).position(|b| *b == b'=')?;
            (line.get(..end)?, Cow::Borrowed(line.get(end + 1..)?))
        }
    };
    let is_name = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    (!name.is_empty() && name.iter().all(is_name)).then_some(())?;
    Some((std::str::from_utf8(name).ok()?, value))
}
