//! What the site's own checks answered.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::UnknownWord;
use crate::model::words::vocabulary;

vocabulary! {
    /// What a site's own check says: the words of the Nagios plugins.
    SiteStatus ("status") {
        /// Exit status 0.
        Ok = "ok",
        /// Exit status 1.
        Warning = "warning",
        /// Exit status 2.
        Critical = "critical",
        /// Exit status 3, anything else, or no answer at all.
        Unknown = "unknown",
    }
}

/// All of them, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteFacts {
    /// The answers.
    pub answers: Vec<SiteAnswer>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteAnswer {
    /// The file's name.
    pub name: String,
    /// What it says.
    pub status: SiteStatus,
    /// Its words, one line, cut to size, control characters replaced; ours where it was refused or did not answer.
    pub text: String,
    /// What it is about, where it says so.
    pub resource: Option<String>,
    /// How long it took, microseconds.
    pub cost_us: u64,
}
