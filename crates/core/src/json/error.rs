//! Why JSON could not be read.
use std::fmt::{self, Display};

/// Why JSON could not be read, and where: the line and column of what is no JSON, the way to a value of a wrong kind.
///
/// A pointer in size: every function that reads a part of a type returns one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Told>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    what: String,
    /// Keys and indices, the innermost first.
    way: Vec<String>,
}

impl Error {
    pub(super) fn new(what: String) -> Self {
        Self(Box::new(Told { what, way: Vec::new() }))
    }

    /// The same, in the member of this name.
    pub(super) fn within(mut self, name: &str) -> Self {
        self.0.way.push(name.to_owned());
        self
    }

    /// The same, in the item at this index.
    pub(super) fn at(self, index: usize) -> Self {
        self.within(&index.to_string())
    }
}

impl Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.what)?;
        let mut before = " at ";
        for step in self.0.way.iter().rev() {
            write!(out, "{before}{step}")?;
            before = ".";
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what.to_string())
    }
}
