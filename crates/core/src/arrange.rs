//! Sorting in little code.
//!
//! The standard library's sort is generated anew for every type and every order, 5 kB each; the sixty of this suite were
//! an eighteenth of each executable. Here one sort of positions serves all of them. It costs a list of positions and a
//! call through a pointer for each comparison: nothing for the lists of a pass. Long lists of plain numbers are better
//! off with the standard library's.
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Puts a list in order. All of these are stable: what is equal stays as it was.
pub trait Arrange<T> {
    /// By what `T` itself says.
    fn arrange(&mut self)
    where
        T: Ord;

    /// By a comparison.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// By what a function makes of each.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }

    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let order = order(self.len(), &mut |a, b| match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => compare(a, b),
            _ => Ordering::Equal,
        });
        bring(self, order);
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Collecting into ordered sets and maps one by one. `collect` sorts first, with a sort of its own for each type.
pub trait Gather: Iterator + Sized {
    /// The items, each once.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }

    /// The pairs; of two with the same key the later one.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }
}

impl<I: Iterator> Gather for I {}

/// Which of `0..len` belongs to each place.
fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Moves everything to its place, cycle by cycle; a place that is done points to itself.
fn bring<T>(list: &mut [T], mut order: Vec<usize>) {
    for start in 0..order.len() {
        let mut place = start;
        while let Some(from) = order.get(place).copied().filter(|from| *from != start) {
            list.swap(place, from);
            settle(&mut order, place);
            place = from;
        }
        settle(&mut order, place);
    }
}

fn settle(order: &mut [usize], place: usize) {
    if let Some(entry) = order.get_mut(place) {
        *entry = place;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_is_arranged_as_the_standard_library_sorts_it(
            list in proptest::collection::vec((0_u8..6, any::<u16>()), 0..200),
        ) {
            let sorted = |sort: fn(&mut [(u8, u16)])| {
                let mut list = list.clone();
                sort(&mut list);
                list
            };
            prop_assert_eq!(sorted(|l| l.arrange()), sorted(|l| l.sort()));
            prop_assert_eq!(sorted(|l| l.arrange_by_key(|x| x.0)), sorted(|l| l.sort_by_key(|x| x.0)));
            prop_assert_eq!(
                sorted(|l| l.arrange_by(|a, b| b.0.cmp(&a.0))),
                sorted(|l| l.sort_by_key(|x| std::cmp::Reverse(x.0)))
            );
        }
    }
}
