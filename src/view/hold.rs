//! What people put on hold.
use serde::Serialize;
use triage_core::{Hold, Stamp};

/// A hold that stands.
#[derive(Debug, Serialize)]
pub(crate) struct HoldView<'a> {
    /// `node`, `case` or `job`.
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) name: String,
    /// When it was placed.
    pub(crate) at: Stamp,
    /// When it ends by itself; null: not before it is released.
    pub(crate) until: Option<Stamp>,
    /// Who placed it.
    pub(crate) by: &'a str,
    /// Why.
    pub(crate) reason: &'a str,
}

impl<'a> From<&'a Hold> for HoldView<'a> {
    fn from(hold: &'a Hold) -> Self {
        Self {
            kind: hold.on.kind(),
            name: hold.on.name(),
            at: hold.at,
            until: hold.until,
            by: &hold.by,
            reason: &hold.reason,
        }
    }
}
