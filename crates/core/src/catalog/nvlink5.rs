//! Xid 144 to 150: what the registers of an NVLink 5 fault say.
//!
//! The driver prints six words; the first (`intrinfo`) holds the unit in its low bits and a sub-code in bits 25..20,
//! the second is the unit's error status. Driver R575 moved the unit from ten low bits to seven. A line does not name
//! its driver, but the two layouts of one Xid never overlap, so the layout that fits is the right one.
use crate::catalog::{Change, Fields, Record, Text};

/// One row of the decode table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Xid number, 144 to 150.
    pub xid: u32,
    /// The unit's names, as the line may print them, separated by `/`.
    pub unit: Text,
    /// Bits 25..20 of `intrinfo`.
    pub subcode: u32,
    /// `intrinfo` before driver R575: 32 characters, most significant bit first, `-` for any.
    pub before_r575: Text,
    /// `intrinfo` since driver R575.
    pub since_r575: Text,
    /// The second word.
    pub error_status: u32,
    /// How far the fault goes, in our words: `fatal`, `link_fatal`, `nonfatal`.
    pub severity: Text,
    /// What it changes in the Xid's entry.
    pub change: Change,
    /// What it means, one line.
    pub note: Text,
}

impl Record for Row {
    fn unpack(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            xid: fields.word()?,
            unit: fields.text()?,
            subcode: fields.word()?,
            before_r575: fields.text()?,
            since_r575: fields.text()?,
            error_status: fields.word()?,
            severity: fields.text()?,
            change: Change::unpack(fields)?,
            note: fields.text()?,
        })
    }
}

/// A decoded register dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The row that fits.
    pub row: &'a Row,
    /// Whether it fits the layout since R575.
    pub since_r575: bool,
}

/// Finds the row for an Xid's registers. `unit` is the name the line prints, empty where it prints none.
pub fn decode<'a>(
    rows: &'a [Row],
    xid: u32,
    unit: &str,
    intrinfo: u32,
    error_status: u32,
) -> Option<Decoded<'a>> {
    let fits = |row: &&Row| {
        row.xid == xid
            && row.error_status == error_status
            && (unit.is_empty() || row.unit.split('/').any(|u| u == unit))
    };
    rows.iter().filter(fits).find_map(|row| {
        let since_r575 = matches(&row.since_r575, intrinfo);
        (since_r575 || matches(&row.before_r575, intrinfo)).then_some(Decoded { row, since_r575 })
    })
}

/// Whether `word` has the bits that `pattern` asks for. A pattern of another length than 32 fits nothing.
pub fn matches(pattern: &str, word: u32) -> bool {
    pattern.len() == 32
        && pattern.bytes().enumerate().all(|(index, wanted)| {
            let bit = (word >> (31 - index)) & 1;
            match wanted {
                b'0' => bit == 0,
                b'1' => bit == 1,
                _ => true,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_from_the_most_significant_one() {
        assert!(matches("1------------------------------0", 0x8000_0000));
        assert!(!matches("1------------------------------0", 0x8000_0001));
        assert!(!matches("1", 0x8000_0000));
    }
}
