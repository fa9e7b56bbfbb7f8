//! The way out: text to standard output in one go, complaints to standard error.
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::{escape, is_unsafe};

/// Writes a page to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one JSON value to standard output, on one line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = terminal_safe(&serde_json::to_string(value)?);
    line.push('\n');
    Ok(print(&line)?)
}

/// Writes one line to standard error, with our name before it.
pub(crate) fn complain(text: &str) {
    // A closed standard error leaves the exit status to say it.
    let _ = writeln!(io::stderr(), "slurm-triage: {}", escape(text));
}

/// JSON that a terminal does not obey either. serde_json escapes the control characters below U+0020; the others,
/// and those that are invisible or turn the direction, mean the same to a program when they are escaped.
///
/// Such a character can only be inside a string, so the finished text may be gone through.
fn terminal_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a text cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_safe_on_a_terminal_and_reads_back_as_it_was() {
        let text = "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}größe\u{feff}";
        let line = terminal_safe(&serde_json::to_string(text).unwrap());
        assert!(!line.chars().any(is_unsafe), "{line:?}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
