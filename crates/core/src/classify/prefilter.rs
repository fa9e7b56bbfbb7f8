//! The literals of all families of one origin, looked for at once.
use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{Match, Span};

use crate::catalog::{Family, Origin};

/// Which families a line may belong to, told by the literals in it.
#[derive(Debug, Clone)]
pub(crate) struct Prefilter {
    engine: Engine,
    /// For each literal, the families to try, ascending.
    families: Vec<Vec<usize>>,
}

#[derive(Debug, Clone)]
enum Engine {
    /// No family reads this origin.
    Nothing,
    /// Vector instructions, several gigabytes a second; only for a modest number of literals.
    Packed(Searcher),
    /// Any number of literals, a good part slower.
    Automaton(AhoCorasick),
}

impl Prefilter {
    /// The prefilter for the families that read `origin`.
    pub(crate) fn new(families: &[Family], origin: Origin) -> Self {
        let mut by_tag: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, family) in families.iter().enumerate().filter(|(_, f)| f.sources.contains(&origin)) {
            for tag in family.tags.iter().filter(|tag| !tag.is_empty()) {
                by_tag.entry(tag).or_default().push(index);
            }
        }
        let tags: Vec<&str> = by_tag.keys().copied().collect();
        // Two literals with one beginning are found as one of them: it stands for the families of both.
        let families = tags.iter().map(|tag| sharing_a_beginning(tag, &by_tag)).collect();
        Self { engine: Engine::new(&tags), families }
    }

    /// The first literal at or after `from`: where it begins.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        self.engine.find(text, from).map(|found| found.start())
    }

    /// The families whose literals are in `line`, ascending, each once.
    pub(crate) fn families_in(&self, line: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(hit) = self.engine.find(line, from) {
            if let Some(families) = self.families.get(hit.pattern().as_usize()) {
                found.extend_from_slice(families);
            }
            from = hit.start() + 1;
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn sharing_a_beginning(tag: &str, by_tag: &BTreeMap<&str, Vec<usize>>) -> Vec<usize> {
    let shares = |other: &str| other.starts_with(tag) || tag.starts_with(other);
    let mut all: Vec<usize> =
        by_tag.iter().filter(|(other, _)| shares(other)).flat_map(|(_, f)| f.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Engine {
    fn new(tags: &[&str]) -> Self {
        if tags.is_empty() {
            return Self::Nothing;
        }
        let packed = Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(tags).build();
        packed.map(Self::Packed).unwrap_or_else(|| {
            // An automaton cannot fail for less than gigabytes of literals.
            let leftmost =
                AhoCorasick::builder().match_kind(aho_corasick::MatchKind::LeftmostFirst).build(tags);
            leftmost.map_or(Self::Nothing, Self::Automaton)
        })
    }

    fn find(&self, text: &[u8], from: usize) -> Option<Match> {
        if from >= text.len() {
            return None;
        }
        let span = Span::from(from..text.len());
        match self {
            Self::Nothing => None,
            Self::Packed(searcher) => searcher.find_in(text, span),
            Self::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).span(span)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Pattern;
    use proptest::prelude::*;
    use std::borrow::Cow;

    fn family(tags: Vec<String>) -> Family {
        Family {
            id: "f".into(),
            sources: Cow::Borrowed(&[Origin::Kernel]),
            tags: tags.into_iter().map(Cow::Owned).collect(),
            needs: Cow::default(),
            pattern: Pattern::embedded("^"),
            code: "c".into(),
            otherwise: "".into(),
            resource: Cow::default(),
            decode: None,
        }
    }

    proptest! {
        /// With few literals and with more than the vector engine takes: a family is tried wherever its literal is.
        #[test]
        fn no_family_is_missed(
            tags in prop::collection::vec(prop::collection::vec("[ab]{1,4}", 1..3), 1..8),
            line in "[abc]{0,40}",
            filler in prop::sample::select(vec![0usize, 200]),
        ) {
            let mut families: Vec<Family> = tags.iter().cloned().map(family).collect();
            families.extend((0..filler).map(|n| family(vec![format!("filler-{n}")])));
            let found = Prefilter::new(&families, Origin::Kernel).families_in(line.as_bytes());
            for (index, tags) in tags.iter().enumerate() {
                if tags.iter().any(|tag| line.contains(tag.as_str())) {
                    prop_assert!(found.contains(&index), "{:?} in {}", tags, line);
                }
            }
            prop_assert!(found.is_sorted());
        }
    }
}
