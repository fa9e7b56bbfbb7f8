//! Old news is no news: what may be said of evidence by its age alone.
//!
//! A new ledger, or one that had to be begun again, finds the kernel's log of this boot as it stands, with faults that
//! may have been repaired since. And what was logged before a reboot, or before a repair that was proven, is history.
use super::same::Names;
use crate::pipeline::{Closed, Input};
use crate::{BootId, ClearedBy, Event, SourceKind, Stamp};

/// What was logged this long before the ledger was begun was seen by nobody of ours.
const BEFORE_OUR_TIME_S: i64 = 600;

/// What evidence may still say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// What it says.
    News,
    /// That something was wrong: `suspected`, until the state of today confirms it.
    BeforeOurTime,
    /// Nothing any more.
    History,
}

/// Judges evidence by its age.
#[derive(Debug)]
pub(super) struct Gate {
    since: Option<Stamp>,
    closed: Vec<Closed>,
    boot: BootId,
}

impl Gate {
    pub(super) fn new(input: &Input<'_>) -> Self {
        // A moment that is yet to come is of a clock that was ahead, and says nothing of before and after.
        let has_come = |at: &Stamp| *at <= input.now;
        let closed = input.past.closed.iter().filter(|closed| has_come(&closed.at)).cloned().collect();
        Self { since: input.past.since.filter(has_come), closed, boot: input.boot.clone() }
    }

    /// How much the event still says about the fault.
    pub(super) fn judge(&self, event: &Event, fault: &str, names: Names<'_>) -> Standing {
        // Sweeps and checks tell of the present.
        if !matches!(event.source, SourceKind::Kmsg | SourceKind::KernelFile) || event.synthetic {
            return Standing::News;
        }
        if self.is_before_repair(event, fault, names) || self.is_of_an_ended_boot(event) {
            return Standing::History;
        }
        match self.since {
            Some(since) if event.at < since.plus_secs(-BEFORE_OUR_TIME_S) => Standing::BeforeOurTime,
            _ => Standing::News,
        }
    }

    fn is_before_repair(&self, event: &Event, fault: &str, names: Names<'_>) -> bool {
        let same =
            |closed: &&Closed| closed.fault == fault && names.are_one(&closed.resource, &event.resource);
        let closed = self.closed.iter().filter(same);
        closed.map(|closed| closed.at).max().is_some_and(|at| event.at <= at)
    }

    /// A line of an earlier boot about a fault that a reboot takes away. What outlives a reboot does not become old by one.
    fn is_of_an_ended_boot(&self, event: &Event) -> bool {
        event.boot != self.boot && event.clears != ClearedBy::Ack
    }
}
