//! One area's facts, with what could not be read and what reading cost.
use serde::{Deserialize, Serialize};

/// One area's facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet<T> {
    /// What was read; `None` when nothing could be.
    pub said: Option<T>,
    /// What could not be read and why, one sentence each. While there is one, the checks of this area prove nothing
    /// healthy. A file that need not be there and is not is no blindness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blind: Vec<String>,
    /// What reading cost, microseconds of wall time.
    #[serde(default)]
    pub cost_us: u64,
}

/// How reading an area went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SheetState<'a> {
    /// Something was read.
    pub said: bool,
    /// What could not be read.
    pub blind: &'a [String],
    /// What reading cost, microseconds.
    pub cost_us: u64,
}

impl<T> Sheet<T> {
    /// Everything there was could be read.
    pub const fn read(said: T) -> Self {
        Self { said: Some(said), blind: Vec::new(), cost_us: 0 }
    }

    /// Nothing could be read, and why.
    pub fn blind(why: impl Into<String>) -> Self {
        Self { said: None, blind: vec![why.into()], cost_us: 0 }
    }

    /// How it went.
    pub fn state(&self) -> SheetState<'_> {
        SheetState { said: self.said.is_some(), blind: &self.blind, cost_us: self.cost_us }
    }
}
