//! What is wrong with a text, and where.
use std::fmt;

/// The text is no TOML, or a value in it is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where in the text, bytes; see [`crate::line_column`].
    pub at: usize,
    /// The key with the tables it is in, `deadlines.prolog_ms`; empty where the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

/// A fault that may not have its place yet: the types that values are read into know nothing of texts.
///
/// A pointer in size: every function that reads a part of a type returns one.
#[derive(Debug)]
pub(crate) struct Error(Box<Told>);

#[derive(Debug)]
struct Told {
    message: String,
    place: Option<(usize, String)>,
}

impl Error {
    /// The same, at this place unless it has one: the innermost value is what is wrong.
    pub(crate) fn or_at(mut self, at: usize, key: impl FnOnce() -> String) -> Self {
        self.0.place.get_or_insert_with(|| (at, key()));
        self
    }

    pub(crate) fn into_fault(self) -> Fault {
        let (at, key) = self.0.place.unwrap_or_default();
        Fault { at, key, message: self.0.message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Told { message: message.to_string(), place: None }))
    }
}
