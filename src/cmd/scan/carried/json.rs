//! One object a line: the journal, Docker, and the exports of log stores.
use serde_json::{Map, Value};
use triage_core::Stamp;
use triage_core::classify::prefix::Sender;

use super::Carried;

/// Longest object that is looked at, bytes. Records of the journal are far below.
const LONGEST: usize = 256 * 1024;
/// How deep an object may be inside others: `{"result": {"_raw": ...}}`.
const DEEPEST: usize = 4;

/// Where the text is, most telling first.
const TEXTS: [&str; 14] = [
    "MESSAGE",
    "message",
    "msg",
    "log",
    "line",
    "Line",
    "_raw",
    "@message",
    "textPayload",
    "content",
    "text",
    "body",
    "event",
    "original",
];
/// What holds a further object.
const NESTED: [&str; 8] = ["jsonPayload", "result", "_source", "fields", "event", "log", "data", "stream"];
/// Who wrote it.
const SENDERS: [&str; 8] = [
    "SYSLOG_IDENTIFIER",
    "syslog_identifier",
    "ident",
    "identifier",
    "appname",
    "app_name",
    "program",
    "programname",
];
/// When.
const TIMES: [&str; 6] = ["timestamp", "time", "@timestamp", "ts", "receiveTimestamp", "_time"];

/// The texts of an object.
pub(super) fn texts(line: &[u8]) -> Vec<Carried<'static>> {
    if line.len() > LONGEST {
        return Vec::new();
    }
    match triage_core::json::value(line) {
        Ok(Value::Object(object)) => of_object(&object, DEEPEST),
        _ => Vec::new(),
    }
}

fn of_object(object: &Map<String, Value>, left: usize) -> Vec<Carried<'static>> {
    let mut found = Vec::new();
    let (sender, name) = sender(object);
    let time = time(object);
    let pid = ["_PID", "SYSLOG_PID", "pid", "procid"].iter().find_map(|key| word(object, key));
    for text in TEXTS.iter().filter_map(|key| text(object.get(*key)?)) {
        let text = text.trim_ascii_end();
        found.push(match (sender, &name) {
            (Sender::Process, name) => {
                let name = name.as_deref().unwrap_or("?");
                Carried::of_process(name, pid.as_deref().unwrap_or("0"), text, time)
            }
            (sender, _) => Carried { text: text.to_vec().into(), sender, time },
        });
    }
    if left > 0 {
        let inner = NESTED.iter().filter_map(|key| object.get(*key)?.as_object());
        found.extend(inner.flat_map(|inner| of_object(inner, left - 1)).map(|mut inner| {
            inner.time = inner.time.or(time);
            inner
        }));
    }
    found
}

/// Who wrote it, as far as the object tells: the journal's own word first, for a process cannot choose that.
fn sender(object: &Map<String, Value>) -> (Sender, Option<String>) {
    let name = SENDERS.iter().find_map(|key| word(object, key)).or_else(|| word(object, "_COMM"));
    let transport = word(object, "_TRANSPORT").or_else(|| word(object, "transport"));
    let facility = word(object, "SYSLOG_FACILITY");
    let sender = match (transport.as_deref(), facility.as_deref(), name.as_deref()) {
        (Some("kernel"), ..) => Sender::Kernel,
        (Some("driver" | "syslog" | "journal" | "stdout" | "audit"), ..) => Sender::Process,
        (_, Some("0"), _) | (_, _, Some("kernel" | "kern")) => Sender::Kernel,
        (_, Some(_), _) | (_, _, Some(_)) => Sender::Process,
        _ => Sender::Unsaid,
    };
    (sender, name)
}

fn word(object: &Map<String, Value>, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A text, or the bytes the journal writes for what is no UTF-8.
fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(bytes) => bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect(),
        _ => None,
    }
}

fn time(object: &Map<String, Value>) -> Option<Stamp> {
    let micros = word(object, "__REALTIME_TIMESTAMP").and_then(|micros| micros.parse().ok());
    let written = || TIMES.iter().find_map(|key| object.get(*key)?.as_str()?.parse().ok());
    micros.map(Stamp::from_micros).or_else(written)
}
