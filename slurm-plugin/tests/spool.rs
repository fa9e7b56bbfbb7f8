//! Writing into a spool that is not as it should be.
#[path = "../src/paths.rs"]
#[expect(dead_code, reason = "a part of the module is used here")]
mod paths;
#[path = "../src/spool.rs"]
mod spool;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use triage_wire::{TaskRecord, decode_all};

fn record() -> TaskRecord {
    TaskRecord { job: 42, restart: 1, ..TaskRecord::default() }
}

#[test]
fn lines_are_appended_to_the_runs_own_file() {
    let folder = tempfile::tempdir().unwrap();
    spool::append(folder.path(), &record());
    spool::append(folder.path(), &record());
    let file = folder.path().join("42.1.jsonl");
    let (records, bad) = decode_all(&fs::read(&file).unwrap());
    assert_eq!((records.len(), bad.len()), (2, 0));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_missing_folder_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    spool::append(&folder.path().join("gone"), &record());
    assert!(!folder.path().join("gone").exists());
}

#[test]
fn a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "mine\n").unwrap();
    symlink(&target, folder.path().join("42.1.jsonl")).unwrap();
    spool::append(folder.path(), &record());
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
}

#[test]
fn a_hard_link_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "mine\n").unwrap();
    fs::hard_link(&target, folder.path().join("42.1.jsonl")).unwrap();
    spool::append(folder.path(), &record());
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
}

#[test]
fn a_fifo_in_the_way_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(folder.path().join("42.1.jsonl").to_str().unwrap()).unwrap();
    // SAFETY: a C string of this frame.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    spool::append(folder.path(), &record());
}

#[test]
fn a_run_cannot_fill_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("42.1.jsonl");
    fs::write(&file, vec![b'\n'; 4 * 1024 * 1024]).unwrap();
    spool::append(folder.path(), &record());
    assert_eq!(fs::metadata(&file).unwrap().len(), 4 * 1024 * 1024);
}

#[test]
fn a_folder_that_needs_an_unknown_node_is_none() {
    let args = ["spool=/run/%n/spool".to_owned()];
    assert_eq!(paths::spool(&args, "n1").unwrap().to_str(), Some("/run/n1/spool"));
    assert_eq!(paths::spool(&args, ""), None);
    assert_eq!(paths::spool(&["spool=relative".to_owned()], "n1"), None);
    assert_eq!(paths::spool(&[], "").unwrap().to_str(), Some("/run/slurm-triage/spool"));
    for bad in ["", "..", "a/b", ".x", "-x", "a b"] {
        assert!(!paths::is_node_name(bad), "{bad:?}");
    }
}
