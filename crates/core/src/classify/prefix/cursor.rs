//! A reader over bytes that only moves when what it was asked for is there.

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// One given byte.
    pub(super) fn byte(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == wanted).then(|| self.0 = rest)
    }

    /// A given text.
    pub(super) fn text(&mut self, wanted: &[u8]) -> Option<()> {
        self.0.strip_prefix(wanted).map(|rest| self.0 = rest)
    }

    /// Any number of spaces, none included.
    pub(super) fn spaces(&mut self) {
        while self.byte(b' ').is_some() {}
    }

    /// One to `most` decimal digits.
    pub(super) fn number(&mut self, most: usize) -> Option<u64> {
        let digits = self.0.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = std::str::from_utf8(number).ok()?.parse().ok()?;
        self.0 = rest;
        Some(value)
    }

    /// Exactly two decimal digits.
    pub(super) fn two(&mut self) -> Option<u8> {
        let before = *self;
        let value = self.number(2)?;
        if before.0.len() - self.0.len() != 2 {
            *self = before;
            return None;
        }
        u8::try_from(value).ok()
    }

    /// A fraction of a second as microseconds: a `.` or `,` and digits, of which six count. None there: zero.
    pub(super) fn micros(&mut self) -> u32 {
        let before = *self;
        if self.byte(b'.').is_none() && self.byte(b',').is_none() {
            return 0;
        }
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            *self = before;
            return 0;
        }
        let (fraction, rest) = self.0.split_at(digits);
        self.0 = rest;
        let six = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        six.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    }

    /// Everything up to a space, not empty; the space stays.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let length = self.0.iter().position(|b| *b == b' ')?;
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        (length > 0).then_some(word)
    }
}
