//! What comes after the epilog, killed at each of its calls: the begin time, the return into service, a node set down.
//! Whatever was done is done once, and the next pass finds out what that was.

use super::{drill, people};
use crate::cluster::Cluster;
use crate::shared;

const MOMENTS: [&str; 3] = ["before", "during", "after"];

/// A node for each moment.
fn each() -> impl Iterator<Item = (String, &'static str)> {
    (1..=MOMENTS.len()).map(|number| format!("n{number}")).zip(MOMENTS)
}

/// Health checks until nothing is left to do on the node.
fn settle(cluster: &Cluster, node: &str, kind: &str) {
    let open = "SELECT count(*) FROM actions WHERE state IN ('pending', 'running')";
    let done = format!("SELECT count(*) FROM actions WHERE kind = '{kind}' AND state = 'done'");
    cluster.wait_for(&format!("{node}: {kind} is settled"), || {
        assert!(cluster.health_check(node).ok());
        (cluster.ledger_value(node, open) == "0" && cluster.ledger_value(node, &done) == "1").then_some(())
    });
}

fn policy(cluster: &Cluster) {
    // Three of four nodes at a time are more than the brakes allow.
    cluster.policy(|text| {
        text.replacen("min_nodes = 2", "min_nodes = 4", 1).replacen(
            "resume = \"monitor\"",
            "resume = \"act\"",
            1,
        )
    });
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_begin_time_is_cleared_whenever_its_clearer_dies() {
    let cluster = shared::lend_suite();
    policy(&cluster);
    cluster.spy();
    let jobs: Vec<(String, String)> = each()
        .map(|(node, when)| {
            let id = drill::running(&cluster, &["--gres=gpu:2", &others(&node)]);
            cluster.kill_hook(&node, when, "StartTime=");
            (node, id)
        })
        .collect();
    for (node, id) in &jobs {
        drill::lose_gpu(&cluster, node, 3);
        drill::end(&cluster, id);
    }
    for (node, id) in &jobs {
        cluster.wait_killed(node);
        settle(&cluster, node, "clear_begin_time");
        let job = drill::again(&cluster, id);
        assert_eq!((job.get("NodeList"), job.get("Restarts")), ("n4", "1"), "{node}: {job}");
        assert_eq!(cluster.obeyed(&["requeue ", id]), 1, "{node}");
    }
}

/// Keeps a job on this node, or on n4 afterwards.
fn others(node: &str) -> String {
    let names = (1..4).map(|n| format!("n{n}")).filter(|name| name != node);
    format!("--exclude={}", names.collect::<Vec<_>>().join(","))
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_return_into_service_that_is_killed_happens_once() {
    // A health check reads the node to decide, reads it again, and lifts the drain.
    for at in 1..=3 {
        let cluster = shared::lend_suite();
        policy(&cluster);
        cluster.spy();
        for (node, when) in each() {
            drill::lose_gpu(&cluster, &node, 3);
            cluster.health_check(&node);
            drill::wait_our_drain(&cluster, &node);
            cluster.wait_for("the second look is over", || {
                let open = "SELECT count(*) FROM actions WHERE state <> 'done'";
                (cluster.ledger_value(&node, open) == "0").then_some(())
            });
            cluster.mend(&node);
            let case = cluster.ledger_value(&node, "SELECT id FROM cases WHERE resource LIKE 'gpu:%'");
            people::say(&cluster, &node, &["ack", &case, "--reason", "board reseated"]);
            cluster.forget_calls(&node);
            cluster.kill_hook(&node, when, at);
        }
        for (node, when) in each() {
            cluster.health_check(&node);
            cluster.wait_killed(&node);
            settle(&cluster, &node, "resume");
            assert!(!drill::is_out(&cluster, &node), "{node} {when} {at}");
            let lifted = cluster.obeyed(&[&format!("NodeName={node}"), "State=UNDRAIN"]);
            assert_eq!(lifted, 1, "{node} {when} {at}: {:?}", cluster.calls(&node));
        }
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_whose_setting_down_is_killed_is_set_down_once() {
    let cluster = shared::lend_suite();
    policy(&cluster);
    drill::first_rule(&cluster, "class = [\"hardware\"]\nnode = \"down\"");
    cluster.spy();
    for (node, when) in each() {
        cluster.kill_hook(&node, when, "State=DOWN");
        drill::lose_gpu(&cluster, &node, 3);
        cluster.health_check(&node);
    }
    for (node, when) in each() {
        cluster.wait_killed(&node);
        settle(&cluster, &node, "down");
        assert!(cluster.node(&node).is("DOWN"), "{node} {when}");
        let down = cluster.obeyed(&[&format!("NodeName={node}"), "State=DOWN"]);
        assert_eq!(down, 1, "{node} {when}: {:?}", cluster.calls(&node));
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_reboot_whose_asker_is_killed_is_asked_for_once() {
    let cluster = shared::lend_suite();
    policy(&cluster);
    cluster.policy(|text| text.replacen("reboot = \"off\"", "reboot = \"act\"", 1));
    cluster.spy();
    for (node, when) in each() {
        cluster.kernel_line(&node, drill::XID_95);
        cluster.kill_hook(&node, when, "reboot ");
        cluster.health_check(&node);
        drill::wait_our_drain(&cluster, &node);
        // Wanted once the node is out.
        cluster.health_check(&node);
        cluster.wait_killed(&node);
        settle(&cluster, &node, "reboot");
        let asked = cluster.obeyed(&["reboot ", &node]);
        assert_eq!(asked, 1, "{node} {when}: {:?}", cluster.calls(&node));
        let reason = cluster.node(&node).get("Reason").to_owned();
        assert!(reason.starts_with("slurm-triage: xid.95 "), "{node} {when}: {reason}");
    }
    for (node, _) in each() {
        drill::wait_rebooting(&cluster, &node);
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_call_that_does_not_come_back_is_given_up_and_made_again_by_the_next_pass() {
    let cluster = shared::lend_suite();
    cluster.spy();
    cluster.configure("slurm", "command_deadline_ms", "3000");
    for (node, word) in [("n1", "State=DRAIN"), ("n2", "-o show node")] {
        cluster.kill_hook(node, "hang", word);
        drill::lose_gpu(&cluster, node, 3);
        assert!(cluster.health_check(node).ok(), "the health check ends all the same");
        assert!(!drill::is_out(&cluster, node));
        settle(&cluster, node, "drain");
        drill::wait_our_drain(&cluster, node);
        assert_eq!(cluster.obeyed(&[&format!("NodeName={node}"), "State=DRAIN"]), 1);
    }
}
