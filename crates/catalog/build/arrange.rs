//! The order of a scan's anchors.
//!
//! The vector engine that looks for them (Teddy, in the crate aho-corasick) puts the literal at index `i` of a group into
//! bucket `i % 16`, or `i % 8` in a group of 16 and fewer, and compares byte by byte wherever the first four bytes could be
//! those of *some mixture* of a bucket's literals. In alphabetical order each bucket holds four literals that have nothing in
//! common, every mixture of them is common text, and most of a scan goes into such comparing. Here literals that begin alike
//! come into one bucket. The order changes how long a scan takes, never what it finds.
use std::collections::BTreeSet;

/// Most literals of a group, as `classify/anchors.rs` in the core makes them.
const GROUP: usize = 64;
/// Bytes of a literal that the engine compares at once.
const FIRST: usize = 4;

/// How often each byte comes in log text.
pub(crate) struct Weights([f64; 256]);

impl Weights {
    /// Counted in `lines`.
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        // No byte is impossible.
        let mut counts = [1.0; 256];
        for byte in lines.flat_map(str::bytes) {
            counts[usize::from(byte)] += 1.0;
        }
        let all: f64 = counts.iter().sum();
        Self(counts.map(|count| count / all))
    }

    /// The share of places in a text at which the engine would stop for a bucket with these literals in it, were bytes
    /// independent of each other. It knows the lower and the upper halves of the bytes at each place, not the bytes.
    fn stops(&self, bucket: &[&str]) -> f64 {
        let at = |place: usize| {
            let bytes = || bucket.iter().filter_map(move |literal| literal.as_bytes().get(place));
            let lower: BTreeSet<u8> = bytes().map(|byte| byte & 15).collect();
            let upper: BTreeSet<u8> = bytes().map(|byte| byte >> 4).collect();
            let mixtures = upper.iter().flat_map(|high| lower.iter().map(move |low| high << 4 | low));
            mixtures.map(|byte| self.0[usize::from(byte)]).sum::<f64>()
        };
        (0..FIRST).map(at).product()
    }
}

/// The bucket of each place in the order.
fn bucket_of(place: usize, literals: usize) -> usize {
    let group = place / GROUP;
    let size = literals.saturating_sub(group * GROUP).min(GROUP);
    let buckets = if size <= 16 { 8 } else { 16 };
    group * GROUP + place % GROUP % buckets
}

/// The same literals, arranged: two change places as long as that makes the engine stop less often.
pub(crate) fn arrange(mut literals: Vec<String>, weights: &Weights) -> Vec<String> {
    literals.sort_unstable();
    let count = literals.len();
    let bucket = |literals: &[String], which: usize| {
        let mine = literals.iter().enumerate().filter(|(place, _)| bucket_of(*place, count) == which);
        weights.stops(&mine.map(|(_, literal)| literal.as_str()).collect::<Vec<_>>())
    };
    loop {
        let mut changed = false;
        for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let (a, b) = (bucket_of(one, count), bucket_of(other, count));
            if a == b {
                continue;
            }
            let before = bucket(&literals, a) + bucket(&literals, b);
            literals.swap(one, other);
            // Less by a hair may be the rounding of the same sum, and would never end.
            if bucket(&literals, a) + bucket(&literals, b) < before * 0.999_999 {
                changed = true;
            } else {
                literals.swap(one, other);
            }
        }
        if !changed {
            return literals;
        }
    }
}
