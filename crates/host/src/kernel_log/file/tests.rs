use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::kernel_log::Lost;
use crate::testkit::FakeClock;

const LIMITS: Limits = Limits { max_bytes: 1 << 20, until: None };

/// When this boot began: 2027-01-03T18:13:20Z; now is 2027-01-15T08:00:00Z.
const BOOTED: i64 = 1_799_000_000;

struct Log {
    folder: tempfile::TempDir,
    clock: FakeClock,
}

impl Log {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: FakeClock::at(Stamp::from_secs(1_800_000_000)) }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("kern.log")
    }

    fn append(&self, text: &[u8]) {
        fs::File::options().create(true).append(true).open(self.path()).unwrap().write_all(text).unwrap();
    }

    fn read(&self, cursor: Option<&Cursor>) -> KernelRead {
        self.read_bounded(cursor, 1 << 20)
    }

    fn read_bounded(&self, cursor: Option<&Cursor>, max_bytes: usize) -> KernelRead {
        self.clock.sleep(Duration::from_secs(1));
        let boot = BootId::from("b1");
        let booted = Some(Stamp::from_secs(BOOTED));
        let limits = Limits { max_bytes, until: None };
        read_new(&self.path(), &boot, booted, cursor.and_then(Cursor::as_file), limits, &self.clock).unwrap()
    }
}

fn texts(read: &KernelRead) -> Vec<String> {
    read.lines().map(|line| line.text.into_owned()).collect()
}

#[test]
fn only_what_is_new_is_read_and_a_torn_line_waits() {
    let log = Log::new();
    log.append(b"one\ntwo\nthr");
    let first = log.read(None);
    assert_eq!(texts(&first), ["one", "two"]);
    log.append(b"ee\n");
    let second = log.read(Some(&first.cursor));
    assert_eq!(texts(&second), ["three"]);
    assert!(texts(&log.read(Some(&second.cursor))).is_empty());
}

#[test]
fn a_rotated_file_is_read_to_its_end() {
    let log = Log::new();
    log.append(b"one\n");
    let first = log.read(None);
    log.append(b"two\n");
    fs::rename(log.path(), log.folder.path().join("kern.log.1")).unwrap();
    log.append(b"three\n");
    let second = log.read(Some(&first.cursor));
    assert_eq!(texts(&second), ["two", "three"]);
    assert_eq!(second.lost, []);
}

#[test]
fn a_rotated_file_that_is_gone_is_said() {
    let log = Log::new();
    log.append(b"one\n");
    let first = log.read(None);
    fs::rename(log.path(), log.folder.path().join("kern.log.1.gz")).unwrap();
    log.append(b"three\n");
    let second = log.read(Some(&first.cursor));
    assert_eq!(texts(&second), ["three"]);
    assert!(matches!(&second.lost[..], [Lost::Unknown(why)] if why.contains("rotated")));
}

#[test]
fn a_truncated_file_is_said_also_when_it_has_grown_again() {
    let log = Log::new();
    log.append(b"one\ntwo\n");
    let first = log.read(None);
    fs::write(log.path(), b"other\nlines\nand more\n").unwrap();
    let second = log.read(Some(&first.cursor));
    assert_eq!(texts(&second), ["other", "lines", "and more"]);
    assert!(matches!(&second.lost[..], [Lost::Unknown(why)] if why.contains("truncated")));
}

#[test]
fn every_way_of_rotating_is_followed() {
    // By date, by number twice over, and by copying and truncating.
    for renames in [&["kern.log-20260301"][..], &["kern.log.1"], &["kern.log.2", "kern.log.1"]] {
        let log = Log::new();
        log.append(b"one\n");
        let first = log.read(None);
        log.append(b"two\ntorn");
        for (n, name) in renames.iter().enumerate() {
            fs::rename(log.path(), log.folder.path().join(name)).unwrap();
            let then = std::time::SystemTime::now() - Duration::from_secs(100 - n as u64);
            File::open(log.folder.path().join(name)).unwrap().set_modified(then).unwrap();
            log.append(format!("generation {n}\n").as_bytes());
        }
        fs::write(log.folder.path().join("kern.log.7.gz"), b"\x1f\x8b").unwrap();
        let second = log.read(Some(&first.cursor));
        let mut expected = vec!["two".to_owned(), "torn".to_owned()];
        expected.extend((0..renames.len()).map(|n| format!("generation {n}")));
        assert_eq!((texts(&second), second.lost.len()), (expected, 0), "{renames:?}");
        assert!(texts(&log.read(Some(&second.cursor))).is_empty());
    }
    let log = Log::new();
    log.append(b"one\n");
    let first = log.read(None);
    log.append(b"two\n");
    fs::copy(log.path(), log.folder.path().join("kern.log.1")).unwrap();
    fs::write(log.path(), b"").unwrap();
    log.append(b"three\n");
    let second = log.read(Some(&first.cursor));
    assert_eq!((texts(&second), second.lost.len()), (vec!["two".to_owned(), "three".to_owned()], 0));
}

