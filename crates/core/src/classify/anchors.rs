//! Any number of literals over a whole buffer, with vector instructions.
//!
//! The vector engine takes a few literals at a time. So they are looked for in groups, and the buffer is gone through in
//! windows that stay in the processor's cache: what a further group costs is its own comparing, not another walk through
//! memory. A window begins small and doubles while nothing is found: where many lines hold a literal, no group looks far
//! beyond the next one. The order of the literals decides how often the engine stops to compare: see the catalogue's
//! `build/arrange.rs`.
use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, Input, Span};

/// Literals of one group: as many as the engine takes with AVX2, else as many as it takes on other processors. Measured on
/// 78 literals: two groups of at most 64 are a third faster than three of 32.
const GROUPS: [usize; 2] = [64, 32];

/// First and last width of a window, bytes. The last one fits the first-level cache of any processor in use.
const NARROW: usize = 256;
const WIDE: usize = 16 * 1024;

/// The literals.
#[derive(Debug)]
pub(super) enum Anchors {
    /// There are none.
    Nothing,
    /// Vector instructions.
    Packed {
        /// Each looks for its share.
        groups: Vec<Searcher>,
        /// Bytes of the longest literal.
        longest: usize,
    },
    /// A processor, or literals, that the engine does not take: a good part slower.
    Automaton(AhoCorasick),
}

impl Anchors {
    pub(super) fn new(literals: &[&str]) -> Self {
        let longest = literals.iter().map(|literal| literal.len()).max().unwrap_or_default();
        if longest == 0 {
            return Self::Nothing;
        }
        let group = |share: &[&str]| {
            Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(share).build()
        };
        let in_groups = |size: usize| literals.chunks(size).map(group).collect::<Option<Vec<Searcher>>>();
        let groups = GROUPS.into_iter().find_map(in_groups);
        groups.map(|groups| Self::Packed { groups, longest }).unwrap_or_else(|| {
            // An automaton cannot fail for less than gigabytes of literals.
            AhoCorasick::new(literals).map_or(Self::Nothing, Self::Automaton)
        })
    }

    /// Where the first of them begins at or after `from`.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        if from >= text.len() {
            return None;
        }
        match self {
            Self::Nothing => None,
            Self::Packed { groups, longest } => in_windows(groups, *longest, text, from),
            Self::Automaton(automaton) => {
                let input = Input::new(text).span(Span::from(from..text.len()));
                automaton.find(input).map(|found| found.start())
            }
        }
    }
}

fn in_windows(groups: &[Searcher], longest: usize, text: &[u8], from: usize) -> Option<usize> {
    let (mut begin, mut width) = (from, NARROW);
    while begin < text.len() {
        let end = text.len().min(begin + width);
        // A literal that begins in this window may end in the next one.
        let mut bound = text.len().min(end + longest - 1);
        let mut first: Option<usize> = None;
        for group in groups {
            let Some(found) = group.find_in(text, Span::from(begin..bound)) else { continue };
            // Other groups need not look beyond it.
            let at = first.map_or(found.start(), |first| first.min(found.start()));
            bound = text.len().min(at + longest - 1);
            first = Some(at);
        }
        if first.is_some() {
            return first;
        }
        (begin, width) = (end, WIDE.min(width * 2));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(literals: &[String], text: &[u8], from: usize) -> Option<usize> {
        let at = |i: &usize| literals.iter().any(|l| text[*i..].starts_with(l.as_bytes()));
        (from..text.len()).find(at)
    }

    proptest! {
        /// In one group, in several, and wherever the windows end.
        #[test]
        fn the_first_literal_is_found_wherever_it_is(
            literals in prop::collection::btree_set("[a-d]{4,9}", 1..140),
            hits in prop::collection::vec((0_usize..3_000, any::<prop::sample::Index>()), 0..4),
            from in 0_usize..3_100,
        ) {
            let literals: Vec<String> = literals.into_iter().collect();
            let mut text = vec![b'.'; 3_000];
            for (at, index) in hits {
                let literal = index.get(&literals).as_bytes();
                let end = text.len().min(at + literal.len());
                text[at..end].copy_from_slice(&literal[..end - at]);
            }
            let shown: Vec<&str> = literals.iter().map(String::as_str).collect();
            let found = Anchors::new(&shown).find(&text, from);
            prop_assert_eq!(found, naive(&literals, &text, from));
        }
    }

    #[test]
    fn a_literal_across_two_windows_and_one_behind_it_in_another_group() {
        let filler: Vec<String> = (0..GROUPS[0]).map(|n| format!("filler-{n}")).collect();
        let mut literals: Vec<&str> = filler.iter().map(String::as_str).collect();
        literals.push("xanchor");
        let anchors = Anchors::new(&literals);
        for at in NARROW - 7..NARROW + 2 {
            let mut text = vec![b' '; 2_000];
            text[at..at + 7].copy_from_slice(b"xanchor");
            text[at + 10..at + 18].copy_from_slice(b"filler-3");
            assert_eq!(anchors.find(&text, 0), Some(at));
            assert_eq!(anchors.find(&text, at + 1), Some(at + 10));
        }
    }
}
