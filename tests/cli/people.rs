//! `ack`, `acquit`, `hold`, `release` and `trail`: a person's word, what it changes, and where it is seen.
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use triage_ledger::Ledger;

use crate::support::*;

/// The id of the only case.
fn case_of(node: &Node) -> String {
    let cases = node.run(&["--json", "cases", "--all"]).expect(0).json();
    cases["cases"][0]["id"].as_str().unwrap().to_owned()
}

fn trail_rows(node: &Node) -> usize {
    node.run(&["--json", "trail", "--all"]).expect(0).json()["trail"].as_array().unwrap().len()
}

fn without_a_word(node: &Node, args: &[&str], status: i32, says: &str) {
    let before = trail_rows(node);
    let answer = node.run(args).expect(status).says(says);
    assert!(answer.out.is_empty(), "{}", answer.out);
    assert_eq!(trail_rows(node), before, "nothing was written");
}

#[test]
fn an_acknowledged_repair_closes_the_case_and_says_that_the_drain_stays() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let id = case_of(&node);
    node.run(&["ack", &id[..5], "--reason", "riser replaced, ticket 812"])
        .expect(0)
        .says("is resolved: acknowledged by ")
        .says("riser replaced, ticket 812")
        .says("n1 was drained for it and stays so")
        .says("scontrol update nodename=n1 state=undrain");
    node.run(&["status"]).expect(1).says("still drained for a closed case").does_not_say("Open cases");
    node.run(&["cases"]).expect(0).says("no such open case");
    node.run(&["why", &id])
        .expect(0)
        .says("case.acknowledged (")
        .says("acted confirmed -> resolved confirmed")
        .says("riser replaced, ticket 812");
}

#[test]
fn a_word_is_said_once_however_often_it_is_given() {
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let id = case_of(&node);
    let acquit = ["--json", "acquit", &id, "--reason", "we pulled the cable ourselves"];
    let first = node.run(&acquit).expect(0).json();
    assert_eq!((&first["changed"], &first["case"]["state"]), (&true.into(), &"acquitted".into()));
    let rows = trail_rows(&node);
    let again = node.run(&acquit).expect(0).json();
    assert_eq!((&again["changed"], &again["case"]), (&false.into(), &first["case"]));
    assert_eq!(trail_rows(&node), rows);
    without_a_word(&node, &["ack", &id, "--reason", "x"], 4, "is acquitted already");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let id = case_of(&node);
    without_a_word(&node, &["ack", "ffffffff", "--reason", "x"], 1, &format!("open: {id}"));
    without_a_word(&node, &["acquit", "nonsense", "--reason", "x"], 1, "there is no case nonsense");
    without_a_word(&node, &["hold", "n7", "--reason", "x"], 1, "another node is held on that node");
    without_a_word(&node, &["hold", "node:n7", "--reason", "x"], 1, "this is the ledger of n1");
    without_a_word(&node, &["release", "case:ffff", "--reason", "x"], 1, "nothing is known");
    without_a_word(&node, &["trail", "--case", "ffffffff"], 1, "there is no case");
}

#[test]
fn without_a_reason_nothing_is_done() {
    for command in ["ack", "acquit", "hold", "release"] {
        for args in [vec![command, "0a1b2c3d"], vec![command, "0a1b2c3d", "--reason", "  "]] {
            run(&args).expect(2);
        }
    }
    run(&["ack", "0a1b2c3d", "--reason", "a\nb"]).expect(2).says("line feed");
    run(&["hold", "n1", "--reason", "x", "--for", "0h"]).expect(2);
}

#[test]
fn a_hold_is_seen_wherever_one_looks_and_gone_when_it_is_released() {
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let id = case_of(&node);
    node.run(&["hold", "n1", "--reason", "burn-in of rack 4"])
        .expect(0)
        .says("node n1 is on hold by ")
        .says("held by operator_hold");
    let sees = [&["status"][..], &["cases"], &["why", "n1"], &["why", &id], &["why", "4711"]];
    for view in sees {
        let answer = node.run(view);
        assert!(answer.out.contains("On hold") && answer.out.contains("burn-in of rack 4"), "{view:?}");
        let json = node.run(&[&["--json"], view].concat()).json();
        assert_eq!(json["holds"][0]["reason"], "burn-in of rack 4", "{view:?}");
    }
    node.run(&["doctor", "--offline", "--only", "ledger"]).says("node n1 is on hold by ");
    node.run(&["release", "n1", "--reason", "it is over"]).expect(0).says("released: node n1 is on hold");
    for view in sees {
        node.run(view).does_not_say("On hold");
    }
    node.run(&["trail", "--what", "hold"])
        .expect(0)
        .says("hold.placed")
        .says("hold.released")
        .says("it is over");
}

