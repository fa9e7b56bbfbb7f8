//! Places in a text, as a person counts them, and in a document, as its author named them.
use std::fmt::Write as _;

use toml::de::{DeTable, DeValue};

/// Line and column, both from 1, of a byte offset; the column counts characters.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

/// Where the key with this path begins in a TOML text. The parts of a path through an array are numbers; what lies
/// deeper than the text goes is at the last key there is.
pub fn key_offset(text: &str, path: &[&str]) -> Option<usize> {
    offset_in(DeTable::parse(text).ok()?.get_ref(), path)
}

fn offset_in(table: &DeTable<'_>, path: &[&str]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let deeper = match value.get_ref() {
        DeValue::Table(table) => offset_in(table, rest),
        DeValue::Array(items) => {
            offset_of_item(items.iter().map(|item| (item.span().start, item.get_ref())), rest)
        }
        _ => None,
    };
    deeper.or(Some(key.span().start))
}

fn offset_of_item<'a>(
    mut items: impl Iterator<Item = (usize, &'a DeValue<'a>)>,
    path: &[&str],
) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (at, item) = items.nth(first.parse().ok()?)?;
    match item {
        DeValue::Table(table) => offset_in(table, rest),
        _ => None,
    }
    .or(Some(at))
}

/// The way to a value: the last step, and through it those before.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) before: Option<&'a Step<'a>>,
    pub(crate) name: Name<'a>,
    /// Where the key, or the item, begins.
    pub(crate) at: usize,
    /// The keys that would have meant something here.
    pub(crate) known: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub(crate) enum Name<'a> {
    Key(&'a str),
    Item(usize),
}

/// Longest part of a key that is told, bytes. Every key in a table repeats the table's name.
const LONGEST: usize = 128;

/// `tables.key`, `list.2.key`.
pub(crate) fn dotted(last: Option<&Step<'_>>) -> String {
    let Some(step) = last else { return String::new() };
    let mut text = dotted(step.before);
    if !text.is_empty() {
        text.push('.');
    }
    match step.name {
        Name::Key(key) => text.push_str(&key[..key.floor_char_boundary(LONGEST)]),
        Name::Item(index) => {
            let _ = write!(text, "{index}");
        }
    }
    text
}
