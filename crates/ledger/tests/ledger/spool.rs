//! The spool: no line lost, none counted twice, no file kept for ever.
use std::fs::{self, File, OpenOptions as FileOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use triage_core::*;
use triage_ledger::*;
use triage_wire::{End, TaskRecord, What, encode, spool_file_name};

use crate::support::*;

struct Spool {
    place: Place,
    folder: PathBuf,
    ledger: Ledger,
}

impl Spool {
    fn new() -> Self {
        let place = Place::new();
        let folder = place.folder.path().join("spool");
        fs::create_dir(&folder).unwrap();
        let ledger = place.open();
        Self { place, folder, ledger }
    }

    fn append(&self, name: &str, text: &str) {
        append(&self.folder.join(name), text);
    }

    fn import(&mut self, now: Stamp) -> Imported {
        self.import_at_most(now, u64::MAX)
    }

    fn import_at_most(&mut self, now: Stamp, max_bytes: u64) -> Imported {
        let boot = boot();
        let request = SpoolRequest { folder: &self.folder, now, boot: &boot, first: None, max_bytes };
        self.ledger.import_spool(&request).unwrap()
    }

    fn tasks(&self) -> i64 {
        ask(&self.place.path(), "SELECT count(*) FROM tasks")
    }

    fn files(&self) -> Vec<String> {
        names(&self.folder)
    }
}

fn append(path: &Path, text: &str) {
    FileOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// A record as the plugin writes it.
fn start(job: u32, rank: u32) -> String {
    encode(&TaskRecord {
        at_us: T0.micros() + i64::from(rank),
        cluster: "c1".to_owned(),
        node: "gpu01".to_owned(),
        job,
        rank,
        local: rank,
        pid: rank + 100,
        uid: Some(1000),
        gpus: vec!["0".to_owned()],
        ..TaskRecord::default()
    })
}

/// One without a checksum, as in a bundle.
fn record(job: u32, rank: u32, what: &str, more: &str) -> String {
    let at = T0.plus_micros(i64::from(rank));
    format!(
        "{{\"v\":1,\"at\":\"{at}\",\"what\":\"{what}\",\"cluster\":\"c1\",\"node\":\"gpu01\",\"job\":{job},\
         \"restart\":0,\"step\":0,\"rank\":{rank},\"local\":{rank},\"pid\":{},\"uid\":1000,\"gpus\":[\"0\"]{more}}}\n",
        rank + 100
    )
}

/// Files are told idle by the real clock.
fn now() -> Stamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Stamp::from_micros(i64::try_from(since.as_micros()).unwrap())
}

fn later() -> Stamp {
    now().plus_secs(600)
}

#[test]
fn tasks_come_out_as_they_went_in() {
    let mut spool = Spool::new();
    spool.append(&spool_file_name(1, 0), &start(1, 0));
    spool.append("1.jsonl", &record(1, 1, "task_exit", ",\"signal\":9,\"core\":true,\"triage\":\"off\""));
    spool.append("1.jsonl", &record(1, 2, "task_exit", ",\"exit\":0"));
    let imported = spool.import(now());
    assert_eq!((imported.records, imported.bad, imported.more), (3, 0, false));
    let tasks = spool.ledger.tasks_of(&span(1)).unwrap();
    let whats: Vec<TaskWhat> = tasks.iter().map(|(_, edge)| edge.what).collect();
    let ends = [ExitStatus::Signal(9), ExitStatus::Exit(0)].map(TaskWhat::End);
    assert_eq!(whats, [TaskWhat::Start, ends[0], ends[1]]);
    assert_eq!(tasks[1].1.ask, JobAsk::Off);
    assert_eq!(tasks[1].0, T0.plus_micros(1));
    assert_eq!(tasks[0].1.step, "0");
}

/// Where a job's runs follow each other within seconds and no record tells which of them it is of, each has its own tasks.
#[test]
fn tasks_of_runs_that_follow_each_other_closely_are_not_mixed() {
    const TOLD: [u32; 3] = [0, 0, 0];
    const COUNTED: [u32; 3] = [0, 1, 2];
    // A batch host's batch script may know the count while the step beside it does not.
    const HALF: [u32; 3] = [0, 1, 0];
    for counts in [TOLD, COUNTED, HALF] {
        let mut spool = Spool::new();
        // Seconds of start and end; the last one is on the node.
        let runs = [(0, Some(4)), (5, Some(7)), (8, None)];
        let mut spans = Vec::new();
        for (restart, (start, end)) in (0_u32..).zip(runs) {
            let at = |seconds: i64| T0.plus_secs(seconds);
            let run = RunId { restart, start: at(start), ..run_of(1) };
            spans.push(JobSpan { run, end: end.map(at), ..span(1) });
            for (at, what) in [(start, What::Start), (end.unwrap_or(9), What::End(End::Exit(1)))] {
                let count = counts[restart as usize];
                let record = TaskRecord {
                    at_us: T0.plus_secs(at).plus_micros(-1).max(spans[restart as usize].run.start).micros(),
                    what,
                    job: 1,
                    restart: count,
                    pid: 100 + restart,
                    ..TaskRecord::default()
                };
                spool.append(&spool_file_name(1, count), &encode(&record));
            }
        }
        let (node, boot) = (node(), boot());
        for span in &spans {
            for state in [JobSpan { end: None, ..span.clone() }, span.clone()] {
                let _ = spool.ledger.record(&Batch { spans: &[state], ..Batch::new(T0, &node, &boot, "t") });
            }
        }
        assert_eq!(spool.import(now()).records, 6);
        for (pid, span) in (100..).zip(&spans) {
            let pids: Vec<u32> =
                spool.ledger.tasks_of(span).unwrap().iter().map(|(_, edge)| edge.pid).collect();
            assert_eq!(pids, [pid, pid], "{counts:?}, restart {}", span.run.restart);
            let load = Load { spans_since: T0, run: Some(&span.run) };
            assert_eq!(spool.ledger.load(&load).unwrap().tasks.len(), 2, "what an epilog is given");
        }
        let never_opened = spool.ledger.first_task("c1", 1).unwrap();
        assert_eq!(never_opened, Some(T0.plus_secs(8)), "since the last run that ended");
    }
}

#[test]
fn importing_twice_or_from_the_start_again_changes_nothing() {
    let mut spool = Spool::new();
    spool.append("1.jsonl", &start(1, 0));
    assert_eq!(spool.import(now()).records, 1);
    assert_eq!(spool.import(now()), Imported::default());
    spool.append("1.jsonl", &start(1, 1));
    assert_eq!(spool.import(now()).records, 1, "only what is new");
    rusqlite::Connection::open(spool.place.path()).unwrap().execute("DELETE FROM spool_files", []).unwrap();
    assert_eq!(spool.import(now()).records, 0);
    assert_eq!(spool.tasks(), 2);
}

#[test]
fn a_line_that_is_not_whole_yet_is_waited_for() {
    let mut spool = Spool::new();
    let line = start(1, 1);
    let (head, tail) = line.split_at(40);
    spool.append("1.jsonl", &start(1, 0));
    spool.append("1.jsonl", head);
    assert_eq!(spool.import(now()).records, 1);
    assert_eq!(spool.import(now()), Imported::default());
    spool.append("1.jsonl", tail);
    let imported = spool.import(now());
    assert_eq!((imported.records, imported.bad), (1, 0));
}

#[test]
fn a_bad_line_spoils_no_other_and_is_counted() {
    let mut spool = Spool::new();
    let bad = ["garbage\n", "{\"v\":1}\n", "\0\0\0\n", "[1,2]\n", "{\"v\":1,\"what\":\"task_start\"\n"];
    for (rank, text) in (0..).zip(bad) {
        spool.append("1.jsonl", &start(1, rank));
        spool.append("1.jsonl", text);
    }
    File::options()
        .append(true)
        .open(spool.folder.join("1.jsonl"))
        .unwrap()
        .write_all(b"\xff\xfe\n")
        .unwrap();
    spool.append("1.jsonl", &"x".repeat(20_000));
    let imported = spool.import(now());
    assert_eq!((imported.records, imported.bad), (5, 7));
    let counted = spool.ledger.counters(Stamp::from_micros(0)).unwrap();
    assert_eq!(counted.iter().map(|c| c.count).sum::<u64>(), 7);
}

#[test]
fn a_record_after_one_that_a_full_disk_tore_is_read() {
    let mut spool = Spool::new();
    let torn = start(1, 0);
    spool.append("1.jsonl", &torn[..torn.len() / 2]);
    spool.append("1.jsonl", &start(1, 1));
    spool.append("1.jsonl", &start(1, 2));
    let imported = spool.import(now());
    assert_eq!((imported.records, imported.bad), (2, 1));
}

#[test]
fn an_altered_record_is_refused() {
    let mut spool = Spool::new();
    spool.append("1.jsonl", &start(1, 0).replace("\"uid\":1000", "\"uid\":1001"));
    let imported = spool.import(now());
    assert_eq!((imported.records, imported.bad), (0, 1));
}

#[test]
fn a_file_goes_only_after_its_job_and_a_while() {
    let mut spool = Spool::new();
    record_span(&mut spool.ledger, 1);
    spool.append("1.jsonl", &start(1, 0));
    spool.import(now());
    spool.import(later());
    assert_eq!(spool.files(), ["1.jsonl"], "the job is still there");
    let (node, boot) = (node(), boot());
    let ended = JobSpan { end: Some(T0), ..span(1) };
    let _ = spool.ledger.record(&Batch { spans: &[ended], ..Batch::new(T0, &node, &boot, "test") }).unwrap();
    spool.import(now());
    assert_eq!(spool.files(), ["1.jsonl"], "just written to");
    spool.import(later());
    assert_eq!(spool.files().len(), 1);
    assert!(spool.files()[0].ends_with(".done"), "no new line is begun in it: {:?}", spool.files());
    spool.import(now());
    assert_eq!(spool.files().len(), 1, "a writer may still be in the middle of one");
    assert_eq!(spool.import(later()).removed, 1);
    assert_eq!(spool.files(), [""; 0]);
    assert_eq!(ask::<i64>(&spool.place.path(), "SELECT count(*) FROM spool_files"), 0);
    assert_eq!(spool.tasks(), 1);
}

#[test]
fn a_line_written_while_its_file_is_put_away_is_not_lost() {
    let mut spool = Spool::new();
    let mut writer = FileOptions::new().create(true).append(true).open(spool.folder.join("1.jsonl")).unwrap();
    writer.write_all(start(1, 0).as_bytes()).unwrap();
    spool.import(later());
    assert!(spool.files()[0].ends_with(".done"));
    // One that opened it before, one that comes after.
    writer.write_all(start(1, 1).as_bytes()).unwrap();
    spool.append("1.jsonl", &start(1, 2));
    assert_eq!(spool.import(now()).records, 2);
    for _ in 0..3 {
        spool.import(later());
    }
    assert_eq!(spool.files(), [""; 0]);
    assert_eq!(spool.tasks(), 3);
}

#[test]
fn a_torn_last_line_does_not_keep_its_file_for_ever() {
    let mut spool = Spool::new();
    spool.append("1.jsonl", &start(1, 0));
    spool.append("1.jsonl", "{\"v\":1,\"at\":");
    let mut bad = 0;
    for _ in 0..3 {
        bad += spool.import(later()).bad;
    }
    assert_eq!(bad, 1);
    assert_eq!(spool.files(), [""; 0]);
    assert_eq!(spool.tasks(), 1);
}

#[test]
fn a_pass_reads_no_more_than_it_may_and_the_next_goes_on() {
    let mut spool = Spool::new();
    for rank in 0..500 {
        spool.append("1.jsonl", &start(1, rank));
        spool.append("2.jsonl", &start(2, rank));
    }
    let mut passes = 0;
    while spool.import_at_most(now(), 16_384).more {
        passes += 1;
        assert!(passes < 100);
    }
    assert!(passes > 5, "{passes}");
    assert_eq!(spool.tasks(), 1000);
}

#[test]
fn the_job_of_the_epilog_comes_first() {
    let mut spool = Spool::new();
    for job in 1..10 {
        for rank in 0..100 {
            spool.append(&spool_file_name(job, 0), &start(job, rank));
        }
    }
    let boot = boot();
    let request =
        SpoolRequest { folder: &spool.folder, now: now(), boot: &boot, first: Some(7), max_bytes: 10_000 };
    spool.ledger.import_spool(&request).unwrap();
    assert!(!spool.ledger.tasks_of(&span(7)).unwrap().is_empty());
    assert!(spool.ledger.tasks_of(&span(1)).unwrap().is_empty());
}

#[test]
fn a_job_that_starts_steps_without_end_does_not_fill_the_ledger() {
    let mut spool = Spool::new();
    let mut text: String = (0..20_000).map(|rank| start(1, rank)).collect();
    text += &record(1, 20_001, "task_exit", ",\"exit\":1");
    text += &record(1, 20_002, "task_exit", ",\"exit\":0");
    spool.append("1.jsonl", &text);
    spool.import(now());
    assert_eq!(spool.tasks(), 8193, "the failure is kept beyond the bound");
    let counted = spool.ledger.counters(Stamp::from_micros(0)).unwrap();
    let count = |name: &str| counted.iter().find(|c| c.name == name).unwrap().count;
    assert_eq!((count("start"), count("end")), (20_000 - 8192, 1));
}

#[test]
fn what_is_no_spool_file_is_left_alone() {
    let mut spool = Spool::new();
    let outside = spool.place.folder.path().join("secret.jsonl");
    fs::write(&outside, start(1, 0)).unwrap();
    std::os::unix::fs::symlink(&outside, spool.folder.join("1.jsonl")).unwrap();
    fs::create_dir(spool.folder.join("2.jsonl")).unwrap();
    nix::unistd::mkfifo(&spool.folder.join("3.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    spool.append("readme.txt", "x");
    let before = spool.files();
    for _ in 0..3 {
        assert_eq!(spool.import(later()), Imported::default());
    }
    assert_eq!(spool.files(), before);
    let boot = boot();
    let nowhere = spool.folder.join("nowhere");
    let request = SpoolRequest { folder: &nowhere, now: now(), boot: &boot, first: None, max_bytes: 1 };
    assert_eq!(spool.ledger.import_spool(&request).unwrap(), Imported::default());
}

#[test]
fn writers_and_importers_at_once_lose_no_line() {
    const WRITERS: u32 = 4;
    const LINES: u32 = 300;
    let mut spool = Spool::new();
    let written = AtomicBool::new(false);
    let path = spool.place.path();
    thread::scope(|scope| {
        let (folder, path, written) = (&spool.folder, &path, &written);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..LINES {
                        append(&folder.join("1.jsonl"), &start(1, writer * LINES + n));
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(move || {
                let mut ledger = open(path);
                let boot = boot();
                while !written.load(Ordering::Relaxed) {
                    let request =
                        SpoolRequest { folder, now: now(), boot: &boot, first: None, max_bytes: 5000 };
                    ledger.import_spool(&request).unwrap();
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        written.store(true, Ordering::Relaxed);
    });
    while spool.import(now()).more {}
    assert_eq!(spool.tasks(), i64::from(WRITERS * LINES));
}
