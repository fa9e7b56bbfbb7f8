//! Several programs at once, and programs that die in the middle. The children are this test binary itself.
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use triage_core::*;
use triage_ledger::*;

use crate::support::*;

const PATH: &str = "TRIAGE_LEDGER_TEST_PATH";
const FIRST: &str = "TRIAGE_LEDGER_TEST_FIRST";
const COUNT: &str = "TRIAGE_LEDGER_TEST_COUNT";

fn child(path: &Path, first: u32, count: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::writes_when_told_to", "--nocapture"])
        .env(PATH, path)
        .env(FIRST, first.to_string())
        .env(COUNT, count.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Not a test by itself: what the children of this file's tests do. Each write is a whole short-lived program's: open,
/// load, record, close.
#[test]
fn writes_when_told_to() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u32>().unwrap();
    let first = number(FIRST);
    for job in first..first.saturating_add(number(COUNT)) {
        one_program(Path::new(&path), job);
    }
}

/// Records, in one batch: a span, an event, a case about it, and an audit note. Goes on until it is not stale.
fn one_program(path: &Path, job: u32) {
    let (node, boot) = (node(), boot());
    let line = line(u64::from(job), "Xid 79");
    let event = event(&line, "xid.79");
    let case = Case { resource: Resource::Process(job), ..case(&event) };
    let case = Case { id: CaseId::new(format!("{job:08x}")), ..case };
    let note = AuditNote { text: job.to_string(), ..AuditNote::info("test", "") };
    let mut ledger = open(path);
    loop {
        let loaded = ledger.load(&Load { spans_since: T0.plus_secs(1), run: None }).unwrap();
        let batch = Batch {
            based_on: Some(loaded.generation),
            events: std::slice::from_ref(&event),
            cases: std::slice::from_ref(&case),
            spans: &[JobSpan { end: Some(T0), ..span(job) }],
            audit: std::slice::from_ref(&note),
            ..Batch::new(T0, &node, &boot, "test")
        };
        match ledger.record(&batch).unwrap() {
            Recorded::Committed { .. } => return,
            Recorded::Stale => {}
        }
    }
}

/// Every job's batch is there whole or not at all; how many are.
fn whole_batches(path: &Path) -> usize {
    let ledger = open(path);
    ledger.check().unwrap();
    let all = Filter::default();
    let jobs: Vec<u32> = ledger.spans(&all).unwrap().iter().map(|span| span.run.job).collect();
    let sorted = |mut numbers: Vec<u32>| {
        numbers.sort_unstable();
        numbers
    };
    let jobs = sorted(jobs);
    let events = ledger.events(&all).unwrap().iter().map(|e| u32::try_from(e.cursor).unwrap()).collect();
    assert_eq!(sorted(events), jobs);
    let cases = ledger.cases(&all).unwrap();
    assert!(cases.iter().all(|case| case.events.len() == 1));
    let of_case = |case: &Case| u32::from_str_radix(case.id.as_str(), 16).unwrap();
    assert_eq!(sorted(cases.iter().map(of_case).collect()), jobs);
    let notes = ledger.audit(&all).unwrap();
    let notes = notes.iter().filter_map(|row| row.note.text.parse().ok()).collect();
    assert_eq!(sorted(notes), jobs);
    jobs.len()
}

#[test]
fn several_programs_that_write_at_once_lose_nothing() {
    const PROGRAMS: u32 = 6;
    const EACH: u32 = 15;
    let place = Place::new();
    // No ledger yet: they also meet over beginning it.
    let children: Vec<Child> = (0..PROGRAMS).map(|n| child(&place.path(), n * 1000, EACH)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(whole_batches(&place.path()), (PROGRAMS * EACH) as usize);
}

#[test]
fn a_program_killed_at_any_moment_leaves_whole_batches() {
    let place = Place::new();
    drop(place.open());
    let mut before = 0;
    for round in 0..12 {
        let mut writer = child(&place.path(), round * 100_000, u32::MAX);
        // Let it get going, then strike at a moment that differs from round to round.
        let reader = place.reader();
        let begun = Instant::now();
        while reader.spans(&Filter::default()).unwrap().len() <= before {
            assert!(begun.elapsed() < Duration::from_secs(60), "the child writes nothing");
            assert!(writer.try_wait().unwrap().is_none(), "the child ended by itself");
        }
        drop(reader);
        std::thread::sleep(Duration::from_micros(u64::from(round) * 397));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let now = whole_batches(&place.path());
        assert!(now > before, "what was committed is there");
        before = now;
    }
}

#[test]
fn a_program_killed_inside_a_transaction_leaves_nothing_of_it_and_no_lock() {
    let place = Place::new();
    record_span(&mut place.open(), 1);
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::holds_a_transaction_when_told_to", "--nocapture"])
        .env(PATH, place.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut ledger = place.open();
    ledger.set_wait(Duration::from_millis(1)).unwrap();
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &[span(2)], ..Batch::new(T0, &node, &boot, "test") };
    let begun = Instant::now();
    // Until the child holds the lock, ours goes through.
    while !ledger.record(&batch).is_err_and(|error| error.is_busy()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the child never takes the lock");
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    ledger.set_wait(WAIT).unwrap();
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let jobs: Vec<u32> = ledger.spans(&Filter::default()).unwrap().iter().map(|s| s.run.job).collect();
    assert_eq!(jobs, [1, 2], "nothing of the dead program's");
}

/// Not a test by itself: begins a transaction, writes into it and never ends it.
#[test]
fn holds_a_transaction_when_told_to() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.busy_timeout(WAIT).unwrap();
    conn.execute_batch(
        "BEGIN IMMEDIATE;
         INSERT INTO runs (cluster, job, restart, start) VALUES ('c1', 666, 0, 1);
         DELETE FROM job_spans;",
    )
    .unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_wait_for_others_ends_with_the_callers_patience() {
    let place = Place::new();
    let mut ledger = place.open();
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    ledger.set_wait(Duration::from_millis(30)).unwrap();
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &[span(1)], ..Batch::new(T0, &node, &boot, "test") };
    assert!(ledger.record(&batch).unwrap_err().is_busy());
    // Reading waits for nobody.
    assert!(ledger.load(&Load { spans_since: T0, run: None }).is_ok());
    other.execute_batch("COMMIT").unwrap();
    assert!(ledger.record(&batch).is_ok());
}
