//! The entries built into the program: one text, sorted by code, without a single pointer to relocate at start-up.
use super::{BuiltIn, Entry, Text};
use std::borrow::Cow;

/// Between the fields of a record. ASCII's own unit separator: no text of the catalogue holds it.
const UNIT_SEPARATOR: char = '\u{1f}';

/// Before a field that is said elsewhere: `<offset>+<length>` in the shared texts. ASCII's record separator.
const SHARED: char = '\u{1e}';

/// Entries packed as text, one record a line, sorted by code, fields in the order of [`Entry`]'s declaration. Half of
/// their words are said by several of them; those are kept once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Table {
    records: BuiltIn,
    shared: BuiltIn,
}

impl Table {
    /// Over packed records, and the texts that several of them refer to.
    pub const fn new(records: BuiltIn, shared: BuiltIn) -> Self {
        Self { records, shared }
    }

    /// The entry of `code`: a binary search over the text.
    pub fn get(self, code: &str) -> Option<Entry> {
        let records = self.records.text();
        let text = records.as_bytes();
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = text[low..middle].iter().rposition(|b| *b == b'\n').map_or(low, |at| low + at + 1);
            let end = text[middle..high].iter().position(|b| *b == b'\n').map_or(high, |at| middle + at);
            let record = records.get(start..end)?;
            match record.split(UNIT_SEPARATOR).next()?.cmp(code) {
                std::cmp::Ordering::Equal => return self.unpack(record),
                std::cmp::Ordering::Less => low = end + 1,
                std::cmp::Ordering::Greater => high = start,
            }
        }
        None
    }

    /// Every entry, by code.
    pub fn entries(self) -> impl Iterator<Item = Entry> {
        self.records.text().lines().filter_map(move |record| self.unpack(record))
    }

    /// Number of records, readable or not.
    pub fn len(self) -> usize {
        self.records.text().lines().count()
    }

    /// Whether there is no record.
    pub fn is_empty(self) -> bool {
        self.records.text().is_empty()
    }

    fn unpack(self, record: &'static str) -> Option<Entry> {
        let mut fields = record.split(UNIT_SEPARATOR);
        let entry = Entry {
            code: self.text(&mut fields)?,
            name: self.text(&mut fields)?,
            fault: self.text(&mut fields)?,
            class: fields.next()?.parse().ok()?,
            role: fields.next()?.parse().ok()?,
            scope: fields.next()?.parse().ok()?,
            action: fields.next()?.parse().ok()?,
            confidence: fields.next()?.parse().ok()?,
            clears: fields.next()?.parse().ok()?,
            description: self.text(&mut fields)?,
            response: self.text(&mut fields)?,
            impact: self.text(&mut fields)?,
            remedy: self.text(&mut fields)?,
            source: self.text(&mut fields)?,
            reason: Cow::Borrowed(""),
        };
        fields.next().is_none().then_some(entry)
    }

    fn text(self, fields: &mut impl Iterator<Item = &'static str>) -> Option<Text> {
        let field = fields.next()?;
        let Some(place) = field.strip_prefix(SHARED) else { return Some(Cow::Borrowed(field)) };
        let (offset, length) = place.split_once('+')?;
        let offset: usize = offset.parse().ok()?;
        let length: usize = length.parse().ok()?;
        self.shared.text().get(offset..offset.checked_add(length)?).map(Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(codes: &[String]) -> Table {
        let mut sorted = codes.to_vec();
        sorted.sort();
        sorted.dedup();
        let rest = "n|f|hardware|root|gpu|drain|confirmed|reboot|d|r|i|m|s".replace('|', "\u{1f}");
        let lines: String = sorted.iter().map(|code| format!("{code}\u{1f}{rest}\n")).collect();
        Table::new(BuiltIn::Text(lines.leak()), BuiltIn::default())
    }

    #[test]
    fn a_record_with_a_missing_or_a_surplus_field_is_no_entry() {
        assert!(Table::new("x\u{1f}y\n".into(), "".into()).get("x").is_none());
        assert!(Table::default().get("x").is_none());
    }

    #[test]
    fn what_several_say_is_found_and_a_place_that_is_none_is_no_entry() {
        let with = |place: &str| {
            let line = format!("x|n|f|hardware|root|gpu|drain|confirmed|reboot|{place}|r|i|m|s\n")
                .replace('|', "\u{1f}");
            let table = Table::new(BuiltIn::Text(line.leak()), "said by many".into());
            table.get("x").map(|entry| entry.description.into_owned())
        };
        assert_eq!(with("\u{1e}8+4").as_deref(), Some("many"));
        for place in
            ["\u{1e}8+5", "\u{1e}99+0", "\u{1e}8", "\u{1e}", "\u{1e}-1+2", "\u{1e}1+18446744073709551615"]
        {
            assert_eq!(with(place), None, "{place:?}");
        }
    }

    #[test]
    fn a_code_that_is_the_beginning_of_another_is_found() {
        let table = packed(&["xid.1".into(), "xid.10".into(), "xid.100".into(), "xid.2".into()]);
        for code in ["xid.1", "xid.10", "xid.100", "xid.2"] {
            assert_eq!(table.get(code).unwrap().code, code);
        }
        assert!(table.get("xid.").is_none());
        assert!(table.get("xid.1000").is_none());
    }

    proptest! {
        #[test]
        fn every_code_packed_is_found_and_no_other(codes in prop::collection::vec("[a-z]{1,3}\\.[0-9]{1,3}", 0..20), other in "[a-z]{1,3}\\.[0-9]{1,3}") {
            let table = packed(&codes);
            for code in &codes {
                prop_assert_eq!(&table.get(code).unwrap().code, code);
            }
            prop_assert_eq!(table.get(&other).is_some(), codes.contains(&other));
        }
    }
}
