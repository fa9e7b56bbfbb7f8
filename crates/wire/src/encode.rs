//! From a record to its line.
use std::fmt::Write;

use crate::record::{End, MAX_LINE, TaskRecord, What};
use crate::{crc32, time};

/// Longest name taken into a record, characters: what a host name may have. Source: `HOST_NAME_MAX` of POSIX, 255.
const MAX_NAME: usize = 255;

/// Longest name of a GPU, characters. The longest there are, old MIG names, have 49.
const MAX_GPU: usize = 64;

/// The line, line feed included; never longer than [`MAX_LINE`]. GPUs that would make it longer are left out, all of
/// them: part of a list would be a wrong one.
pub fn encode(record: &TaskRecord) -> String {
    let whole = line(record, &record.gpus);
    if whole.len() <= MAX_LINE { whole } else { line(record, &[]) }
}

fn line(record: &TaskRecord, gpus: &[String]) -> String {
    let mut out = String::with_capacity(512);
    out.push_str(r#"{"v":1,"at":""#);
    time::push_rfc3339(&mut out, record.at_us);
    let what = if record.what == What::Start { "task_start" } else { "task_exit" };
    let _ = write!(out, r#"","what":"{what}""#);
    text(&mut out, "cluster", &record.cluster);
    text(&mut out, "node", &record.node);
    let _ = write!(out, r#","job":{}"#, record.job);
    if let Some((job, task)) = record.array {
        let _ = write!(out, r#","array_job":{job},"array_task":{task}"#);
    }
    let _ = write!(out, r#","restart":{}"#, record.restart);
    match (record.step.word(), record.step) {
        (Some(word), _) => {
            let _ = write!(out, r#","step":"{word}""#);
        }
        (None, crate::Step::Number(number)) => {
            let _ = write!(out, r#","step":{number}"#);
        }
        (None, _) => {}
    }
    let _ = write!(out, r#","rank":{},"local":{},"pid":{}"#, record.rank, record.local, record.pid);
    if let Some(uid) = record.uid {
        let _ = write!(out, r#","uid":{uid}"#);
    }
    text(&mut out, "triage", &record.triage);
    list(&mut out, "gpus", gpus);
    match record.what {
        What::Start => {}
        What::End(End::Exit(code)) => {
            let _ = write!(out, r#","exit":{code}"#);
        }
        What::End(End::Signal(signal, core)) => {
            let _ = write!(out, r#","signal":{signal},"core":{core}"#);
        }
    }
    let crc = crc32(out.as_bytes());
    let _ = writeln!(out, r#","crc":"{crc:08x}"}}"#);
    out
}

fn text(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = write!(out, r#","{name}":"#);
        string(out, value, MAX_NAME);
    }
}

fn list(out: &mut String, name: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    let _ = write!(out, r#","{name}":["#);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, value, MAX_GPU);
    }
    out.push(']');
}

/// A JSON string of plain ASCII, cut to its bound. Names of Slurm, GPUs and nodes are nothing else; what a user put into
/// the environment may be.
fn string(out: &mut String, value: &str, most: usize) {
    out.push('"');
    for c in value.chars().take(most) {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => out.push('?'),
        }
    }
    out.push('"');
}
