//! The first line of each meaning and origin; the rest is counted.
use crate::arrange::Arrange as _;
use std::collections::HashMap;

use crate::attribute::OutputEvent;

/// Most findings kept of one job: 512 ranks with forty meanings each.
const MOST: usize = 20_480;

/// Most findings of one code, so that a flood of one meaning leaves room for others.
const MOST_OF_ONE_CODE: usize = 4096;

/// Findings with the same key are one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) code: String,
    pub(super) file: u32,
    pub(super) task: Option<u32>,
    pub(super) rank: Option<u32>,
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
}

/// All findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<OutputEvent>,
    by_key: HashMap<Key, usize>,
    /// How many findings of each code there are, and which is the last.
    of_code: HashMap<String, (usize, usize)>,
    /// Findings that the job may yet survive: no progress was reported after them so far.
    pending: Vec<usize>,
    /// Findings for which no later time is known yet.
    undated: Vec<usize>,
}

impl Findings {
    /// Counts a line that is one more of its kind: the finding; `None` when it is the first, or the first since the job
    /// went on.
    pub(super) fn count(&mut self, key: &Key) -> Option<usize> {
        let at = *self.by_key.get(key)?;
        self.count_at(at).then_some(at)
    }

    /// Counts one more line of a finding; `false` when the job went on since, so that the line begins a new one.
    pub(super) fn count_at(&mut self, at: usize) -> bool {
        let Some(known) = self.list.get_mut(at).filter(|known| !known.survived) else { return false };
        known.count += 1;
        true
    }

    /// Where there is no more room, a line is counted with the last finding of its code.
    pub(super) fn count_beyond(&mut self, key: &Key) -> Option<usize> {
        let (count, last) = self.of_code.get(&key.code).copied().unwrap_or_default();
        if self.list.len() < MOST && count < MOST_OF_ONE_CODE {
            return None;
        }
        if let Some(known) = self.list.get_mut(last).filter(|_| count > 0) {
            known.count += 1;
            if self.by_key.len() < 2 * MOST {
                self.by_key.insert(key.clone(), last);
            }
        }
        Some(last)
    }

    /// Adds a finding and says which it is.
    pub(super) fn add(&mut self, key: Key, found: OutputEvent) -> usize {
        let (count, _) = self.of_code.get(&key.code).copied().unwrap_or_default();
        let at = self.list.len();
        if found.time.own.is_none() && self.undated.len() < MOST_OF_ONE_CODE {
            self.undated.push(at);
        }
        self.list.push(found);
        self.of_code.insert(key.code.clone(), (count + 1, at));
        self.by_key.insert(key, at);
        self.pending.push(at);
        at
    }

    /// Whether a finding waits for news of whether the job went on.
    pub(super) fn any_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a finding waits for a later time.
    pub(super) fn any_undated(&self) -> bool {
        !self.undated.is_empty()
    }

    /// The job went on: what was found so far did not end it.
    pub(super) fn survived(&mut self) {
        for at in self.pending.drain(..) {
            if let Some(found) = self.list.get_mut(at) {
                found.survived = true;
            }
        }
    }

    /// A line with a time was read: what was found before it is not newer.
    pub(super) fn dated(&mut self, stamp: crate::Stamp) {
        for at in self.undated.drain(..) {
            if let Some(found) = self.list.get_mut(at) {
                found.time.before = Some(stamp);
            }
        }
    }

    /// The file ends: what it holds is decided.
    pub(super) fn end_of_file(&mut self) {
        self.pending.clear();
        self.undated.clear();
    }

    /// What was found, in order of file and place.
    pub(super) fn finish(mut self) -> Vec<OutputEvent> {
        self.list.arrange_by_key(|seen| (seen.file, seen.place));
        self.list
    }
}
