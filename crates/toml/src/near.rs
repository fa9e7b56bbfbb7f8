//! The word that was probably meant.

/// The nearest of `known`, unless `met` is rather another word: two slips in a word of eight letters are taken for slips.
pub fn nearest<'k>(met: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let (slips, word) = known.into_iter().map(|known| (distance(met, known), known)).min()?;
    (slips <= 1 + met.chars().count() / 6).then_some(word)
}

/// Letters to add, drop, change, or swap with their neighbour, to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().take(64).collect(), to.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = row[j] + usize::from(a != b);
            let mut best = change.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && from[i - 1] == *b && to[j - 1] == *a {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(usize::MAX)
}
