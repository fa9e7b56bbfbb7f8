//! The prolog keeps a job off a node that is known to be broken.

use super::drill;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_is_refused_by_a_broken_node_and_starts_elsewhere() {
    let cluster = shared::lend_suite();
    // Nobody has looked at n1 since, so Slurm still gives it the job.
    drill::lose_gpu(&cluster, "n1", 3);
    let id = cluster.sbatch(&["--gres=gpu:8"], "echo ran on $SLURMD_NODENAME; sleep 300");
    let node = drill::wait_our_drain(&cluster, "n1");
    assert!(!node.get("Reason").contains("Prolog error"), "{node}");
    let job = cluster.wait_for("the job is back in the queue or runs again", || {
        cluster.job(&id).filter(|job| job.get("Restarts") == "1" && !job.is("COMPLETING"))
    });
    assert_ne!(job.get("Priority"), "0", "it is not held: {job}");
    // After a failed prolog Slurm has a job wait two minutes.
    cluster.scontrol(&["update", &format!("jobid={id}"), "starttime=now"]);
    let job = drill::again(&cluster, &id);
    assert_eq!(job.get("NodeList"), "n2", "{job}");
    assert!(!cluster.output(&id).contains("ran on n1"), "{}", cluster.output(&id));
    assert_eq!(drill::wait_settled(&cluster, "n1"), ["drain done", "refuse_job done"]);
}

/// Whoever has reserved a node works on it, and a refusal would drain it.
#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_is_let_into_a_broken_node_that_somebody_has_reserved() {
    let cluster = shared::lend_suite();
    let reservation = ["create", "reservation", "reservationname=test", "user=daemon", "nodes=n1"];
    let when = ["starttime=now", "duration=10", "flags=ignore_jobs"];
    cluster.scontrol(&[&reservation[..], &when].concat()).success("create reservation");
    cluster.wait_for("the reservation begins", || cluster.node("n1").is("RESERVED").then_some(()));
    drill::lose_gpu(&cluster, "n1", 3);
    let id = cluster.submit(
        "daemon",
        &["--reservation=test", "--gres=gpu:8"],
        "#!/bin/sh\necho ran on $SLURMD_NODENAME\n",
    );
    let job = cluster.wait_for("the job has run", || cluster.job(&id).filter(|job| job.is("COMPLETED")));
    assert_eq!(job.get("NodeList"), "n1", "{job}");
    assert!(!drill::is_out(&cluster, "n1"));
    let wanted = "SELECT count(*) FROM v_decisions WHERE intent = 'refuse_job'";
    assert_eq!(cluster.ledger_value("n1", wanted), "1", "it would have been refused");
    cluster.scontrol(&["delete", "reservationname=test"]).success("delete reservation");
}
