//! Slurm's files, as people write them and as nobody should.
use std::fs;

use proptest::prelude::*;
use triage_core::NodeName;

use super::*;

fn lines(text: &str) -> Vec<Line> {
    logical_lines(text)
        .iter()
        .filter(|line| included(line).is_none())
        .filter_map(|line| parse(line))
        .collect()
}

#[test]
fn comments_continuations_and_quotes_are_slurms() {
    let lines = lines(
        "# first\nNodeName=n[1-2] \\\n  Gres=gpu:h100:8 # eight\nReason=\"a b\" State=UNKNOWN\nHash=a\\#b\n\nnodename = n3 CPUs=4\n",
    );
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0].get("gres"), Some("gpu:h100:8"));
    assert_eq!((lines[1].get("Reason"), lines[1].get("State")), (Some("a b"), Some("UNKNOWN")));
    assert_eq!(lines[2].get("Hash"), Some("a#b"));
    assert_eq!((lines[3].get("NodeName"), lines[3].get("CPUS")), (Some("n3"), Some("4")));
}

#[test]
fn a_node_takes_the_defaults_before_its_line() {
    let text = "NodeName=DEFAULT Gres=gpu:4 RealMemory=1000\nNodeName=n[1-2] RealMemory=2000\nNodeName=DEFAULT Gres=gpu:8\nNodeName=n3\n";
    let of = |node: &str| node_pairs(&lines(text), &NodeName::from(node));
    assert_eq!(of("n2").unwrap()["gres"], "gpu:4");
    assert_eq!(of("n2").unwrap()["realmemory"], "2000");
    assert_eq!(of("n3").unwrap()["gres"], "gpu:8");
    assert_eq!(of("n4"), None);
}

#[test]
fn included_files_are_read_in_place_and_rings_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("slurm.conf"), "A=1\nInclude nodes.conf\nB=2\n").unwrap();
    fs::write(at("nodes.conf"), "include inner.conf\nNodeName=n1\n").unwrap();
    assert!(matches!(read(&at("slurm.conf")), Err(error) if error.is_missing()));
    fs::write(at("inner.conf"), "C=3\n").unwrap();
    let read_lines = read(&at("slurm.conf")).unwrap();
    let keys: Vec<&str> = read_lines.iter().map(|line| line.pairs()[0].0.as_str()).collect();
    assert_eq!(keys, ["A", "C", "NodeName", "B"]);
    fs::write(at("inner.conf"), "Include slurm.conf\n").unwrap();
    assert!(matches!(read(&at("slurm.conf")), Err(ConfError::TooMany { .. })));
    fs::write(at("wide.conf"), "Include empty.conf\n".repeat(100)).unwrap();
    fs::write(at("empty.conf"), "").unwrap();
    assert!(matches!(read(&at("wide.conf")), Err(ConfError::TooMany { .. })));
}

#[test]
fn what_is_no_file_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(read(&fifo).is_err() && read(folder.path()).is_err());
    let latin = folder.path().join("latin");
    fs::write(&latin, b"# caf\xe9\nA=1\0\n").unwrap();
    assert_eq!(read(&latin).unwrap().len(), 1);
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "([A-Za-z=#\\\\\" \n\\[\\],0-9]|\\PC){0,200}") {
        let read = lines(&text);
        let _ = node_pairs(&read, &NodeName::from("n1"));
    }
}
