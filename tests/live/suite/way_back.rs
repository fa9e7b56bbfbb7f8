//! A node that we took out comes back: reset, proof, the site's tests, and only then its drain lifted.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_is_reset_tested_and_brought_back_and_nobody_was_asked() {
    let cluster = shared::lend_suite();
    let (reset, test) = (tool(&cluster, "reset", 0), tool(&cluster, "diag", 0));
    repair(&cluster, &format!("resume = \"act\"\nreset = \"act\"\n{}{}", resets_by(&reset), tests_by(&test)));
    break_and_drain(&cluster);
    cluster.health_check("n1");
    cluster.wait_for("the GPU is reset", || settled(&cluster, "reset"));
    assert_eq!(said(&cluster, "reset"), "0000:61:00.0");
    // The case is closed by the sweep after the reset, the tests are begun in the same pass.
    cluster.health_check("n1");
    assert_eq!(cluster.ledger_value("n1", "SELECT state FROM cases WHERE code = 'xid.95'"), "resolved");
    assert!(drill::is_out(&cluster, "n1"), "not before the tests have passed");
    cluster.wait_for("the tests have run", || settled(&cluster, "verify"));
    cluster.health_check("n1");
    cluster.wait_for("the node is back", || (!drill::is_out(&cluster, "n1")).then_some(()));
    let id = cluster.sbatch(&["--nodelist=n1"], "true");
    assert!(cluster.wait_done(&id).is("COMPLETED"));
    // And that was that: nothing is done a second time.
    for _ in 0..2 {
        cluster.health_check("n1");
    }
    for kind in ["drain", "reset", "verify", "resume"] {
        let count = format!("SELECT count(*) FROM actions WHERE kind = '{kind}'");
        assert_eq!(cluster.ledger_value("n1", &count), "1", "{kind}");
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_whose_test_fails_stays_out_and_says_why() {
    let cluster = shared::lend_suite();
    let (reset, test) = (tool(&cluster, "reset", 0), tool(&cluster, "diag", 3));
    repair(&cluster, &format!("resume = \"act\"\nreset = \"act\"\n{}{}", resets_by(&reset), tests_by(&test)));
    break_and_drain(&cluster);
    cluster.health_check("n1");
    cluster.wait_for("the GPU is reset", || settled(&cluster, "reset"));
    cluster.health_check("n1");
    cluster.wait_for("the tests have run", || settled(&cluster, "verify"));
    for _ in 0..2 {
        cluster.health_check("n1");
    }
    assert!(drill::is_out(&cluster, "n1"));
    assert_eq!(drill::held_by(&cluster, "n1", "resume"), "verified");
    let answer = cluster.ledger_value("n1", "SELECT answer FROM actions WHERE kind = 'verify'");
    assert!(answer.contains("diag failed") && answer.contains("said by diag"), "{answer}");
    assert_eq!(cluster.ledger_value("n1", "SELECT count(*) FROM actions WHERE kind = 'verify'"), "1");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn nothing_is_reset_or_brought_back_unless_the_policy_says_so() {
    let cluster = shared::lend_suite();
    break_and_drain(&cluster);
    for _ in 0..3 {
        cluster.health_check("n1");
    }
    assert!(drill::is_out(&cluster, "n1"));
    let others = "SELECT count(*) FROM actions WHERE kind NOT IN ('drain', 'confirm_drain', 'publish')";
    assert_eq!(cluster.ledger_value("n1", others), "0");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_reboot_is_asked_for_once_and_the_node_comes_back_drained_by_us() {
    let cluster = shared::lend_suite();
    repair(&cluster, "reboot = \"act\"\n");
    cluster.spy();
    break_and_drain(&cluster);
    for _ in 0..3 {
        cluster.health_check("n1");
    }
    assert_eq!(cluster.obeyed(&["reboot", "n1"]), 1, "{:?}", cluster.calls("n1"));
    let node = cluster.node("n1");
    assert!(node.get("Reason").starts_with("slurm-triage: xid.95 "), "{}", node.get("Reason"));
    assert!(drill::is_out(&cluster, "n1"));
    drill::wait_rebooting(&cluster, "n1");
}

fn break_and_drain(cluster: &Cluster) {
    cluster.kernel_line("n1", drill::XID_95);
    cluster.health_check("n1");
    drill::wait_our_drain(cluster, "n1");
}

fn repair(cluster: &Cluster, section: &str) {
    // The shipped file has the section already; its keys make way for those of the test.
    cluster.policy(|text| {
        let (before, after) = text.split_once("\n[repair]\n").expect("the shipped policy has [repair]");
        let rules = after.find("\n[[rule]]").expect("rules follow it");
        format!("{before}\n[repair]\n{section}\n{}", &after[rules..])
    });
}

fn resets_by(program: &str) -> String {
    format!("[repair.reset_command]\nname = \"gpu-reset\"\ncommand = [\"{program}\", \"{{pci}}\"]\n")
}

fn tests_by(program: &str) -> String {
    format!("[[repair.verify]]\nname = \"diag\"\ncommand = [\"{program}\"]\ndeadline_s = 20\n")
}

/// A program that notes its argument, says a word and exits with `code`.
fn tool(cluster: &Cluster, name: &str, code: u32) -> String {
    let path = cluster.node_dir("n1").join(name);
    let text =
        format!("#!/bin/sh\necho \"$1\" >{}.said\necho 'said by {name}'\nexit {code}\n", path.display());
    fs::write(&path, text).expect("a program is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it may be run");
    path.to_str().expect("UTF-8").to_owned()
}

fn said(cluster: &Cluster, name: &str) -> String {
    let path = cluster.node_dir("n1").join(format!("{name}.said"));
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn settled(cluster: &Cluster, kind: &str) -> Option<()> {
    let sql = format!("SELECT count(*) FROM actions WHERE kind = '{kind}' AND state IN ('done', 'failed')");
    (cluster.ledger_value("n1", &sql) == "1").then_some(())
}
