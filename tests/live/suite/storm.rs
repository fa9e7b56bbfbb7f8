//! Many nodes at once: what looks like many faults and is one, and what is many faults and must not empty the cluster.

use super::drill;
use crate::cluster::{Cluster, Options};
use crate::tend;
use std::time::Duration;

/// As many as a machine with two cores bears; the job has two fewer, so that it finds a place to run again.
const NODES: usize = 64;

/// Epilogs of this many nodes on two cores take their time.
const LONG: Duration = Duration::from_secs(240);

/// The shipped policy's `[brake] max_per_job`.
const MAX_PER_JOB: usize = 2;

fn cluster() -> Cluster {
    let cluster = tend::up(Options::default().with("--nodes", &NODES.to_string()));
    begin_ledgers(&cluster);
    cluster
}

/// A first health check everywhere: what a storm meets is a node at work, not one just installed.
fn begin_ledgers(cluster: &Cluster) {
    let nodes: Vec<String> = nodes().collect();
    std::thread::scope(|scope| {
        for some in nodes.chunks(NODES / 4) {
            scope.spawn(move || some.iter().for_each(|node| assert!(cluster.health_check(node).ok())));
        }
    });
}

fn nodes() -> impl Iterator<Item = String> {
    (1..=NODES).map(|number| format!("n{number}"))
}

/// Names of the nodes that are out for a reason of ours.
fn out(cluster: &Cluster) -> Vec<String> {
    let all = cluster.scontrol(&["-o", "show", "node"]).success("scontrol show node");
    let ours = |line: &&str| line.contains("DRAIN") && line.contains("Reason=slurm-triage: ");
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().replace("NodeName=", "");
    all.lines().filter(ours).map(name).collect()
}

/// Waits until the epilogs are over and the accused nodes have settled whatever they wanted. An epilog that a busy machine
/// did not let end in time leaves the rest to its node's next health check.
fn wait_settled(cluster: &Cluster, id: &str, accused: &[String]) {
    cluster.wait_long_for("the epilogs are over", LONG, || {
        cluster.job(id).is_none_or(|job| !job.is("COMPLETING")).then_some(())
    });
    let known = "SELECT count(*) FROM cases WHERE code = 'xid.79'";
    let open = "SELECT count(*) FROM actions WHERE state IN ('pending', 'running')";
    let mut left: Vec<&String> = accused.iter().collect();
    cluster.wait_long_for("every node is settled", LONG, || {
        left.retain(|node| {
            cluster.ledger_value(node, known) == "0" || cluster.ledger_value(node, open) != "0"
        });
        left.iter().for_each(|node| assert!(cluster.health_check(node).ok()));
        left.is_empty().then_some(())
    });
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn one_lost_gpu_behind_a_wave_of_teardown_costs_one_drain_and_one_requeue() {
    let cluster = cluster();
    let id = drill::running(&cluster, &[&format!("--nodes={}", NODES - 2), "--gres=gpu:8"]);
    cluster.spy();
    drill::hear_first(&cluster, "n1", &["n7"]);
    cluster.kernel_line("n7", &drill::xid_79(3));
    for node in nodes().take(NODES - 2) {
        for xid in [43, 45] {
            let line = format!("NVRM: Xid (PCI:0000:1b:00): {xid}, pid=4711, name=python3, Ch 00000008");
            cluster.kernel_line(&node, &line);
        }
    }
    drill::end(&cluster, &id);
    let ended = jiff::Timestamp::now();
    cluster.wait_long_for("the job runs again", LONG, || {
        cluster.job(&id).filter(|job| job.is("RUNNING") && job.get("Restarts") == "1")
    });
    let again = jiff::Timestamp::now().duration_since(ended).as_secs_f64();
    wait_settled(&cluster, &id, &["n7".to_owned()]);
    let after = |node: &str, kind: &str| {
        let sql =
            format!("SELECT min(settled_at) AS at FROM actions WHERE kind = '{kind}' AND state = 'done'");
        cluster.ledger_value(node, &sql).parse::<f64>().unwrap_or_default() / 1e6
            - ended.as_duration().as_secs_f64()
    };
    // For docs/performance.md; how fast it is depends on the machine, and is no question of right or wrong.
    println!(
        "{} nodes, after the job's end: drained {:.1} s, requeued {:.1} s, running again {again:.1} s",
        NODES - 2,
        after("n7", "drain"),
        after("n1", "requeue")
    );
    assert_eq!(out(&cluster), ["n7"]);
    assert_eq!(cluster.obeyed(&["State=DRAIN"]), 1, "one drain");
    assert_eq!(cluster.obeyed(&["requeue ", &id]), 1, "one requeue");
    let silent = nodes().filter(|node| !matches!(node.as_str(), "n1" | "n7"));
    for node in silent {
        assert_eq!(cluster.calls(&node), Vec::<String>::new(), "{node} has nothing to say");
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn when_every_node_of_a_job_loses_a_gpu_at_once_the_brake_keeps_the_cluster() {
    let cluster = cluster();
    let id = drill::running(&cluster, &[&format!("--nodes={}", NODES - 2), "--gres=gpu:8"]);
    cluster.spy();
    for node in nodes().take(NODES - 2) {
        cluster.kernel_line(&node, &drill::xid_79(3));
    }
    drill::end(&cluster, &id);
    let accused: Vec<String> = nodes().take(NODES - 2).collect();
    wait_settled(&cluster, &id, &accused);
    let drained = out(&cluster);
    assert_eq!(drained.len(), MAX_PER_JOB, "{drained:?}");
    for node in nodes().take(NODES - 2).filter(|node| !drained.contains(node)) {
        let said = cluster.ledger_value(
            &node,
            "SELECT (SELECT count(*) FROM v_decisions WHERE intent = 'drain' AND held_by = 'brake')
                  + (SELECT count(*) FROM actions WHERE kind = 'confirm_drain' AND answer LIKE '%at most%')",
        );
        assert_ne!(said, "0", "the ledger of {node} says that a brake held");
        assert_eq!(
            cluster.ledger_value(&node, "SELECT state FROM cases WHERE code = 'xid.79'"),
            "open",
            "{node} is still accused"
        );
    }
    // Nothing is forgotten and nothing moves while the brake holds.
    let held = nodes().take(NODES - 2).find(|node| !drained.contains(node)).expect("most are in service");
    assert!(cluster.health_check(&held).ok());
    assert_eq!(out(&cluster), drained);
    let stood_down = cluster.ledger_value(&held, "SELECT sum(stood_down) FROM cases");
    assert_eq!(stood_down, "0", "a drain that we took back was undone by nobody");
}
