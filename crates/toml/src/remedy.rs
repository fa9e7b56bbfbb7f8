//! What to write instead, where the reader only says what it met and what it wants.

/// Words of a message, and what to do about it. The first that occurs counts.
const REMEDIES: &[(&str, &str)] = &[
    ("expected u8", WHOLE),
    ("expected u16", WHOLE),
    ("expected u32", WHOLE),
    ("expected u64", WHOLE),
    ("expected i32", WHOLE),
    ("expected i64", WHOLE),
    ("expected f64", "write a number without quotes"),
    ("expected a string", "put the value in quotes"),
    ("expected a boolean", "write true or false, without quotes"),
    ("expected a sequence", "write a list: put the value, or several with commas between them, in [ ]"),
    ("expected struct", SECTION),
    ("expected a map", SECTION),
    ("expected a table", SECTION),
    ("string values must be quoted", "put a text in quotes, and write a number without a unit"),
    ("duplicate key", "say it once"),
];

const WHOLE: &str = "write a whole number without quotes";

/// A table stands in a file in one of two ways.
const SECTION: &str = "begin the section with its name in brackets";

/// What to do about a fault with this message; `key` is where it is. An item of a list cannot have a head of its own.
pub fn remedy(key: &str, message: &str) -> Option<&'static str> {
    let (_, remedy) = REMEDIES.iter().find(|(met, _)| message.contains(met))?;
    let is_item = key.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    let in_braces = *remedy == SECTION && is_item && !key.is_empty();
    Some(if in_braces { "write each as { key = value }" } else { remedy })
}
