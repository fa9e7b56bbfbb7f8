//! Records of `/dev/kmsg`, a NUL byte between two, nothing between two for records that were overwritten: taken apart, dated,
//! freed of escapes, in two passes.
#![no_main]
use triage_core::{BootId, NodeName, Stamp};
use triage_host::kernel_log::{Cursor, Limits, read_pieces};
use triage_host::testkit::FakeClock;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let pieces: Vec<&[u8]> = data.split(|b| *b == 0).take(256).collect();
    let clock = FakeClock::at(Stamp::from_secs(1_800_000_000));
    let limits = Limits { max_bytes: usize::from(*first) * 64, until: None };
    let mut cursor = None;
    for _ in 0..2 {
        let Some(read) = read_pieces(&pieces, first & 1 == 1, cursor.as_ref(), limits, &clock) else {
            return;
        };
        let node = NodeName::new("n");
        for line in read.lines() {
            let text = &line.text;
            assert!(!text.chars().any(|c| c.is_ascii_control() && c != '\t'), "{text:?}");
            let _ = read.observe(&node, &line);
        }
        let _ = read.observe_lost(&node).into_iter().count();
        cursor = match &read.cursor {
            Cursor::Kmsg(cursor) => Some(cursor.clone()),
            Cursor::File(_) => None,
        };
        assert!(cursor.as_ref().is_none_or(|cursor| cursor.boot == BootId::new("b")));
    }
});
