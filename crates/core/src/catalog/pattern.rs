//! A regular expression that is compiled when it is first needed.
use std::borrow::Cow;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::Text;

/// Largest compiled program of one pattern, bytes. The embedded ones stay below 100 KiB; the bound is for site files.
const SIZE_LIMIT: usize = 1 << 20;

/// A pattern over bytes, without Unicode classes, in which `.` also matches a line feed: kernel records may hold one.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Text,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern known to compile; one that does not never matches.
    pub const fn embedded(text: Text) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// A pattern from a file, compiled at once.
    ///
    /// # Errors
    /// What the regex engine says is wrong with it.
    pub fn compile(text: impl Into<String>) -> Result<Self, regex::Error> {
        let text = text.into();
        let regex = build(&text)?;
        Ok(Self { text: Cow::Owned(text), regex: OnceLock::from(Some(regex)) })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The compiled pattern; `None` when it does not compile.
    pub fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| build(&self.text).ok()).as_ref()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

fn build(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).dot_matches_new_line(true).size_limit(SIZE_LIMIT).build()
}