#[test]
fn a_bound_in_the_middle_of_a_rotated_file_loses_nothing() {
    let log = Log::new();
    log.append(b"first\n");
    let mut read = log.read(None);
    for n in 0..40 {
        log.append(format!("old {n}\n").as_bytes());
    }
    fs::rename(log.path(), log.folder.path().join("kern.log.1")).unwrap();
    for n in 0..40 {
        log.append(format!("new {n}\n").as_bytes());
    }
    let mut seen = Vec::new();
    for _ in 0..100 {
        read = log.read_bounded(Some(&read.cursor), 50);
        assert_eq!(read.lost, []);
        seen.extend(texts(&read));
        if !read.more {
            break;
        }
    }
    let expected: Vec<String> =
        (0..40).map(|n| format!("old {n}")).chain((0..40).map(|n| format!("new {n}"))).collect();
    assert_eq!(seen, expected);
}

#[test]
fn the_same_place_in_two_generations_is_two_places() {
    let log = Log::new();
    log.append(b"2027-01-15T08:00:00Z n1 kernel: same\n");
    let first = log.read(None);
    fs::rename(log.path(), log.folder.path().join("kern.log.1")).unwrap();
    log.append(b"2027-01-15T08:00:01Z n1 kernel: same\n");
    let second = log.read(Some(&first.cursor));
    let streams = [&first, &second].map(|read| {
        let line = read.lines().next().unwrap();
        assert_eq!((line.cursor, &*line.text), (0, "same"));
        read.observe(&"n1".into(), &line).stream
    });
    assert_ne!(streams[0], streams[1]);
    assert!(streams[0].starts_with(&format!("{}@", log.path().display())));
}

#[test]
fn a_very_large_file_is_begun_near_its_end_at_a_line() {
    let log = Log::new();
    for n in 0..100 {
        log.append(format!("line {n}\n").as_bytes());
    }
    let read = log.read_bounded(None, 21);
    assert_eq!(texts(&read), ["line 98", "line 99"]);
    assert!(!read.more);
}

#[test]
fn what_a_program_wrote_is_not_the_kernels() {
    let log = Log::new();
    log.append(b"Jan 15 08:00:00 n1 kernel: NVRM: real\nJan 15 08:00:00 n1 logger[7]: NVRM: forged\n");
    let lines = texts(&log.read(None));
    assert_eq!(lines, ["NVRM: real"]);
}

#[test]
fn lines_of_an_earlier_boot_are_history_unless_the_file_was_followed_then() {
    let log = Log::new();
    log.append(b"2027-01-03T18:00:00Z n1 kernel: NVRM: old\n2027-01-03T18:14:00Z n1 kernel: NVRM: new\n");
    assert_eq!(texts(&log.read(None)), ["NVRM: new"]);
    let mut cursor = log.read(None).cursor;
    if let Cursor::File(cursor) = &mut cursor {
        cursor.boot = BootId::from("b0");
        cursor.offset = 0;
    }
    let read = log.read(Some(&cursor));
    let boots: Vec<&str> = read.lines().map(|line| line.boot.as_str()).collect();
    assert_eq!(boots, ["b0", "b1"]);
    assert_eq!(read.cursor.as_file().unwrap().boot, BootId::from("b1"));
}

#[test]
fn every_way_of_telling_the_time_is_dated() {
    let log = Log::new();
    let now = log.clock.now();
    for (line, at) in [
        ("2027-01-15T07:59:50.123456+00:00 n1 kernel: x", "2027-01-15T07:59:50.123456Z"),
        ("6,1,1000000,-;x", "2027-01-03T18:13:21.000000Z"),
        ("[    2.500000] x", "2027-01-03T18:13:22.500000Z"),
        ("x without a time", "2027-01-15T08:00:01.000000Z"),
        ("2031-01-15T07:59:50Z n1 kernel: x from the future", "2027-01-15T08:00:01.000000Z"),
    ] {
        let log = Log::new();
        log.append(format!("{line}\n").as_bytes());
        let read = log.read(None);
        assert_eq!(read.lines().next().unwrap().at.to_string(), at, "{line}");
    }
    assert_eq!(now.to_string(), "2027-01-15T08:00:00.000000Z");
    // The kernel's clock drifts, so what it says of a new line gives way to the last look; a wall clock's does not.
    log.append(b"first\n");
    let first = log.read(None);
    log.append(b"[    2.500000] x\n2027-01-15T07:00:00Z n1 kernel: a daemon that was late\n");
    let read = log.read(Some(&first.cursor));
    let times: Vec<String> = read.lines().map(|line| line.at.to_string()).collect();
    assert_eq!(times, ["2027-01-15T08:00:01.000000Z", "2027-01-15T07:00:00.000000Z"]);
}

