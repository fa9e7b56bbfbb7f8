//! What is kept of a check from one pass to the next.
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::words::vocabulary;
use crate::{BootId, Stamp, UnknownWord};

vocabulary! {
    /// How a check stands.
    CheckWord ("check state") {
        /// It looked, and nothing differs from what is expected.
        Ok = "ok",
        /// The site switched it off.
        Disabled = "disabled",
        /// It could not look, or not at everything. Neither healthy nor a fault.
        Blind = "blind",
        /// Something differs.
        Bad = "bad",
    }
}

vocabulary! {
    /// How one resource stands with one check.
    ItemState ("item state") {
        /// Good again, not yet for long enough.
        Good = "good",
        /// Bad, not yet for long enough to count.
        Waiting = "waiting",
        /// Bad.
        Bad = "bad",
    }
}

/// One resource a check has something to say about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// How it stands.
    pub state: ItemState,
    /// Since when.
    pub since: Stamp,
    /// The boot it was last seen in so.
    pub boot: BootId,
}

/// A check's last result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckState {
    /// The check: `mounts`, `site.nhc`.
    pub name: String,
    /// How it stands.
    pub state: CheckWord,
    /// Since when it stands so.
    pub since: Stamp,
    /// When it last looked.
    pub at: Stamp,
    /// In which boot.
    pub boot: BootId,
    /// What it found, or why it is blind; empty when all is well and there is nothing to say.
    pub text: String,
    /// The figure it looked at, with its unit, where it has one.
    pub value: Option<String>,
    /// What reading its areas cost, microseconds; several checks may share an area.
    pub cost_us: u64,
    /// The resources that are not simply good, by name.
    pub items: BTreeMap<String, Item>,
}

impl CheckState {
    /// Whether nothing speaks against anything it looked at, not even what has to stay bad for a while before it counts.
    pub fn is_clean(&self) -> bool {
        self.state != CheckWord::Bad && self.items.values().all(|item| item.state == ItemState::Good)
    }
}
