//! What slurmd sees of a hook that is called wrongly or cannot speak. Slurm drains the node of a prolog or epilog that
//! exits with anything but 0.
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

const HOOKS: [&str; 3] = [
    env!("CARGO_BIN_EXE_triage-prolog"),
    env!("CARGO_BIN_EXE_triage-epilog"),
    env!("CARGO_BIN_EXE_triage-healthcheck"),
];

fn status(hook: &str, argument: &[u8], out: Stdio, err: Stdio) -> Option<i32> {
    let mut command = Command::new(hook);
    command.arg(OsStr::from_bytes(argument)).env_clear().stdin(Stdio::null()).stdout(out).stderr(err);
    command.status().ok()?.code()
}

fn full_disk() -> std::io::Result<Stdio> {
    File::options().write(true).open("/dev/full").map(Stdio::from)
}

#[test]
fn an_argument_that_is_no_text_does_not_drain_the_node() {
    for hook in HOOKS {
        assert_eq!(status(hook, b"\xff\xfe", Stdio::null(), Stdio::null()), Some(0), "{hook}");
    }
}

#[test]
fn a_complaint_that_finds_the_disk_full_does_not_drain_the_node() {
    for hook in HOOKS {
        assert_eq!(status(hook, b"--confg", Stdio::null(), full_disk().unwrap()), Some(0), "{hook}");
    }
}

#[test]
fn a_complaint_that_nobody_reads_does_not_drain_the_node() {
    for hook in HOOKS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(status(hook, b"--confg", Stdio::null(), writer.into()), Some(0), "{hook}");
    }
}

#[test]
fn help_into_a_full_disk_is_no_failure() {
    for hook in HOOKS {
        assert_eq!(status(hook, b"--help", full_disk().unwrap(), Stdio::null()), Some(0), "{hook}");
    }
}
