//! A job's output: prefixes, times, tracebacks, families; in pieces cut anywhere.
#![no_main]
use std::sync::LazyLock;

use triage_core::catalog::Catalog;
use triage_core::joblog::{Hints, Scanner, read_line};

static CATALOG: LazyLock<Catalog> = LazyLock::new(triage_catalog::embedded);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let cut = data.first().map_or(0, |n| usize::from(*n)).min(data.len());
    let mut scanner = Scanner::new(&CATALOG, Hints::default());
    scanner.begin("slurm-1.out");
    let (head, tail) = data.split_at(cut);
    scanner.feed(head, 0);
    scanner.feed(tail, cut as u64);
    let _ = scanner.finish();
    for line in data.split(|b| *b == b'\n').take(64) {
        let _ = read_line(&CATALOG, line);
    }
});
