//! Rows of the tables that log stores export.
use triage_core::classify::prefix::{Sender, peel};

use super::Carried;

/// Longest row that is looked at, bytes, and most fields of one.
const LONGEST: usize = 256 * 1024;
const MOST: usize = 64;

/// The fields of a row that may be lines of the kernel's.
///
/// Only a line that begins like a row is one: with a field in quotes, a time, a number or a name. A field without a time or
/// sender of its own counts where the row names the kernel, or where the row tells no more than a time beside it: who wrote
/// it would stand in another column, and may be a process.
pub(super) fn texts(line: &[u8]) -> Vec<Carried<'static>> {
    let separator = if line.contains(&b'\t') { b'\t' } else { b',' };
    if line.len() > LONGEST || !begins_like_a_row(line, separator) {
        return Vec::new();
    }
    let Some(fields) = fields(line, separator) else { return Vec::new() };
    let of_kernel = fields.iter().any(|field| names_the_kernel(field));
    let bare = of_kernel || fields.len() <= 2;
    let tells = |field: &[u8]| {
        let peeled = peel(field);
        let said = peeled.time.is_some() || peeled.sender != Sender::Unsaid;
        (said && peeled.text.len() < field.len()) || super::hosted(field).is_some()
    };
    let kept = fields.into_iter().filter(|field| field.len() > 12 && (bare || tells(field)));
    kept.map(Carried::bare).collect()
}

fn begins_like_a_row(line: &[u8], separator: u8) -> bool {
    let first = line.split(|b| *b == separator).next().unwrap_or_default();
    // No letters but those of a time: else a program's line that begins with its date would be one.
    let is_time = first.iter().all(|b| b.is_ascii_digit() || b"-:.+/ TZ".contains(b));
    let is_word = first.iter().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(b));
    !first.is_empty() && first.len() < line.len() && (line.first() == Some(&b'"') || is_time || is_word)
}

/// `kernel` in a column of its own, or as a label in one.
fn names_the_kernel(field: &[u8]) -> bool {
    matches!(field, b"kernel" | b"kern" | b"kernel:" | b"kern.log" | b"dmesg")
        || (field.starts_with(b"{") && memchr::memmem::find(field, b"\"kernel\"").is_some())
}

/// The fields of a row; `None` if its quotes do not end, or if it has one only or too many.
fn fields(line: &[u8], separator: u8) -> Option<Vec<Vec<u8>>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, behind) = field(rest, separator)?;
        fields.push(field);
        if fields.len() > MOST {
            return None;
        }
        match behind {
            Some(behind) => rest = behind,
            None => return (fields.len() > 1).then_some(fields),
        }
    }
}

/// The first field and what follows the separator behind it. In a field in quotes, two of them stand for one.
fn field(line: &[u8], separator: u8) -> Option<(Vec<u8>, Option<&[u8]>)> {
    let Some(mut rest) = line.strip_prefix(b"\"") else {
        return Some(match line.iter().position(|b| *b == separator) {
            Some(at) => (line.get(..at)?.to_vec(), line.get(at + 1..)),
            None => (line.to_vec(), None),
        });
    };
    let mut field = Vec::new();
    loop {
        let end = memchr::memchr(b'"', rest)?;
        field.extend_from_slice(rest.get(..end)?);
        rest = rest.get(end + 1..)?;
        match rest.split_first() {
            Some((b'"', behind)) => {
                field.push(b'"');
                rest = behind;
            }
            Some((next, behind)) if *next == separator => return Some((field, Some(behind))),
            Some(_) => return None,
            None => return Some((field, None)),
        }
    }
}
