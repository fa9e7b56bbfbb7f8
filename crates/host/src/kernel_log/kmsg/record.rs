//! One record: `prio,seq,usec,flags[,...];text`, then lines ` KEY=value` that describe the device it is about.
//! Source: Documentation/ABI/testing/dev-kmsg.

/// Facility of the kernel's own messages. The kernel lets no program write a record with it.
const KERN: u64 = 0;

/// A record's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    facility: u64,
    /// Its number; one more than that of the record before it.
    pub(super) sequence: u64,
    /// Microseconds since the kernel started.
    pub(super) micros: i64,
    /// Its text, with the kernel's escapes.
    pub(super) text: &'a [u8],
}

impl<'a> Record<'a> {
    /// Takes a record apart; `None` when it is none.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let semicolon = bytes.iter().position(|b| *b == b';')?;
        let (head, text) = bytes.split_at_checked(semicolon)?;
        let mut head = head.split(|b| *b == b',');
        let priority = number(head.next()?)?;
        let sequence = number(head.next()?)?;
        let micros = i64::try_from(number(head.next()?)?).ok()?;
        head.next()?;
        // The text ends with the line; what follows are the device's properties.
        let text = text.get(1..)?.split(|b| *b == b'\n').next()?;
        Some(Self { facility: priority >> 3, sequence, micros, text })
    }

    /// Whether the kernel itself wrote it.
    pub(super) const fn is_kernels(&self) -> bool {
        self.facility == KERN
    }

    /// Appends the text without the escapes of bytes above 0x7f, of the tabulator and of the backslash. Those of other
    /// control characters stay: a line feed in a process's name must not begin a line, and nothing of it may reach a
    /// terminal.
    pub(super) fn unescape_into(&self, out: &mut Vec<u8>) {
        let mut rest = self.text;
        while let Some(at) = rest.iter().position(|b| *b == b'\\') {
            let (plain, escape) = rest.split_at(at);
            append(plain, out);
            match escaped(escape).filter(|b| *b >= 0x80 || matches!(b, b'\\' | b'\t')) {
                Some(byte) => {
                    out.push(byte);
                    rest = escape.get(4..).unwrap_or_default();
                }
                None => {
                    out.push(b'\\');
                    rest = escape.get(1..).unwrap_or_default();
                }
            }
        }
        append(rest, out);
    }
}

/// The device escapes every control character; should one come through, it is a blank.
fn append(plain: &[u8], out: &mut Vec<u8>) {
    out.extend(plain.iter().map(|b| if b.is_ascii_control() { b' ' } else { *b }));
}

/// The byte of `\xNN`.
fn escaped(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\x")?.get(..2)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// By hand: every pass reads three numbers of every record in the ring.
fn number(digits: &[u8]) -> Option<u64> {
    let digit = |byte: u8| Some(u64::from(byte.checked_sub(b'0').filter(|digit| *digit < 10)?));
    let first = digit(*digits.first()?)?;
    digits.iter().skip(1).try_fold(first, |number, byte| number.checked_mul(10)?.checked_add(digit(*byte)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_what_the_standard_library_reads_of_digits_alone(text in "[0-9+-]{0,22}") {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(number(text.as_bytes()), text.parse().ok().filter(|_| digits));
        }
    }
}
