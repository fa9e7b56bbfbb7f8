//! Writing into a spool that is not as it should be.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

#[path = "../src/paths.rs"]
mod paths;
#[path = "../src/spool.rs"]
mod spool;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};

use triage_wire::{End, TaskRecord, What, decode_all};

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
    let mut reader = fs::File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(folder.path().join("42.1.jsonl"))
        .unwrap();
    spool::append(folder.path(), &record());
    assert_eq!(reader.read(&mut [0]).unwrap(), 0, "nor does anybody get the line");
}

#[test]
fn a_file_that_another_user_put_there_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("42.1.jsonl");
    fs::write(&file, "").unwrap();
    // Only root can give a file away.
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
        spool::append(folder.path(), &record());
        assert_eq!(fs::metadata(&file).unwrap().len(), 0);
    }
}

#[test]
fn a_run_cannot_fill_the_disk_and_what_it_dies_of_is_kept_longest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("42.1.jsonl");
    let grown = |mib: u64, what: What| {
        let size = mib << 20;
        fs::write(&file, vec![b'\n'; usize::try_from(size).unwrap()]).unwrap();
        spool::append(folder.path(), &TaskRecord { what, ..record() });
        fs::metadata(&file).unwrap().len() > size
    };
    let (fine, failed, killed) =
        (What::End(End::Exit(0)), What::End(End::Exit(1)), What::End(End::Signal(9, false)));
    assert!(grown(2, What::Start) && grown(2, fine) && grown(2, failed));
    assert!(!grown(3, What::Start) && !grown(3, fine) && grown(3, failed) && grown(3, killed));
    assert!(!grown(4, What::Start) && !grown(4, failed) && !grown(4, killed));
}

/// A filesystem of 64 pages over a folder, gone when dropped.
struct Small(std::path::PathBuf);

impl Small {
    fn over(folder: &std::path::Path) -> Self {
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k,nr_inodes=64", "tmpfs"])
            .arg(folder)
            .status();
        assert!(mount.unwrap().success(), "needs root");
        Self(folder.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[ignore = "needs root, to mount a small filesystem; run by scripts/test"]
fn the_last_of_a_filesystem_is_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let _small = Small::over(folder.path());
    spool::append(folder.path(), &record());
    assert!(folder.path().join("42.1.jsonl").exists());
    fs::write(folder.path().join("filler"), [0; 244 * 1024]).unwrap();
    spool::append(folder.path(), &TaskRecord { job: 43, ..record() });
    assert_eq!(fs::metadata(folder.path().join("43.1.jsonl")).unwrap().len(), 0);
    let _ = fs::write(folder.path().join("more"), [0; 244 * 1024]);
    spool::append(folder.path(), &record());
    let (records, bad) = decode_all(&fs::read(folder.path().join("42.1.jsonl")).unwrap());
    assert_eq!((records.len(), bad.len()), (1, 0));
}

#[test]
fn processes_that_write_at_once_tear_no_line() {
    // Other threads stand for other slurmstepd: each opens the file for each line.
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for rank in 0..8 {
            let folder = folder.path();
            scope.spawn(move || {
                for pid in 0..200 {
                    spool::append(folder, &TaskRecord { rank, pid, ..record() });
                }
            });
        }
    });
    let (records, bad) = decode_all(&fs::read(folder.path().join("42.1.jsonl")).unwrap());
    assert_eq!((records.len(), bad.len()), (1600, 0));
    for rank in 0..8 {
        let mut pids = records.iter().filter(|record| record.rank == rank).map(|record| record.pid);
        assert!(pids.by_ref().eq(0..200), "in the order they were written");
    }
}

#[test]
fn arguments_of_plugstack_may_be_anything() {
    let texts = [c"spool=/a", c"", c"\xff"].map(|text| text.as_ptr().cast_mut());
    let mut list = vec![std::ptr::null_mut(); 20];
    list[1..4].copy_from_slice(&texts);
    // SAFETY: as many pointers as are told, each null or to a C string.
    let read = unsafe { paths::arguments(20, list.as_mut_ptr()) };
    assert_eq!(read, ["spool=/a", "", "\u{fffd}"]);
    // SAFETY: no pointer is looked at.
    let none =
        unsafe { [paths::arguments(3, std::ptr::null_mut()), paths::arguments(-1, list.as_mut_ptr())] };
    assert_eq!(none, [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn a_node_that_nobody_named_has_no_name() {
    assert_eq!(paths::node(), "");
    paths::remember_node();
    let name = std::env::var("SLURMD_NODENAME").unwrap_or_default();
    assert_eq!(paths::node(), if paths::is_node_name(&name) { name.as_str() } else { "" });
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
