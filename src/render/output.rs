//! The way out: text to standard output in one go, complaints to standard error.
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::{escape, is_unsafe};

/// Writes a page to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one JSON value to standard output, on one line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, TerminalSafe))?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// Writes one line to standard error, with our name before it.
pub(crate) fn complain(text: &str) {
    // A closed standard error leaves the exit status to say it.
    let _ = writeln!(io::stderr(), "slurm-triage: {}", escape(text));
}

/// JSON that a terminal does not obey either. serde_json escapes the control characters below U+0020; the others,
/// and those that are invisible or turn the direction, mean the same to a program when they are escaped.
struct TerminalSafe;

impl Formatter for TerminalSafe {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_unsafe(*c)) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &from[c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_safe_on_a_terminal_and_reads_back_as_it_was() {
        let text = "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}größe\u{feff}";
        let mut line = Vec::new();
        text.serialize(&mut Serializer::with_formatter(&mut line, TerminalSafe)).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(!line.chars().any(is_unsafe), "{line:?}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
