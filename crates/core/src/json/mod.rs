//! JSON that somebody else wrote, or an earlier release of ours.
//!
//! serde_json builds a tree of it, and `tree.rs` gives each type what it asks for. Read from the text directly, every
//! type would be generated once more with a parser around it, and once as the list that serde_json takes a struct for
//! as well: as much code again as all of the pipeline's. An error of the second step names the way to its place.
mod error;
mod tree;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use error::Error;
use tree::Tree;

/// Reads a `T`.
///
/// # Errors
/// When the bytes are no UTF-8, no JSON, or no `T`.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    from_value(value(bytes)?)
}

/// Reads a `T`.
///
/// # Errors
/// When the text is no JSON, or no `T`.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_bytes(text.as_bytes())
}

/// Reads a `T` of what has been parsed.
///
/// # Errors
/// When it is no `T`.
pub fn from_value<T: DeserializeOwned>(mut value: Value) -> Result<T, Error> {
    T::deserialize(Tree(&mut value))
}

/// Reads JSON as it is.
///
/// # Errors
/// When the bytes are no UTF-8, or no JSON.
pub fn value(bytes: &[u8]) -> Result<Value, Error> {
    let text = str::from_utf8(bytes).map_err(|error| Error::new(format!("no UTF-8 text: {error}")))?;
    serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))
}

#[cfg(test)]
mod tests;
