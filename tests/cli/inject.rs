//! `inject`: drills go through the real pass, are marked everywhere, and never act without leave.
use std::os::unix::process::CommandExt;
use std::path::Path;

use triage_ledger::Filter;

use crate::support::*;

const XID: [&str; 5] = ["inject", "--code", "xid.79", "--gpu", "0000:41:00.0"];

fn node(mode: &str) -> Node {
    let node = with(all_is_well);
    node.policy(mode);
    node
}

/// A node whose health check is the one that was built beside the command.
fn with(fill: impl FnOnce(&mut triage_ledger::Ledger)) -> Node {
    let node = Node::with(fill);
    let built = Path::new(env!("CARGO_BIN_EXE_slurm-triage")).parent().unwrap();
    assert!(built.join("triage-healthcheck").exists(), "cargo build --workspace makes it");
    node.configure(&format!("{}/libexec", node.dir()), &built.display().to_string());
    node
}

/// Events, cases and intents in the ledger.
fn rows(node: &Node) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    node.fill(|ledger| {
        let all = Filter::default();
        counts = (
            ledger.events(&all).unwrap().len(),
            ledger.cases(&all).unwrap().len(),
            ledger.actions(&all).unwrap().len(),
        );
    });
    counts
}

#[test]
fn a_drill_in_monitor_mode_is_decided_about_and_held() {
    let node = node("monitor");
    node.run(&XID)
        .expect(0)
        .says("event: xid.79 (drill) on gpu:0000:41:00.0")
        .says("drain node n1: HELD by stand_down: a drill without --act")
        .says("inject --end ends it");
    assert_eq!(rows(&node), (1, 1, 0));
    node.run(&["events"]).expect(0).says("xid.79 (drill)");
    node.run(&["cases"]).expect(0).says("xid.79 (drill)");
    node.run(&["status"]).expect(1).says("1 open case");
    node.run(&["why", "n1"]).expect(0).says("drain node n1 (drill): HELD").says("Next: this is a drill");
    let event = &node.run(&["--json", "events"]).json()["events"][0];
    assert_eq!((&event["synthetic"], &event["fields"]["drill"]), (&true.into(), &"monitor".into()));
}

#[test]
fn where_policy_acts_a_drill_has_to_say_that_it_may() {
    let node = node("act");
    let refused = node.run(&XID).expect(4).says("--act").says("nothing was recorded");
    assert!(refused.out.is_empty());
    assert_eq!(rows(&node), (0, 0, 0));
}

#[test]
fn one_action_that_acts_is_enough_to_be_asked() {
    let node = node("monitor");
    node.write("policy.toml", "version = 1\n[mode]\nrefuse_job = \"act\"\n");
    node.run(&XID).expect(4);
}

#[test]
fn a_drill_that_may_act_leaves_its_drain_to_the_next_health_check() {
    let node = node("act");
    node.run(&[&XID[..], &["--act"]].concat())
        .expect(0)
        .says("it may act")
        .says("drain node n1: wanted")
        .says("The next health check carries out: drain, confirm_drain.");
    let status = node.run(&["--json", "status"]).expect(1).json();
    assert_eq!(status["pending"][0]["kind"], "drain");
    assert_eq!(status["pending"][0]["synthetic"], true);
    assert!(status["pending"][0]["reason"].as_str().unwrap().ends_with("(drill)"));
    node.run(&["status"]).expect(1).says("drain (drill)");
}

#[test]
fn an_ended_drill_leaves_nothing_to_be_done() {
    let node = node("act");
    node.run(&[&XID[..], &["--act"]].concat()).expect(0);
    node.run(&["inject", "--end"]).expect(0).says("is acquitted");
    let status = node.run(&["--json", "status"]).json();
    let pending = status["pending"].as_array().unwrap();
    // What may be left is the word that there is nothing to tell the batch hosts any more.
    assert!(pending.iter().all(|action| action["kind"] == "publish"), "{pending:?}");
    node.run(&["cases"]).expect(0).says("no such open case");
    node.run(&["why", "n1"]).expect(0).says("acquitted").says("given up: the drill was ended");
    node.run(&["inject", "--end"]).expect(0).says("there is no drill to end");
}

#[test]
fn ending_drills_leaves_real_cases_alone() {
    let node = with(a_gpu_dies_and_it_is_written_down);
    node.run(&XID).expect(0);
    let ended = node.run(&["--json", "inject", "--end"]).expect(0).json();
    assert_eq!(ended["ended"].as_array().unwrap().len(), 1);
    node.run(&["cases"]).expect(0).says("0000:61:00.0").does_not_say("0000:41:00.0");
}

#[test]
fn a_drill_never_mixes_with_a_real_case() {
    let node = with(a_gpu_dies_and_it_is_written_down);
    let id = tale().case.id;
    node.run(&["inject", "--code", "xid.79", "--gpu", "0000:61:00.0"])
        .expect(3)
        .says(id.as_str())
        .says("take another device");
    assert_eq!(rows(&node), (1, 1, 0));
}

