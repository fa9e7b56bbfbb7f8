//! Where in the file a key is, for messages a person can act on.
use toml::de::{DeTable, DeValue};

/// Line and column, both from 1, of a byte offset; the column counts characters.
pub(super) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

/// Where the key with this path begins. The parts of a path through an array are numbers.
pub(super) fn key_offset(root: &DeTable<'_>, path: &[String]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, value) = root.iter().find(|(key, _)| key.get_ref() == first.as_str())?;
    value_offset(value.get_ref(), rest).or(Some(key.span().start))
}

fn value_offset(value: &DeValue<'_>, path: &[String]) -> Option<usize> {
    match value {
        DeValue::Table(table) => key_offset(table, path),
        DeValue::Array(items) => {
            let (first, rest) = path.split_first()?;
            let item = items.get(first.parse::<usize>().ok()?)?;
            value_offset(item.get_ref(), rest).or(Some(item.span().start))
        }
        _ => None,
    }
}

/// The path of the innermost key whose value holds this byte.
pub(super) fn key_at(root: &DeTable<'_>, offset: usize) -> Vec<String> {
    for (key, value) in root.iter() {
        let inside = value.span().contains(&offset) || value.span().start == offset;
        let within_table = matches!(value.get_ref(), DeValue::Table(_));
        let rest = match value.get_ref() {
            DeValue::Table(table) => key_at(table, offset),
            _ => Vec::new(),
        };
        // The span of `[section]` is its header alone, so the keys under it are asked in any case.
        if !rest.is_empty() || (inside && !within_table) {
            return std::iter::once(key.get_ref().to_string()).chain(rest).collect();
        }
    }
    Vec::new()
}
