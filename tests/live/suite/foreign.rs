//! What people and other programs did is theirs, and what they undo stays undone.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_persons_drain_reason_is_neither_overwritten_nor_lifted() {
    let cluster = shared::lend_suite();
    cluster.spy();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=changing a fan"]).success("drain");
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    // The job has a right to another node all the same.
    assert_eq!(drill::again(&cluster, &id).get("NodeList"), "n2");
    cluster.health_check("n1");
    cluster.mend("n1");
    cluster.health_check("n1");
    assert!(cluster.wait_node("n1", "DRAIN").get("Reason").starts_with("changing a fan ["));
    assert_eq!(cluster.obeyed(&["NodeName=n1", "State="]), 0);
    assert_eq!(drill::held_by(&cluster, "n1", "drain"), "foreign_reason");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_reason_that_a_person_wrote_over_ours_stays() {
    let cluster = shared::lend_suite();
    drained_by_us(&cluster);
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=RMA 4711"]).success("drain");
    cluster.health_check("n1");
    cluster.kernel_line("n1", &drill::xid_79(3));
    cluster.health_check("n1");
    assert!(cluster.node("n1").get("Reason").starts_with("RMA 4711 ["));
    assert_eq!(cluster.ledger_value("n1", "SELECT stood_down FROM cases WHERE code = 'xid.79'"), "1");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_that_a_person_resumed_is_not_drained_again_for_that_case() {
    let cluster = shared::lend_suite();
    cluster.spy();
    drained_by_us(&cluster);
    cluster.scontrol(&["update", "nodename=n1", "state=resume"]).success("resume");
    cluster.health_check("n1");
    // The same fault speaks once more, and NVML still does not find the GPU.
    cluster.kernel_line("n1", &drill::xid_79(3));
    cluster.health_check("n1");
    let id = cluster.sbatch(&["--nodelist=n1"], "true");
    assert!(cluster.wait_done(&id).is("COMPLETED"), "and jobs are let in");
    assert!(!drill::is_out(&cluster, "n1"));
    assert_eq!(cluster.obeyed(&["State=DRAIN"]), 1);
    assert_eq!(cluster.ledger_value("n1", "SELECT stood_down FROM cases WHERE code = 'xid.79'"), "1");
}

/// n1 idle, with a lost GPU and our drain.
fn drained_by_us(cluster: &Cluster) {
    drill::lose_gpu(cluster, "n1", 3);
    cluster.health_check("n1");
    drill::wait_our_drain(cluster, "n1");
}
