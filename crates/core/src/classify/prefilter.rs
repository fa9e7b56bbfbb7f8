//! Literals before patterns, in two steps.
//!
//! 1. A few *anchors*, rare in healthy logs, are looked for over a whole buffer at once. Every tag of every family
//!    holds one, so a line without an anchor has no meaning. Nearly all lines of a healthy node end here.
//! 2. In a line with an anchor the families' own tags are looked for; only families with a tag in it are tried.
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, Input};
use memchr::memmem;

use super::anchors::Anchors;
use crate::catalog::{Family, Origin, Parts};

/// Lines looked at one tag after the other before the index over all tags is worth its half millisecond.
const LINES_BEFORE_INDEX: usize = 64;

/// Which families a line may belong to.
#[derive(Debug)]
pub(crate) struct Prefilter {
    origin: Origin,
    anchors: Anchors,
    lines_seen: AtomicUsize,
    index: OnceLock<Index>,
}

impl Prefilter {
    /// The prefilter for the families that read `origin`.
    pub(crate) fn new(parts: &Parts, origin: Origin) -> Self {
        let shipped = parts.anchors[origin as usize];
        let literals: Vec<&str> = if shipped.is_empty() {
            tags_of(&parts.families, origin).map(|(tag, _)| tag).collect()
        } else {
            shipped.iter().copied().chain(parts.site_tags.iter().map(AsRef::as_ref)).collect()
        };
        Self {
            origin,
            anchors: Anchors::new(&literals),
            lines_seen: AtomicUsize::new(0),
            index: OnceLock::new(),
        }
    }

    /// The first anchor at or after `from`: where it begins.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        self.anchors.find(text, from)
    }

    /// The families of `families` whose tags are in `line`, ascending, each once.
    pub(crate) fn families_in(&self, families: &[Family], line: &[u8]) -> Vec<usize> {
        if self.anchors.find(line, 0).is_none() {
            return Vec::new();
        }
        if self.index.get().is_none() && self.lines_seen.fetch_add(1, Ordering::Relaxed) < LINES_BEFORE_INDEX
        {
            let tagged =
                |family: &Family| family.tags.iter().any(|tag| memmem::find(line, tag.as_bytes()).is_some());
            let mine =
                families.iter().enumerate().filter(|(_, family)| family.sources.contains(&self.origin));
            return mine.filter(|(_, family)| tagged(family)).map(|(index, _)| index).collect();
        }
        self.index.get_or_init(|| Index::new(families, self.origin)).families_in(line)
    }
}

fn tags_of(families: &[Family], origin: Origin) -> impl Iterator<Item = (&str, usize)> {
    let mine = families.iter().enumerate().filter(move |(_, family)| family.sources.contains(&origin));
    mine.flat_map(|(index, family)| family.tags.iter().map(move |tag| (tag.as_ref(), index)))
        .filter(|(tag, _)| !tag.is_empty())
}

/// The second step, for many lines: all tags at once.
#[derive(Debug)]
struct Index {
    tags: Option<AhoCorasick>,
    /// For each tag, the families to try.
    families: Vec<Vec<usize>>,
}

impl Index {
    fn new(families: &[Family], origin: Origin) -> Self {
        let mut by_tag: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (tag, family) in tags_of(families, origin) {
            by_tag.entry(tag).or_default().push(family);
        }
        let leftmost = aho_corasick::MatchKind::LeftmostFirst;
        let automaton = AhoCorasick::builder().match_kind(leftmost).build(by_tag.keys());
        // Two tags with one beginning are found as one of them: it stands for the families of both.
        let sharing = |tag: &str| {
            let shares = |other: &str| other.starts_with(tag) || tag.starts_with(other);
            by_tag
                .iter()
                .filter(|(other, _)| shares(other))
                .flat_map(|(_, families)| families.clone())
                .collect()
        };
        Self { tags: automaton.ok(), families: by_tag.keys().map(|tag| sharing(tag)).collect() }
    }

    fn families_in(&self, line: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(hit) =
            self.tags.as_ref().and_then(|tags| tags.find(Input::new(line).span(from..line.len())))
        {
            found.extend(self.families.get(hit.pattern().as_usize()).into_iter().flatten());
            from = hit.start() + 1;
        }
        found.sort_unstable();
        found.dedup();
        found
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
            pattern: Pattern::embedded("^".into()),
            code: "c".into(),
            otherwise: "".into(),
            resource: Cow::default(),
            decode: None,
        }
    }

    fn parts(tags: &[Vec<String>], filler: usize) -> Parts {
        let mut families: Vec<Family> = tags.iter().cloned().map(family).collect();
        families.extend((0..filler).map(|n| family(vec![format!("filler-{n}")])));
        Parts { families: families.into(), ..Parts::default() }
    }

    proptest! {
        /// With few literals and with more than the vector engine takes, one line or many: a family is tried exactly
        /// where one of its tags is.
        #[test]
        fn no_family_is_missed(
            tags in prop::collection::vec(prop::collection::vec("[ab]{1,4}", 1..3), 1..8),
            line in "[abc]{0,40}",
            filler in prop::sample::select(vec![0usize, 200]),
        ) {
            let parts = parts(&tags, filler);
            let prefilter = Prefilter::new(&parts, Origin::Kernel);
            let wanted: Vec<usize> =
                (0..tags.len()).filter(|index| tags[*index].iter().any(|tag| line.contains(tag.as_str()))).collect();
            prop_assert_eq!(&prefilter.families_in(&parts.families, line.as_bytes()), &wanted);
            prefilter.lines_seen.store(LINES_BEFORE_INDEX, Ordering::Relaxed);
            let indexed = prefilter.families_in(&parts.families, line.as_bytes());
            prop_assert!(wanted.iter().all(|index| indexed.contains(index)), "{:?} {:?}", wanted, indexed);
            prop_assert!(indexed.is_sorted());
        }
    }

    #[test]
    fn a_line_without_an_anchor_is_not_looked_at() {
        let anchors: &[&str] = &["anchor"];
        let parts = Parts {
            anchors: [anchors, &[], &[]],
            ..parts(&[vec!["an anchor".into()], vec!["tag".into()]], 0)
        };
        let prefilter = Prefilter::new(&parts, Origin::Kernel);
        assert_eq!(prefilter.families_in(&parts.families, b"an anchor and a tag"), [0, 1]);
        assert!(prefilter.families_in(&parts.families, b"only a tag").is_empty());
        assert_eq!(prefilter.find(b"xx anchor", 0), Some(3));
    }
}