#[test]
fn a_second_drill_on_the_same_gpu_joins_the_first() {
    let node = node("monitor");
    node.run(&XID).expect(0);
    node.run(&XID).expect(0);
    assert_eq!(rows(&node), (2, 1, 0));
}

#[test]
fn a_line_may_be_pasted_with_what_stood_before_it() {
    let node = node("monitor");
    for line in [
        "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
        "[12345.678901] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
        "2026-03-01T10:00:05.123456+00:00 n1 kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
    ] {
        node.run(&["inject", "--line", line]).expect(0).says("xid.79 (drill)");
    }
    assert_eq!(rows(&node), (3, 1, 0));
}

#[test]
fn what_means_nothing_is_not_recorded() {
    let node = node("monitor");
    for args in [
        &["inject", "--line", "usb 1-1: new high-speed USB device"][..],
        &["inject", "--line", ""],
        &["inject", "--line", "NVRM: Xid (PCI:0000:41:00): 79, x\nsecond"],
        &["inject", "--code", "xid.99999", "--gpu", "0000:41:00.0"],
        &["inject", "--code", "nccl.timeout", "--gpu", "0000:41:00.0"],
        &["inject", "--code", "xid.79x", "--gpu", "0000:41:00.0"],
    ] {
        let answer = node.run(args).expect(3);
        assert!(answer.out.is_empty() && !answer.err.is_empty(), "{args:?}");
    }
    assert_eq!(rows(&node), (0, 0, 0));
}

#[test]
fn no_ledger_is_begun_for_a_drill() {
    let node = Node::new();
    node.run(&XID).expect(3).says("there is no ledger yet");
    assert!(!node.path("state").exists());
}

#[test]
fn who_may_not_write_is_told_so() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let node = node("monitor");
    node.open_to_all();
    let place = node.place(&NOW.to_string());
    let args: Vec<&str> = place.iter().map(String::as_str).chain(XID).collect();
    let output = std::process::Command::new(node.copy_of_the_program())
        .args(args)
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("run this as root"), "{err}");
    assert_eq!(rows(&node), (0, 0, 0));
}

#[test]
fn a_drill_as_json() {
    let drill = node("monitor").run(&[&["--json"], &XID[..]].concat()).expect(0).json();
    let none = serde_json::json!([]);
    assert_eq!((&drill["v"], &drill["act"], &drill["actions"]), (&1.into(), &false.into(), &none));
    assert_eq!(drill["events"][0]["code"], "xid.79");
    assert_eq!(drill["cases"][0]["synthetic"], true);
    assert_eq!(drill["decisions"][0]["held_by"], "stand_down");
}

#[test]
fn who_began_and_ended_a_drill_is_in_the_audit() {
    let node = node("monitor");
    let id = node.run(&[&["--json"], &XID[..]].concat()).expect(0).json()["cases"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    node.run(&["inject", "--end"]).expect(0);
    let why = node.run(&["why", &id]).expect(0).says("case.acquitted (drill) (");
    assert!(why.out.contains("the drill was ended by"), "{}", why.out);
}

#[test]
fn a_drill_takes_no_gpu_that_the_node_does_not_have() {
    let node = node("monitor");
    node.fill(|ledger| sweep(ledger, &["0000:41:00.0", "0000:61:00.0"]));
    node.run(&["inject", "--code", "xid.79", "--gpu", "0000:ff:00.0"])
        .expect(3)
        .says("n1 has no GPU at 0000:ff:00.0: it has 0000:41:00.0, 0000:61:00.0; nothing was recorded");
    assert_eq!(rows(&node).1, 0);
    node.run(&XID).expect(0);
}

/// A sweep that saw these GPUs.
fn sweep(ledger: &mut triage_ledger::Ledger, gpus: &[&str]) {
    use triage_core::reading::{GpuReading, NvmlReading};
    let gpus = gpus.iter().map(|pci| GpuReading { pci: Some(pci.parse().unwrap()), ..GpuReading::default() });
    let reading = NvmlReading { gpus: gpus.collect(), ..NvmlReading::default() };
    let reading = triage_ledger::Reading { at: T0, boot: boot(), synthetic: false, reading };
    let (node, boot) = (crate::support::node(), boot());
    let batch = triage_ledger::Batch {
        reading: Some(&reading),
        ..triage_ledger::Batch::new(T0, &node, &boot, "test")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), triage_ledger::Recorded::Committed { .. }));
}

#[test]
fn what_the_next_health_check_does_is_said_once_a_kind() {
    let node = node("act");
    for gpu in ["0000:41:00.0", "0000:42:00.0", "0000:43:00.0"] {
        node.run(&["inject", "--act", "--code", "xid.79", "--gpu", gpu])
            .expect(0)
            .does_not_say("drain, drain");
    }
}
