//! A case for which this node was taken out, and what was done about it since.
use serde::{Deserialize, Serialize};

use super::{Action, Case, Stamp};

/// A case for which our drain of this node was carried out, whether or not it is closed by now. A node that is back, by
/// our doing or somebody else's, has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutCase {
    /// The case.
    pub case: Case,
    /// When the drain was carried out.
    pub drained_at: Stamp,
    /// Repairs and tests, oldest first.
    pub tries: Vec<Try>,
}

/// One repair or test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    /// What.
    pub action: Action,
    /// Whether it went well; `None`: it is not over.
    pub went_well: Option<bool>,
    /// When it was asked for, or ended.
    pub at: Stamp,
    /// What it answered.
    pub answer: String,
}
