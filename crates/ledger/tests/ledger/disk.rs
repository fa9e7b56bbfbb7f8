//! Full and read-only filesystems, and users without rights. These need root, for mounts and for other users; without
//! it they say so and pass.
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use triage_core::*;
use triage_ledger::*;

use crate::support::*;

const PATH: &str = "TRIAGE_LEDGER_TEST_READ";
/// Any user and group that are not root's.
const NOBODY: u32 = 65_534;

fn root(test: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("skipped: {test} needs root");
    }
    root
}

/// A small filesystem of its own.
struct Mount {
    folder: tempfile::TempDir,
}

impl Mount {
    fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if !done.is_ok_and(|status| status.success()) {
            eprintln!("skipped: this machine lets nobody mount");
            return None;
        }
        Some(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", how]).arg(self.folder.path()).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a failed test may still have files open in it.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn write(ledger: &mut Ledger, first: u64, text: &str) -> Result<Recorded> {
    let (node, boot) = (node(), boot());
    let lines: Vec<Observation> = (first..first + 20).map(|n| line(n, text)).collect();
    let events: Vec<Event> = lines.iter().map(|line| event(line, "xid.31")).collect();
    ledger.record(&Batch { observations: &lines, events: &events, ..Batch::new(T0, &node, &boot, "test") })
}

#[test]
fn a_full_disk_costs_what_does_not_fit_and_nothing_that_was_there() {
    if !root("a full disk") {
        return;
    }
    let Some(mount) = Mount::new("2m") else { return };
    let mut ledger = open(&mount.path());
    let text = "x".repeat(2000);
    for n in 0..10 {
        let _ = write(&mut ledger, n * 20, &text).unwrap();
    }
    let hog = mount.folder.path().join("hog");
    // Whatever is left goes.
    let _ = fs::write(&hog, vec![0; 4 * 1024 * 1024]);
    let mut failed = 0;
    for n in 10..40 {
        match write(&mut ledger, n * 20, &text) {
            Ok(_) => {}
            Err(error) => {
                assert!(error.is_full(), "{error}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0, "the disk was not full");
    ledger.check().unwrap();
    assert!(ledger.about().unwrap().rows.iter().any(|(table, rows)| table == "events" && *rows > 0));
    drop(ledger);
    fs::remove_file(hog).unwrap();
    let mut ledger = open(&mount.path());
    assert_eq!(ledger.opened().set_aside, None, "full is not damaged");
    let _ = write(&mut ledger, 10_000, &text).unwrap();
}

#[test]
fn no_room_to_begin_leaves_no_broken_ledger_behind() {
    if !root("no room") {
        return;
    }
    let Some(mount) = Mount::new("64k") else { return };
    let hog = mount.folder.path().join("hog");
    let _ = fs::write(&hog, vec![0; 1024 * 1024]);
    let error = Ledger::open(&mount.path(), &OpenOptions::writer(WAIT, T0)).unwrap_err();
    assert!(!error.is_corrupt(), "{error}");
    fs::remove_file(hog).unwrap();
    mount.remount("remount,size=4m");
    let ledger = open(&mount.path());
    assert_eq!(ledger.opened().set_aside, None);
}

#[test]
fn on_a_read_only_filesystem_a_writer_is_refused_and_a_reader_reads() {
    if !root("a read-only filesystem") {
        return;
    }
    let Some(mount) = Mount::new("4m") else { return };
    record_span(&mut open(&mount.path()), 1);
    mount.remount("remount,ro");
    let error = Ledger::open(&mount.path(), &OpenOptions::writer(WAIT, T0)).unwrap_err();
    assert!(matches!(error, Error::Io { .. } | Error::NoPermission { .. }), "{error}");
    let reader = Ledger::open(&mount.path(), &OpenOptions::reader(WAIT, T0)).unwrap();
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 1);
}

/// Runs `reads_when_told_to` as nobody, in nobody's group; whether it could read one span.
fn nobody_reads(path: &Path) -> bool {
    // The test binary lies where nobody may not go.
    let exe = path.parent().unwrap().join("reader-under-test");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    let run = || {
        Command::new(&exe)
            .args(["--exact", "disk::reads_when_told_to", "--nocapture"])
            .env(PATH, path)
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    };
    // Another test may have forked while the copy was open for writing: until that child has called exec, the file is
    // "busy" and cannot be run.
    let done = loop {
        match run() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            done => break done.unwrap(),
        }
    };
    fs::remove_file(exe).unwrap();
    done.success()
}

/// Not a test by itself: what the child of `nobody_reads` does.
#[test]
fn reads_when_told_to() {
    let Some(path) = std::env::var_os(PATH) else { return };
    assert!(!nix::unistd::geteuid().is_root());
    let writer = Ledger::open(Path::new(&path), &OpenOptions::writer(WAIT, T0));
    assert!(matches!(writer, Err(Error::Io { .. } | Error::NoPermission { .. })), "{writer:?}");
    let reader = Ledger::open(Path::new(&path), &OpenOptions::reader(WAIT, T0)).unwrap();
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 1);
}

#[test]
fn a_member_of_the_group_reads_and_others_do_not() {
    if !root("reading as another user") {
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    record_span(&mut place.open(), 1);
    assert!(!nobody_reads(&place.path()), "others have no business here");
    for suffix in ["", "-wal", "-shm", ".lock"] {
        chown(beside(&place.path(), suffix), None, Some(NOBODY)).unwrap();
    }
    let before = names(place.folder.path());
    assert!(nobody_reads(&place.path()), "the span is only in the log");
    place.open().checkpoint().unwrap();
    assert!(nobody_reads(&place.path()), "the span is in the file");
    assert_eq!(names(place.folder.path()), before);
    // New files of SQLite's get the ledger's group too.
    drop(rusqlite::Connection::open(place.path()).unwrap().execute_batch("DELETE FROM counters"));
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let _ = ledger.record(&Batch::new(T0, &node, &boot, "test")).unwrap();
    drop(ledger);
    assert!(nobody_reads(&place.path()), "after log and index were made anew");
}
