//! A ledger that is missing, damaged, too new, or not to be read: said with its path and its remedy, status 3.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use crate::support::*;

const READERS: [&[&str]; 5] = [&["status"], &["events"], &["cases"], &["jobs"], &["why", "4711"]];

#[track_caller]
fn all_say(node: &Node, text: &str) {
    for reader in READERS {
        let answer = node.run(reader).expect(3).says(text).says("state/ledger.db");
        assert!(
            answer.out.is_empty() && answer.err.lines().count() == 1,
            "{reader:?}: {}{}",
            answer.out,
            answer.err
        );
        assert_eq!(node.run(&[&["--json"], reader].concat()).expect(3).out, "");
    }
}

#[test]
fn one_that_is_not_there_yet() {
    all_say(&Node::new(), "it is begun by the first prolog, epilog or health check");
}

#[test]
fn a_node_that_is_misspelt_is_asked_about() {
    let node = Node::new();
    node.configure("/state", "/state/%n");
    for command in [&["status"][..], &["ack", "3f2a9c01", "--reason", "x"]] {
        node.run(command).expect(3).says("as that of n1").says("--node").says("NodeName");
    }
    node.run(&["doctor", "--only", "ledger"]).expect(1).says("as that of n1");

    // Where all nodes have one path, the ledger of another node is found under any name.
    let node = Node::with(all_is_well);
    let place = node.place(&NOW.to_string());
    let place: Vec<&str> =
        place.iter().map(|arg| if arg == "n1" { "gpu001" } else { arg.as_str() }).collect();
    run(&[place.as_slice(), &["status"]].concat())
        .expect(0)
        .says("is the ledger of n1, not of gpu001: --node n1");
    let node = node.run(&["status"]).expect(0);
    assert_eq!(node.err, "");
}

#[test]
fn one_that_is_damaged() {
    let node = Node::with(all_is_well);
    fs::write(node.ledger(), "SQLite format 3\0 and then nothing that is one".repeat(100)).unwrap();
    all_say(&node, "damaged");
}

#[test]
fn one_of_a_later_version_is_left_alone() {
    let node = Node::with(all_is_well);
    let mut file = fs::read(node.ledger()).unwrap();
    // The user version, where SQLite's file format has it.
    file[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::remove_file(node.path("state/ledger.db-wal")).unwrap();
    fs::write(node.ledger(), &file).unwrap();
    all_say(&node, "written by a later slurm-triage (schema 99");
    assert!(fs::read(node.ledger()).unwrap() == file, "the file was changed");
}

#[test]
fn what_is_no_file_at_all() {
    let node = Node::new();
    fs::create_dir_all(node.ledger()).unwrap();
    all_say(&node, "not a regular file");
}

#[test]
fn reading_leaves_no_trace() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let list = || -> Vec<(String, u64)> {
        let entries = fs::read_dir(node.path("state")).unwrap().map(|entry| entry.unwrap());
        let mut list: Vec<_> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
            .collect();
        list.sort();
        list
    };
    let (before, file) = (list(), fs::read(node.ledger()).unwrap());
    for reader in READERS {
        node.run(reader);
    }
    assert_eq!(list(), before);
    assert!(fs::read(node.ledger()).unwrap() == file, "the file was changed");
}

/// Runs a reader as nobody, with the ledger's folder in this mode. Only root can do that.
fn as_nobody(mode: u32) -> Option<(i32, String)> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let open =
        |path: &str, mode| fs::set_permissions(node.path(path), fs::Permissions::from_mode(mode)).unwrap();
    open("", 0o755);
    open("state", mode);
    for file in fs::read_dir(node.path("state")).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(mode & 0o666)).unwrap();
    }
    let place = node.place(&NOW.to_string());
    let args: Vec<&str> = place.iter().map(String::as_str).chain(["cases"]).collect();
    let copy = node.copy_of_the_program();
    let output = std::process::Command::new(copy).args(args).uid(65_534).gid(65_534).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    Some((output.status.code().unwrap(), text))
}

#[test]
fn anybody_reads_where_file_permissions_allow() {
    let Some((status, text)) = as_nobody(0o755) else { return };
    assert!(status == 0 && text.contains("xid.79"), "{status} {text}");
}

#[test]
fn who_may_not_read_is_told_who_may() {
    let Some((status, text)) = as_nobody(0o750) else { return };
    assert_eq!(status, 3, "{text}");
    assert!(
        text.contains("run this as root, or as a member of the group that owns the ledger's folder"),
        "{text}"
    );
    assert_eq!(text.matches("ermission denied").count(), 1, "{text}");
}

#[test]
fn another_ledger_can_be_named() {
    let (node, other) = (Node::with(all_is_well), Node::with(a_gpu_dies_and_it_is_seen_to));
    let path = other.ledger().display().to_string();
    node.run(&["cases"]).expect(0).does_not_say("xid.79");
    node.run(&["--ledger", &path, "cases"]).expect(0).says("xid.79");
    // A copy may be read where no configuration is.
    run(&["--ledger", &path, "--node", "n1", "cases"]).expect(0).says("xid.79");
}
