//! One finding: how bad, what, and what to do about it.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Part;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is to be mended.
    Note,
    /// The suite works, and sees or does less than it could.
    Warn,
    /// Something of the suite does not work.
    Fail,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Which check found it.
    pub(crate) part: Part,
    /// How bad it is.
    pub(crate) level: Level,
    /// What was found.
    pub(crate) what: String,
    /// What to do about it; empty where nothing is to be done.
    pub(crate) remedy: String,
}

/// The findings of one check in the making.
#[derive(Debug)]
pub(crate) struct Findings {
    part: Part,
    all: Vec<Finding>,
}

impl Findings {
    /// None yet.
    pub(crate) const fn of(part: Part) -> Self {
        Self { part, all: Vec::new() }
    }

    /// As it should be.
    pub(crate) fn ok(&mut self, what: impl Into<String>) {
        self.add(Level::Ok, what, "");
    }

    /// Worth knowing.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.add(Level::Note, what, "");
    }

    /// Less than it could be.
    pub(crate) fn warn(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Warn, what, remedy);
    }

    /// Does not work.
    pub(crate) fn fail(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Level::Fail, what, remedy);
    }

    /// Of any level.
    pub(crate) fn add(&mut self, level: Level, what: impl Into<String>, remedy: impl Into<String>) {
        self.all.push(Finding { part: self.part, level, what: what.into(), remedy: remedy.into() });
    }

    /// All of them.
    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.all
    }
}
