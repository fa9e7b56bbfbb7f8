//! The reader of job output as the epilog starts it: this program once more, with the rights of the job's owner.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::joblog::OutputReport;
use triage_core::{BootId, NodeName, Stamp};
use triage_host::clock::{Deadline, SystemClock};
use triage_host::config;
use triage_host::output::{OutputReader, OutputRequest};
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;

/// A user who owns nothing.
const USER: u32 = 65_533;

const LINE: &str = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n";

fn reader(root: &Root) -> OutputReader<'_> {
    OutputReader {
        runner: &SystemRunner,
        clock: &SystemClock,
        root,
        program: env!("CARGO_BIN_EXE_triage-epilog").into(),
        args: vec!["--read-output".to_owned()],
        limits: config::Output { deadline: Duration::from_secs(30), ..config::Output::default() },
        catalog: PathBuf::from("/nonexistent"),
        run_folder: None,
    }
}

fn request(folder: &Path, name: &str, uid: u32) -> OutputRequest {
    OutputRequest {
        job: 1,
        array: None,
        name: "j".to_owned(),
        user: "u".to_owned(),
        nodes: vec![NodeName::from("n1")],
        uid,
        stdout: name.to_owned(),
        stderr: String::new(),
        work_dir: folder.display().to_string(),
        start: Stamp::from_secs(1),
        end: None,
        node: NodeName::from("n1"),
        boot: BootId::new("b"),
    }
}

fn read(request: &OutputRequest) -> OutputReport {
    let root = Root::default();
    reader(&root).read(request, in_time())
}

fn in_time() -> Deadline {
    Deadline::after(&SystemClock, Duration::from_secs(30))
}

/// A folder everybody may enter.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn write(path: &Path, owner: u32, mode: u32) {
    fs::write(path, LINE).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if nix::unistd::geteuid().is_root() {
        chown(path, Some(owner), Some(owner)).unwrap();
    }
}

fn me() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[test]
fn a_users_file_is_read_with_the_users_rights() {
    let owner = if me() == 0 { USER } else { me() };
    let folder = folder();
    write(&folder.path().join("o"), owner, 0o600);
    let request = request(folder.path(), "o", owner);
    let report = read(&request);
    assert_eq!(report.blind, Vec::<String>::new());
    assert_eq!(report.events[0].code(), "cuda.ecc");
    assert_eq!((report.files[0].name.as_str(), report.files[0].read), ("o", LINE.len() as u64));
    let root = Root::default();
    let copy = reader(&root).copy(&request, in_time());
    assert_eq!((copy.blind.len(), copy.files[0].parts.concat()), (0, LINE.as_bytes().to_vec()));
}

#[test]
fn what_only_root_may_read_stays_unread_whatever_leads_to_it() {
    if me() != 0 {
        return;
    }
    let folder = folder();
    let secret = folder.path().join("secret");
    write(&secret, 0, 0o600);
    let of_group = folder.path().join("group");
    write(&of_group, 0, 0o640);
    symlink(&secret, folder.path().join("link")).unwrap();
    symlink("/proc/self/mem", folder.path().join("mem")).unwrap();
    let hidden = folder.path().join("hidden");
    fs::create_dir(&hidden).unwrap();
    write(&hidden.join("o"), 0, 0o644);
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["link", "secret", "group", "hidden/o", "hidden/o-%t", "/etc/shadow"] {
        for owner in [USER, 0, u32::MAX] {
            let report = read(&request(folder.path(), name, owner));
            assert!(report.files.is_empty() && report.events.is_empty(), "{name}: {report:?}");
            let told = report.blind.concat();
            assert!(told.contains("may not read it") || told.contains("Permission denied"), "{name}: {told}");
        }
    }
}

#[test]
fn a_job_of_root_is_read_with_the_rights_of_nobody() {
    if me() != 0 {
        return;
    }
    let folder = folder();
    write(&folder.path().join("o"), 0, 0o644);
    let report = read(&request(folder.path(), "o", 0));
    assert_eq!(report.events.len(), 1, "{report:?}");
}

#[test]
fn started_by_anybody_else_it_says_so() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_triage-epilog"))
        .arg("--read-output")
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("by slurm-triage itself"));
}

#[test]
fn one_that_never_answers_is_left_to_itself() {
    let folder = folder();
    let root = Root::default();
    let mut reader = reader(&root);
    reader.program = "/bin/sh".into();
    reader.args = vec!["-c".to_owned(), "kill -STOP $$".to_owned()];
    reader.limits.deadline = Duration::from_millis(300);
    let report = reader.read(&request(folder.path(), "o", me()), in_time());
    assert!(report.blind.len() == 1 && report.blind[0].contains("within 300 ms"), "{:?}", report.blind);
}
