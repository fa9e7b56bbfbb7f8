//! Lists built into the program: one text each, unpacked when a line first needs the list.
//!
//! As statics they would be thousands of pointers, each of which the dynamic loader relocates at the start of every
//! program, and a quarter of a megabyte of each file. Most runs of a hook never look at one of them.
use std::borrow::Cow;
use std::ops::Deref;
use std::str::{FromStr, Split};
use std::sync::OnceLock;

use super::{BuiltIn, Text};

/// Between records, between the fields of one, and between the items of a field that is a list: ASCII's own separators of
/// groups, units and records, which no text of the catalogue holds.
const GROUP_SEPARATOR: char = '\u{1d}';
const UNIT_SEPARATOR: char = '\u{1f}';
const RECORD_SEPARATOR: char = '\u{1e}';

/// What can be read from a packed record.
pub trait Record: Sized + 'static {
    /// Reads the fields in the order in which they were packed; `None` where one is missing or not understood.
    fn unpack(fields: &mut Fields) -> Option<Self>;
}

/// The fields of one record.
#[derive(Debug)]
pub struct Fields(Split<'static, char>);

impl Fields {
    /// A text as it is.
    pub(super) fn text(&mut self) -> Option<Text> {
        self.0.next().map(Cow::Borrowed)
    }

    /// A word of a vocabulary, or a number.
    pub(super) fn word<T: FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }

    /// The same, or nothing where the field is empty.
    pub(super) fn word_if_any<T: FromStr>(&mut self) -> Option<Option<T>> {
        match self.0.next()? {
            "" => Some(None),
            word => word.parse().ok().map(Some),
        }
    }

    /// Texts.
    pub(super) fn texts(&mut self) -> Option<Cow<'static, [Text]>> {
        Some(items(self.0.next()?).map(Cow::Borrowed).collect::<Vec<Text>>().into())
    }

    /// Words of a vocabulary.
    pub(super) fn words<T: FromStr + Clone>(&mut self) -> Option<Cow<'static, [T]>> {
        items(self.0.next()?).map(|word| word.parse().ok()).collect::<Option<Vec<T>>>().map(Cow::Owned)
    }
}

fn items(field: &'static str) -> impl Iterator<Item = &'static str> {
    field.split(RECORD_SEPARATOR).filter(|item| !item.is_empty())
}

/// A list that is unpacked when it is first looked at, or one that was made in memory.
#[derive(Debug, Clone)]
pub struct Packed<T> {
    text: BuiltIn,
    all: OnceLock<Vec<T>>,
}

impl<T: Record> Packed<T> {
    /// The list in a packed text. A record that is not understood is left out.
    pub const fn new(text: BuiltIn) -> Self {
        Self { text, all: OnceLock::new() }
    }

    /// Changes the list.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let mut all = self.all.take().unwrap_or_else(|| unpack(self.text.text()));
        let answer = change(&mut all);
        self.all = OnceLock::from(all);
        answer
    }

    /// Number of records, readable or not.
    pub fn packed_len(&self) -> usize {
        self.text.text().split(GROUP_SEPARATOR).filter(|record| !record.is_empty()).count()
    }
}

fn unpack<T: Record>(text: &'static str) -> Vec<T> {
    let records = text.split(GROUP_SEPARATOR).filter(|record| !record.is_empty());
    let one = |record: &'static str| {
        let mut fields = Fields(record.split(UNIT_SEPARATOR));
        T::unpack(&mut fields).filter(|_| fields.0.next().is_none())
    };
    records.filter_map(one).collect()
}

impl<T: Record> Deref for Packed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.all.get_or_init(|| unpack(self.text.text()))
    }
}

impl<T: Record> Default for Packed<T> {
    fn default() -> Self {
        Self::new(BuiltIn::default())
    }
}

impl<T> From<Vec<T>> for Packed<T> {
    fn from(all: Vec<T>) -> Self {
        Self { text: BuiltIn::default(), all: OnceLock::from(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Family, Origin};
    use proptest::prelude::*;

    const TWO: &str = "a\u{1f}kernel\u{1e}job\u{1f}one\u{1e}two\u{1f}\u{1f}^x\u{1f}c\u{1f}\u{1f}gpu:{pci}\u{1f}nvlink5\u{1d}\
                       b\u{1f}job\u{1f}tag \u{1f}need\u{1f}y$\u{1f}d\u{1f}o\u{1f}\u{1f}\u{1d}";

    #[test]
    fn families_are_read_when_they_are_looked_at() {
        let mut families: Packed<Family> = Packed::new(TWO.into());
        assert_eq!((families.packed_len(), families.len()), (2, 2));
        assert_eq!(*families[0].sources, [Origin::Kernel, Origin::Job]);
        assert_eq!((&families[0].tags[1], families[0].needs.len()), (&Text::from("two"), 0));
        assert_eq!((families[1].tags[0].as_ref(), families[1].decode), ("tag ", None));
        let first = families.change(|all| all.remove(0));
        assert_eq!((first.id.as_ref(), families.len(), families[0].id.as_ref()), ("a", 1, "b"));
    }

    #[test]
    fn a_record_that_is_not_understood_is_left_out_and_counted() {
        let cut = TWO.replace("kernel", "colonel").leak();
        let families: Packed<Family> = Packed::new(BuiltIn::Text(cut));
        assert_eq!((families.packed_len(), families.len()), (2, 1));
        assert!(Packed::<Family>::default().is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[a-z\u{1d}\u{1e}\u{1f}]{0,60}") {
            let families: Packed<Family> = Packed::new(BuiltIn::Text(text.leak()));
            prop_assert!(families.len() <= families.packed_len());
        }
    }
}
