//! Addresses in a word, also glued to other things: `ib0:fe80::1:2%ib0`, `10.1.2.3-10.1.2.9`, `fe80::1/64`.
use std::net::{Ipv4Addr, Ipv6Addr};

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// No address.
    Text(&'a str),
    /// Of Ethernet or InfiniBand: six pairs of digits or more.
    Mac(&'a str),
    /// IPv4.
    V4(Ipv4Addr),
    /// IPv6, as written and as meant.
    V6(&'a str, Ipv6Addr),
}

/// The parts, in order; together they are the word.
pub(super) fn split(word: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(rest) = word.get(at..).filter(|rest| !rest.is_empty()) {
        let run = rest.bytes().take_while(|b| is_of_address(*b)).count();
        if run == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let before = word.get(..at).and_then(|before| before.chars().next_back());
        let after = rest.get(run..).and_then(|after| after.chars().next());
        let text = rest.get(..run).unwrap_or_default();
        let glued = before.is_some_and(|c| c.is_alphanumeric());
        // Letters may touch it only across a colon: `eth0:10.1.2.3`, `ib0:fe80::1`.
        let skipped = if glued { text.find(':').map_or(run, |colon| colon + 1) } else { 0 };
        let ends_well = !after.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let candidate = text.get(skipped..).unwrap_or_default();
        if let Some((start, length, piece)) = read(candidate).filter(|_| ends_well) {
            let start = at + skipped + start;
            pieces.extend(word.get(done..start).filter(|text| !text.is_empty()).map(Piece::Text));
            pieces.push(piece);
            done = start + length;
        }
        at += run;
    }
    pieces.extend(word.get(done..).filter(|text| !text.is_empty()).map(Piece::Text));
    pieces
}

const fn is_of_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

/// The address in a run of digits, colons and dots: where, how long, and which.
fn read(run: &str) -> Option<(usize, usize, Piece<'_>)> {
    let bare = run.trim_end_matches('.');
    let bare = if bare.ends_with("::") { bare } else { bare.trim_end_matches(':') };
    let colons = bare.bytes().filter(|b| *b == b':').count();
    let is_pairs = colons >= 5
        && bare.split(':').all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()));
    if is_pairs {
        return Some((0, bare.len(), Piece::Mac(bare)));
    }
    // `c10::d` is no address, `fe80::1` is one.
    let routed = ["fe80:", "fd", "fc", "2"].iter().any(|start| bare.to_ascii_lowercase().starts_with(start));
    if let Some(address) = bare.parse::<Ipv6Addr>().ok().filter(|_| colons >= 3 || (colons == 2 && routed)) {
        return Some((0, bare.len(), Piece::V6(bare, address)));
    }
    // `10.1.2.3:29500`, `0:10.1.2.3`.
    let mut start = 0;
    for part in bare.split(':') {
        let plain = part.trim_matches('.');
        if let Ok(address) = plain.parse::<Ipv4Addr>() {
            let start = start + part.find(plain).unwrap_or_default();
            return Some((start, plain.len(), Piece::V4(address)));
        }
        start += part.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(word: &str) -> Vec<String> {
        let told = |piece: &Piece<'_>| match piece {
            Piece::Text(_) => None,
            Piece::Mac(text) | Piece::V6(text, _) => Some((*text).to_owned()),
            Piece::V4(address) => Some(address.to_string()),
        };
        split(word).iter().filter_map(told).collect()
    }

    #[test]
    fn addresses_are_found_whatever_they_are_glued_to() {
        for (word, addresses) in [
            ("10.1.2.3", vec!["10.1.2.3"]),
            ("10.1.2.3-10.1.2.9", vec!["10.1.2.3", "10.1.2.9"]),
            ("eth0:10.1.2.3", vec!["10.1.2.3"]),
            ("worker_10.1.2.3:29500", vec!["10.1.2.3"]),
            ("10.1.2.0/24", vec!["10.1.2.0"]),
            ("ib0:fe80::ba59:9fff:fe12:3456%ib0", vec!["fe80::ba59:9fff:fe12:3456"]),
            ("fe80::1/64", vec!["fe80::1"]),
            ("2001:470::5", vec!["2001:470::5"]),
            ("ether:b8:ce:f6:00:11:22", vec!["b8:ce:f6:00:11:22"]),
            ("80:00:02:08:fe:80:00:00", vec!["80:00:02:08:fe:80:00:00"]),
            ("::ffff:10.1.2.3", vec!["::ffff:10.1.2.3"]),
        ] {
            assert_eq!(found(word), addresses, "{word}");
        }
        for word in [
            "0000:61:00.0",
            "12:00:05",
            "c10::d",
            "580.95.05",
            "libnccl.so.2.27.3",
            "n1:801:850",
            "v1.2.3.4",
            "3/4",
        ] {
            assert_eq!(found(word), Vec::<String>::new(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_the_word(word in "[0-9a-f:.]{0,40}|([0-9a-z:.%/é-]){0,40}") {
            let parts: String = split(&word).iter().map(|piece| match piece {
                Piece::Text(text) | Piece::Mac(text) | Piece::V6(text, _) => (*text).to_owned(),
                Piece::V4(address) => address.to_string(),
            }).collect();
            prop_assert_eq!(parts, word);
        }
    }
}
