//! Each brake: the node that is one too many stays in service, says why, and goes once there is room.

use super::{drill, people};
use crate::cluster::Cluster;
use crate::shared;

/// Sets figures of `[brake]` against those that are shipped.
fn figures(cluster: &Cluster, words: &[(&str, &str)]) {
    cluster.policy(|text| {
        words.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the shipped policy says {from}");
            text.replacen(from, to, 1)
        })
    });
}

/// Each health check looks whether there is room, and not after ten minutes alone.
const LOOK_ALWAYS: (&str, &str) = ("look_again_s = 600", "look_again_s = 0");

/// The node, idle, loses a GPU, and its health check comes by.
fn lose(cluster: &Cluster, node: &str) {
    drill::lose_gpu(cluster, node, 3);
    assert!(cluster.health_check(node).ok());
}

/// n1 goes; n2, whose GPU is lost a moment later, is held by a brake that says these words.
fn second_is_held(cluster: &Cluster, words: &str) {
    lose(cluster, "n1");
    drill::wait_our_drain(cluster, "n1");
    lose(cluster, "n2");
    assert_eq!(drill::held_by(cluster, "n2", "drain"), "brake");
    let why = cluster.ledger_value("n2", "SELECT held_because FROM v_decisions WHERE intent = 'drain'");
    assert!(why.contains(words) && why.ends_with("at most 1"), "{why}");
    assert!(!drill::is_out(cluster, "n2"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_more_nodes_of_the_cluster_than_the_brake_allows() {
    let cluster = shared::lend_suite();
    figures(&cluster, &[("max_nodes = 32", "max_nodes = 1"), LOOK_ALWAYS]);
    second_is_held(&cluster, "1 node of the cluster is out by us already");
    // A person's drain is not ours to count, and what we held goes once there is room.
    cluster.scontrol(&["update", "nodename=n3", "state=drain", "reason=changing a fan"]).success("drain");
    cluster.mend("n1");
    cluster.scontrol(&["update", "nodename=n1", "state=resume"]).success("resume");
    cluster.health_check("n2");
    cluster.wait_node("n2", "DRAIN");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_larger_share_of_a_partition_than_the_brake_allows() {
    let cluster = shared::lend_suite();
    figures(&cluster, &[("min_nodes = 2", "min_nodes = 0"), ("max_share = 0.1", "max_share = 0.25")]);
    second_is_held(&cluster, "1 node of partition main is out by us already");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_more_nodes_within_the_window_than_the_brake_allows() {
    let cluster = shared::lend_suite();
    figures(&cluster, &[("max_in_window = 4", "max_in_window = 1"), LOOK_ALWAYS]);
    second_is_held(&cluster, "1 node since ");
    // Once the window is over the node goes.
    figures(&cluster, &[("window_s = 600", "window_s = 1")]);
    cluster.wait_for("the window is over", || {
        cluster.health_check("n2");
        drill::is_out(&cluster, "n2").then_some(())
    });
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_more_nodes_below_a_switch_than_the_brake_allows() {
    below_a_switch(
        "topology.conf",
        "SwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4]\nSwitchName=spine Switches=leaf[1-2]\n",
    );
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_more_nodes_below_a_switch_of_the_yaml_file_than_the_brake_allows() {
    below_a_switch(
        "topology.yaml",
        "- topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n      - switch: spine\n        children: \
         leaf[1-2]\n      - switch: leaf1\n        nodes: n[1-2]\n      - switch: leaf2\n        nodes: n[3-4]\n",
    );
}

fn below_a_switch(name: &str, text: &str) {
    let cluster = shared::lend_suite();
    let path = cluster.dir().join("jobs").join(name);
    std::fs::write(&path, text).expect("a topology is written");
    cluster.configure("slurm", "topology", &format!("\"{}\"", path.display()));
    figures(&cluster, &[("max_per_switch = 4", "max_per_switch = 1"), ("min_nodes = 2", "min_nodes = 4")]);
    second_is_held(&cluster, "1 node on switch leaf1 is out by us already");
    // The other switch has lost nobody.
    lose(&cluster, "n3");
    drill::wait_our_drain(&cluster, "n3");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_topology_that_is_not_understood_is_said_and_holds_nobody() {
    let cluster = shared::lend_suite();
    let path = cluster.dir().join("jobs/topology.yaml");
    std::fs::write(&path, "- topology: fabric\n  tree: &anchor\n").expect("a topology is written");
    cluster.configure("slurm", "topology", &format!("\"{}\"", path.display()));
    lose(&cluster, "n1");
    drill::wait_our_drain(&cluster, "n1");
    let gates = cluster.ledger_value("n1", "SELECT gates FROM v_decisions WHERE intent = 'drain'");
    assert!(gates.contains("no racks are known") && gates.contains("topology.yaml:2"), "{gates}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_more_nodes_of_one_job_than_the_brake_allows() {
    let cluster = shared::lend_suite();
    figures(&cluster, &[("max_per_job = 2", "max_per_job = 1"), ("min_nodes = 2", "min_nodes = 4")]);
    // A step on both: a node that ran none learns of the job only by its epilog.
    let script = drill::script_after(&cluster, "srun --ntasks-per-node=1 true", "exit 1");
    let id = cluster.sbatch(&["--nodes=2", "--gres=gpu:8"], &script);
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    assert!(cluster.health_check("n1").ok());
    drill::wait_our_drain(&cluster, "n1");
    drill::lose_gpu(&cluster, "n2", 3);
    assert!(cluster.health_check("n2").ok());
    let why = cluster.ledger_value("n2", "SELECT held_because FROM v_decisions WHERE intent = 'drain'");
    assert!(why.contains(&format!("1 node of job {id} is out by us already")), "{why}");
    assert!(!drill::is_out(&cluster, "n2"));
    // A node that the job is not on is not held for it.
    lose(&cluster, "n3");
    drill::wait_our_drain(&cluster, "n3");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn while_a_brake_holds_cases_close_and_nodes_come_back() {
    let cluster = shared::lend_suite();
    figures(&cluster, &[("max_nodes = 32", "max_nodes = 1"), ("resume = \"monitor\"", "resume = \"act\"")]);
    second_is_held(&cluster, "1 node of the cluster");
    for node in ["n1", "n2"] {
        cluster.mend(node);
        let case = cluster.ledger_value(node, "SELECT id FROM cases WHERE resource LIKE 'gpu:%'");
        people::say(&cluster, node, &["ack", &case, "--reason", "board reseated"]);
    }
    // The held node's case is closed as well, so nothing is drained in its place.
    for node in ["n2", "n1"] {
        cluster.health_check(node);
    }
    cluster.wait_for("n1 is back", || (!drill::is_out(&cluster, "n1")).then_some(()));
    assert_eq!(drill::wait_settled(&cluster, "n1").last().map(String::as_str), Some("resume done"));
    let closed = "SELECT state FROM cases WHERE resource LIKE 'gpu:%'";
    assert_eq!(cluster.ledger_value("n2", closed), "resolved");
    cluster.health_check("n2");
    assert!(!drill::is_out(&cluster, "n2"));
}