#[test]
fn a_hold_ends_by_itself_and_a_second_release_is_no_failure() {
    let node = Node::with(all_is_well);
    let held = node.run(&["--json", "hold", "4700_3", "--reason", "x", "--for", "4h"]).expect(0).json();
    assert_eq!((&held["kind"], &held["name"]), (&"job".into(), &"4700_3".into()));
    let span = |key: &str| held["hold"][key].as_str().unwrap().parse::<triage_core::Stamp>().unwrap();
    assert_eq!(span("until").micros_since(span("at")), 4 * 3_600 * 1_000_000);
    let later = span("until").to_string();
    let seen = node.run_at(&later, &["--json", "status"]).json();
    assert_eq!(seen["holds"], Value::Array(Vec::new()), "it has run out");
    for changed in [true, false] {
        let released = node.run(&["--json", "release", "4700_3", "--reason", "y"]).expect(0).json();
        assert_eq!(released["changed"], changed);
    }
}

#[test]
fn a_job_nobody_has_seen_may_be_held_and_that_is_pointed_out() {
    let node = Node::with(all_is_well);
    node.run(&["hold", "999", "--reason", "it comes tonight"]).expect(0).says("is the number right?");
    node.run(&["hold", "42.batch", "--reason", "x"]).expect(0).says("job 42").does_not_say("is the number");
}

#[test]
fn the_trail_tells_who_what_when_why_past_which_gates_and_with_which_outcome() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let id = case_of(&node);
    node.run(&["acquit", &id, "--reason", "it was us"]).expect(0);
    let trail = node.run(&["--json", "trail", "--case", &id]).expect(0).json();
    let rows = trail["trail"].as_array().unwrap();
    let what: Vec<&str> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["case.opened", "decision.drain", "case.acted", "action.drain", "case.acquitted"]);
    assert_eq!(rows[1]["rule"], "hardware-confirmed");
    assert_eq!(rows[1]["gates"][0]["name"], "provenance");
    assert_eq!((&rows[1]["outcome"], &rows[3]["outcome"]), (&"wanted".into(), &"done".into()));
    assert_eq!(rows[3]["rule"], "hardware-confirmed");
    assert_eq!((&rows[4]["why"], &rows[4]["uid"]), (&"it was us".into(), &own_uid().into()));
    assert!(!rows[4]["person"].as_str().unwrap().is_empty());
    assert!(rows[0]["evidence"].as_array().unwrap().len() == 1);
    let of_job = node.run(&["trail", "--job", "4711"]).expect(0);
    assert!(
        of_job.out.contains("decision.requeue") && of_job.out.contains("action.requeue"),
        "{}",
        of_job.out
    );
    node.run(&["trail", "--since", "1s", "--what", "ledger"]).expect(0).says("no such row");
}

fn own_uid() -> u32 {
    nix::unistd::getuid().as_raw()
}

#[test]
fn a_group_that_may_write_the_folder_may_speak_and_one_that_may_only_read_it_may_not() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root to run as somebody else");
        return;
    }
    const GROUP: u32 = 60_123;
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let id = case_of(&node);
    let copy = node.copy_of_the_program();
    node.open_to_all();
    let shell =
        format!("cd {0}/state && chgrp -R {GROUP} . && chmod 2770 . && chmod 0660 ledger.db*", node.dir());
    let speak = |gid: u32, reason: &str| {
        use std::os::unix::process::CommandExt;
        let mut args = node.place(&NOW.to_string());
        args.extend(["ack", &id, "--reason", reason].map(str::to_owned));
        Command::new(&copy).args(args).uid(65_534).gid(gid).output().unwrap()
    };
    let refused = speak(65_534, "not allowed");
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(Command::new("sh").args(["-c", &shell]).status().unwrap().success());
    let said = speak(GROUP, "of the group");
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));
    let rows = node.run(&["--json", "trail", "--what", "case.acknowledged"]).json();
    assert_eq!(rows["trail"][0]["uid"], 65_534);
    // What such a folder holds stays writable to the group, also what root begins there.
    let mode = |name: &str| node.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("state/ledger.db"), 0o660);
}

#[test]
fn a_hostile_reason_and_name_are_shown_and_not_obeyed() {
    let node = Node::with(|ledger: &mut Ledger| {
        a_gpu_dies_and_it_is_written_down(ledger);
        let facts = triage_ledger::TrailFacts::default();
        let word = triage_ledger::Word {
            now: T0,
            program: "x\u{1b}[2J",
            actor: "ada\u{1b}]0;owned\u{7}",
            reason: "a\nnext: all is well\u{202e}",
            person: &facts,
        };
        let on = triage_core::HoldOn::Node(triage_core::NodeName::from("n1"));
        ledger.hold(&on, None, &word).unwrap();
    });
    for view in [&["status"][..], &["cases"], &["why", "n1"], &["trail"], &["--json", "trail"]] {
        let out = node.run(view).out;
        assert!(!out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{view:?}: {out}");
        assert!(!out.lines().any(|line| line.starts_with("next:")), "{view:?}");
    }
}

#[test]
fn a_ledger_that_is_not_there_is_not_begun_by_a_misspelt_name() {
    let node = Node::new();
    node.run(&["hold", "n1", "--reason", "x"]).expect(3).says("there is no ledger yet");
    assert!(!node.ledger().exists());
    let filled = Node::with(all_is_well);
    filled.fill(|ledger| assert_eq!(ledger.holds(NOW).unwrap(), []));
}