#[test]
fn bytes_of_any_kind_are_lines() {
    let log = Log::new();
    let mut text = vec![b'x'; 3 * LINE_MAX];
    text.extend_from_slice(b"\n\0\xff\xfe\n");
    log.append(&text);
    let read = log.read(None);
    assert_eq!(read.len(), 5, "three pieces, the empty rest, and the odd bytes");
}

#[test]
fn a_line_of_ten_megabytes_stops_nobody_and_the_line_behind_it_is_read() {
    let log = Log::new();
    log.append(b"first\n");
    let mut cursor = log.read(None).cursor;
    let mut long = vec![b'x'; 10_000_000];
    long.extend_from_slice(b"\nbehind it\n");
    log.append(&long);
    let (mut pieces, mut last) = (0, String::new());
    for _ in 0..20 {
        let read = log.read(Some(&cursor));
        pieces += read.len();
        last = texts(&read).pop().unwrap_or(last);
        assert!(read.lost.is_empty(), "nothing is skipped");
        cursor = read.cursor;
    }
    assert_eq!(last, "behind it");
    assert_eq!(pieces, 10_000_000_usize.div_ceil(LINE_MAX) + 1);
}

#[test]
fn a_wall_clock_that_was_set_back_or_forth_loses_no_line() {
    let log = Log::new();
    log.append(b"2027-01-15T07:59:50Z n1 kernel: one\n");
    let first = log.read(None);
    log.clock.set_wall(Stamp::from_secs(1_800_000_000 - 86_400));
    log.append(b"2027-01-14T07:59:50Z n1 kernel: two\n");
    let second = log.read(Some(&first.cursor));
    assert_eq!(texts(&second), ["two"]);
    log.clock.set_wall(Stamp::from_secs(1_800_000_000 + 86_400));
    log.append(b"2027-01-16T07:59:50Z n1 kernel: three\n[   99.000000] four\n");
    assert_eq!(texts(&log.read(Some(&second.cursor))), ["three", "four"]);
}

#[test]
fn a_fifo_in_its_place_is_refused_at_once() {
    let log = Log::new();
    nix::unistd::mkfifo(&log.path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = read_new(&log.path(), &BootId::from("b1"), None, None, LIMITS, &log.clock).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
}

#[test]
fn a_bound_leaves_the_rest_for_the_next_pass() {
    let log = Log::new();
    log.append(b"one\n");
    let first = log.read(None);
    log.append(&b"0123456\n".repeat(100));
    let limits = Limits { max_bytes: 80, until: None };
    let boot = BootId::from("b1");
    let second = read_new(&log.path(), &boot, None, first.cursor.as_file(), limits, &log.clock).unwrap();
    assert_eq!((second.len(), second.more), (10, true));
    assert_eq!(log.read(Some(&second.cursor)).len(), 90);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is appended in whatever pieces between looks, with rotations in between: each line comes once, in order.
    #[test]
    fn each_line_comes_once(steps in proptest::collection::vec((0_usize..5, any::<bool>(), 8_usize..200), 1..12)) {
        let log = Log::new();
        let (mut written, mut seen, mut cursor) = (0, Vec::new(), None);
        let mut pending = String::new();
        for (step, (lines, rotate, bound)) in steps.into_iter().enumerate() {
            for _ in 0..lines {
                pending.extend(["line ", &written.to_string(), "\n"]);
                written += 1;
            }
            // A part of the last line is left for the next step; a daemon rotates only at the end of a line.
            let until = if rotate { pending.len() } else { pending.len().saturating_sub(3) };
            log.append(&pending.as_bytes()[..until]);
            pending.drain(..until);
            if cursor.is_some() || step > 0 {
                let read = log.read_bounded(cursor.as_ref(), bound);
                prop_assert_eq!(&read.lost, &[]);
                seen.extend(texts(&read));
                cursor = Some(read.cursor);
            } else {
                cursor = Some(log.read(None).cursor);
                seen.extend((0..written).map(|n| format!("line {n}")).take(written - usize::from(!pending.is_empty())));
            }
            if rotate && until > 0 {
                let name = log.folder.path().join(format!("kern.log-{step:02}"));
                fs::rename(log.path(), &name).unwrap();
                File::open(&name).unwrap().set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000 + step as u64)).unwrap();
                log.append(b"");
            }
        }
        log.append(pending.as_bytes());
        for _ in 0..100 {
            let read = log.read(cursor.as_ref());
            prop_assert_eq!(&read.lost, &[]);
            seen.extend(texts(&read));
            cursor = Some(read.cursor);
        }
        prop_assert_eq!(seen, (0..written).map(|n| format!("line {n}")).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let log = Log::new();
        log.append(&bytes);
        let read = log.read(None);
        let _ = texts(&read);
        prop_assert_eq!(read.buffer().iter().filter(|b| **b == b'\n').count(), read.len());
    }
}
