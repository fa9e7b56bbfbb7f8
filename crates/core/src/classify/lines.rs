//! Over a whole buffer: which lines have a meaning.
use std::ops::Range;

use super::Meaning;
use super::prefix::{self, Peeled};
use crate::catalog::{Catalog, Origin};

/// A line with a meaning.
#[derive(Debug)]
pub struct Hit<'a> {
    /// Where the line is in the buffer, without its line feed.
    pub line: Range<usize>,
    /// Its prefix, taken off.
    pub peeled: Peeled<'a>,
    /// What it means.
    pub meaning: Meaning,
}

impl Catalog {
    /// Where in `buffer` the lines are that hold a literal of some family: a superset of those with a meaning, found
    /// without looking at lines at all.
    pub fn candidates<'a>(
        &'a self,
        origin: Origin,
        buffer: &'a [u8],
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let prefilter = self.prefilter(origin);
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = prefilter.find(buffer, from)?;
            let start = buffer[from..hit].iter().rposition(|b| *b == b'\n').map_or(from, |at| from + at + 1);
            let end = buffer[hit..].iter().position(|b| *b == b'\n').map_or(buffer.len(), |at| hit + at);
            from = (end + 1).min(buffer.len());
            Some(start..end)
        })
    }

    /// Calls `seen` for every line of `buffer` that has a meaning, in order. The buffer should begin and end at line
    /// bounds.
    pub fn for_each_hit(&self, origin: Origin, buffer: &[u8], mut seen: impl FnMut(Hit<'_>)) {
        for line in self.candidates(origin, buffer) {
            let whole = &buffer[line.clone()];
            let peeled = match origin {
                Origin::Kernel => prefix::peel(whole),
                Origin::Job | Origin::Slurm => Peeled::bare(whole),
            };
            if let Some(meaning) = self.read(origin, peeled.text) {
                seen(Hit { line, peeled, meaning });
            }
        }
    }
}
