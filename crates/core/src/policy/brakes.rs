//! `[brake]` of the policy: how many nodes we take out, whatever the evidence says.
use serde::{Deserialize, Serialize};

use crate::Stamp;

/// What a gate says before the moment from which on a brake is looked at again.
pub const AGAIN: &str = "; looked at again from ";

/// Bounds on drains of ours across the cluster. A drain that one of them holds is tried again by a health check after
/// `look_again_s`; lifting a drain is never held. docs/policy.md gives the reasoning behind the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Brakes {
    /// Nodes out by us at one time, in the whole cluster.
    pub max_nodes: u32,
    /// Part of a partition's nodes out by us at one time, 0 to 1 ...
    pub max_share: f64,
    /// ... but so many are always allowed, else a small partition could lose none.
    pub min_nodes: u32,
    /// Nodes below one leaf switch of topology.yaml or topology.conf out by us at one time.
    pub max_per_switch: u32,
    /// Nodes of one run taken out since it began.
    pub max_per_job: u32,
    /// Nodes taken out within `window_s`.
    pub max_in_window: u32,
    /// The window, seconds.
    pub window_s: u32,
    /// Seconds until a node that is held looks again whether there is room, which takes a read of every node's record. It
    /// grows with the time that it is held, to three times as much.
    pub look_again_s: u32,
}

// A share is read from a file and never NaN.
impl Eq for Brakes {}

impl Default for Brakes {
    fn default() -> Self {
        Self {
            max_nodes: 32,
            max_share: 0.1,
            min_nodes: 2,
            max_per_switch: 4,
            max_per_job: 2,
            max_in_window: 4,
            window_s: 600,
            look_again_s: 600,
        }
    }
}

impl Brakes {
    /// What is wrong with it, in words, where something is.
    pub fn fault(&self) -> Option<String> {
        let share = self.max_share;
        (!(0.0..=1.0).contains(&share)).then(|| {
            format!("[brake] max_share = {share} is no share: use a number from 0 to 1, such as 0.1")
        })
    }

    /// From when on a drain that was held at `last` is looked at again, over a case opened at `opened`.
    pub fn next_look(&self, opened: Stamp, last: Stamp) -> Stamp {
        let wait = i64::from(self.look_again_s).saturating_mul(1_000_000);
        let held_for = last.micros_since(opened);
        last.plus_micros((held_for / 2).clamp(wait, wait.saturating_mul(3)))
    }

    /// Most nodes of a partition of `size` nodes.
    pub fn of_partition(&self, size: usize) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a number of nodes times a share of at most 1"
        )]
        let share = (size as f64 * self.max_share).floor() as u32;
        share.max(self.min_nodes)
    }
}
