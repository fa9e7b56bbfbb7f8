//! An incident bundle: its files in a row, a NUL byte between two, read and attributed.
#![no_main]
use std::path::PathBuf;
use std::sync::LazyLock;

use triage_core::catalog::Catalog;

static CATALOG: LazyLock<Catalog> = LazyLock::new(triage_catalog::embedded);

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-bundle-{}", std::process::id()));
    let _ = std::fs::create_dir_all(folder.join("nodes/c1"));
    let _ = std::fs::create_dir_all(folder.join("output"));
    folder
});

const FILES: [&str; 9] = [
    "incident.toml",
    "nodes/c1/kernel.log",
    "nodes/c1/tasks.jsonl",
    "nodes/c1/gpus.json",
    "nodes/c1/nics.json",
    "nodes/c1/events.jsonl",
    "history.jsonl",
    "output/a.out",
    "output/nccl_trace_rank_0",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let pieces = data.splitn(FILES.len(), |b| *b == 0).chain(std::iter::repeat(&[][..]));
    for (name, bytes) in FILES.iter().zip(pieces) {
        if std::fs::write(FOLDER.join(name), bytes).is_err() {
            return;
        }
    }
    let _ = triage_bundle::diagnose(&FOLDER, &CATALOG);
});
