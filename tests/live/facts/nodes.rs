//! Drain reasons and the free text of a node's record.

use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn scontrol_overwrites_the_reason_of_a_drained_node() {
    // So whoever drains must read first: Slurm will not keep another's reason for us.
    let cluster = shared::lend();
    let drain = |reason: &str| {
        let reason = format!("reason={reason}");
        cluster.scontrol(&["update", "nodename=n1", "state=drain", &reason]).success("drain");
    };
    drain("changing a fan");
    drain("other words");
    assert!(cluster.node("n1").get("Reason").starts_with("other words ["));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn draining_a_node_lets_its_jobs_run_on() {
    let cluster = shared::lend();
    let id = cluster.sbatch(&["--nodelist=n1"], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=test"]).success("drain");
    assert!(cluster.wait_node("n1", "DRAIN").is("MIXED"));
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_record_carries_a_page_of_json() {
    let cluster = shared::lend();
    let text = format!("{{\"slurm-triage\":\"{}\"}}", "x".repeat(4000));
    cluster.scontrol(&["update", "nodename=n1", &format!("extra={text}")]).success("update extra");
    assert_eq!(cluster.node("n1").get("Extra"), text);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_user_may_not_touch_a_node() {
    let cluster = shared::lend();
    let answer = cluster.run_as("nobody", &["scontrol", "update", "nodename=n1", "state=drain", "reason=x"]);
    assert_ne!(answer.status, 0);
    assert_eq!(cluster.node("n1").states(), ["IDLE"]);
}
