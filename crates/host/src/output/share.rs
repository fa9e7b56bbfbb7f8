//! How much of each file is read when there are bounds for all of them together.

/// Divides `total` bytes among files of these lengths: what a short one does not need goes to the longer ones, and
/// these get equal parts.
pub(super) fn share(lengths: &[u64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|index| lengths.get(*index));
    let mut parts = vec![0; lengths.len()];
    let mut left = total;
    for (place, index) in order.iter().enumerate() {
        let equal = left / (order.len() - place) as u64;
        let part = lengths.get(*index).map_or(0, |length| equal.min(*length));
        if let Some(slot) = parts.get_mut(*index) {
            *slot = part;
        }
        left -= part;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_file_leaves_its_part_to_the_long_ones() {
        assert_eq!(share(&[10, 1000, 1000], 110), [10, 50, 50]);
        assert_eq!(share(&[1000], 110), [110]);
        assert_eq!(share(&[3, 4], 110), [3, 4]);
        assert!(share(&[], 1).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_read_twice_and_no_bound_exceeded(lengths in proptest::collection::vec(any::<u64>(), 0..40), total in any::<u64>()) {
            let parts = share(&lengths, total);
            let sum: u128 = parts.iter().map(|part| u128::from(*part)).sum();
            let all: u128 = lengths.iter().map(|length| u128::from(*length)).sum();
            prop_assert!(parts.iter().zip(&lengths).all(|(part, length)| part <= length));
            prop_assert!(sum <= u128::from(total).min(all));
            prop_assert!(sum + lengths.len() as u128 >= u128::from(total).min(all));
        }
    }
}
