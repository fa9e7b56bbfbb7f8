//! The suite's TOML files, read by type, with the place of whatever is wrong or unknown in them.
//!
//! The `toml` library parses. What hands its values to serde is ours, for two reasons: it remembers which keys nobody
//! asked for and what the nearest known one is, and it is small. The library's own, with `serde_ignored` around it, is
//! generated anew for every type of every file and was a tenth of each executable.
mod error;
mod near;
mod place;
mod remedy;
mod value;

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

pub use crate::error::Fault;
pub use crate::near::nearest;
pub use crate::place::{key_offset, line_column};
pub use crate::remedy::remedy;
pub use toml::Spanned;

use crate::error::Error;
use crate::value::Value;

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read<T> {
    /// What it says.
    pub value: T,
    /// Keys that mean nothing to `T`, in the order of the text.
    pub unknown: Vec<UnknownKey>,
}

/// A key that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Where it is in the text, bytes.
    pub at: usize,
    /// The key with the tables it is in, `deadlines.prologue_ms`; items of an array have their number.
    pub key: String,
    /// The key that was probably meant.
    pub meant: Option<&'static str>,
}

/// Reads a `T` from TOML.
///
/// # Errors
/// When the text is no TOML, or a value in it is not what `T` takes.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<Read<T>, Fault> {
    let root = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let mut message = error.message().to_owned();
        // The parser leaves it to its own drawing of the line to show which.
        if message == "duplicate key" {
            message = format!("{message} `{}`", text.get(span.clone()).unwrap_or_default());
        }
        Fault { at: span.start, key: String::new(), message }
    })?;
    let span = root.span();
    let root = DeValue::Table(root.into_inner());
    let unknown = RefCell::new(Vec::new());
    let value = T::deserialize(Value::root(&root, span, &unknown)).map_err(Error::into_fault)?;
    let mut unknown = unknown.into_inner();
    unknown.sort_by_key(|key: &UnknownKey| key.at);
    Ok(Read { value, unknown })
}

#[cfg(test)]
mod tests;
