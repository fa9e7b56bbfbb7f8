use std::fs;
use std::io::Write;
use std::time::Duration;

use super::*;
use crate::testkit::FakeClock;

const LIMITS: Limits = Limits { max_bytes: 1 << 20, until: None };

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
        self.clock.sleep(Duration::from_secs(1));
        let boot = BootId::from("b1");
        let booted = Some(Stamp::from_secs(1_799_000_000));
        read_new(&self.path(), &boot, booted, cursor.and_then(Cursor::as_file), LIMITS, &self.clock).unwrap()
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
    fs::rename(log.path(), log.folder.path().join("kern.log.old")).unwrap();
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
fn what_a_program_wrote_is_not_the_kernels() {
    let log = Log::new();
    log.append(b"Jan 15 08:00:00 n1 kernel: NVRM: real\nJan 15 08:00:00 n1 logger[7]: NVRM: forged\n");
    let lines = texts(&log.read(None));
    assert_eq!(lines, ["NVRM: real"]);
}

#[test]
fn lines_of_an_earlier_boot_are_history() {
    let log = Log::new();
    log.append(b"2020-01-01T00:00:00+00:00 n1 kernel: NVRM: old\n");
    assert!(texts(&log.read(None)).is_empty());
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
