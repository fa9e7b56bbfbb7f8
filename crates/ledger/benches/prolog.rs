//! What the ledger costs a healthy prolog, over a ledger of 100,000 events. Run it on the filesystem that will hold
//! the ledger: `TMPDIR=/var/lib cargo bench -p triage-ledger`.
#![expect(clippy::unwrap_used, reason = "a benchmark: a panic says what went wrong")]
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use triage_core::{BootId, JobAsk, JobSpan, NodeName, RunId, SourceKind, Stamp};
use triage_ledger::{Batch, Cursor, Ledger, Load, OpenOptions, Recorded, Seen, SourceReport};

#[expect(dead_code, reason = "its main is for the command line")]
#[path = "../examples/ledger-fill.rs"]
mod ledger_fill;

const EVENTS: u64 = 100_000;
const WAIT: Duration = Duration::from_millis(250);

/// Open, load what a prolog looks at, open the span, move the cursor, close.
fn healthy_prolog(path: &Path, now: Stamp, job: u32) {
    let (node, boot) = (NodeName::from("gpu01"), BootId::from("11111111-2222-3333-4444-555555555555"));
    let mut ledger = open(path, now);
    let loaded = ledger.load(&Load { spans_since: now.plus_secs(-3600), run: None }).unwrap();
    assert!(loaded.cases.is_empty() && loaded.last_reading.is_some());
    let cursor = loaded.cursor(SourceKind::Kmsg, "").unwrap().clone();
    let run = RunId { cluster: "c1".to_owned(), job, array: None, het: None, restart: 0, start: now };
    let span = JobSpan {
        run,
        node: node.clone(),
        boot: boot.clone(),
        uid: 1000,
        user: "ada".to_owned(),
        partition: "gpu".to_owned(),
        nodes: vec![node.clone()],
        gpus: (0..8).collect(),
        ask: JobAsk::Default,
        // Ended at once, so that the thousands of runs of a benchmark do not all stand on the node.
        end: Some(now.plus_secs(-7200)),
        exit: None,
        state: String::new(),
    };
    let source = SourceReport {
        source: SourceKind::Kmsg,
        stream: String::new(),
        at: now,
        cost_us: 100,
        seen: Seen::Read,
    };
    let batch = Batch {
        based_on: Some(loaded.generation),
        spans: &[span],
        cursors: &[Cursor { cursor: cursor.cursor + 1, ..cursor }],
        sources: &[source],
        ..Batch::new(now, &node, &boot, "triage-prolog")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
}

fn bench(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let now = ledger_fill::fill(&path, EVENTS).plus_secs(7200);
    let mut job = 10_000_000;
    let times = |job: &mut u32| {
        *job += 1;
        (now.plus_secs(i64::from(*job - 10_000_000)), *job)
    };
    c.bench_function("healthy prolog, checkpoint every 8 jobs", |b| {
        b.iter(|| {
            let (at, job) = times(&mut job);
            healthy_prolog(&path, at, job);
            if job % 8 == 0 {
                open(&path, at).checkpoint().unwrap();
            }
        });
    });
    c.bench_function("healthy prolog, checkpoint when the log is long", |b| {
        b.iter(|| {
            let (at, job) = times(&mut job);
            healthy_prolog(&path, at, job);
        });
    });
    open(&path, now).checkpoint().unwrap();
    c.bench_function("open and close", |b| b.iter(|| open(&path, now)));
    c.bench_function("load", |b| {
        let ledger = open(&path, now);
        let load = Load { spans_since: times(&mut job).0, run: None };
        b.iter(|| ledger.load(&load).unwrap());
    });
}

fn open(path: &Path, now: Stamp) -> Ledger {
    Ledger::open(path, &OpenOptions::writer(WAIT, now)).unwrap()
}

criterion_group!(benches, bench);
criterion_main!(benches);
