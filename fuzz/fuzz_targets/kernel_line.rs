//! A kernel log: prefixes, times, anchors, families, events.
#![no_main]
use std::sync::LazyLock;

use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::prefix::{Clock, peel};

static CATALOG: LazyLock<Catalog> = LazyLock::new(triage_catalog::embedded);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut found = 0;
    CATALOG.for_each_hit(Origin::Kernel, data, |_| found += 1);
    let mut meant = 0;
    for line in data.split(|b| *b == b'\n').take(64) {
        let peeled = peel(line);
        let _ = peeled.time.and_then(|time| time.resolve(&Clock::default()));
        meant += u32::from(CATALOG.read(Origin::Kernel, peeled.text).is_some());
    }
    // A scan of the whole and a look at every line see the same.
    assert!(data.iter().filter(|b| **b == b'\n').count() >= 63 || found == meant);
});
