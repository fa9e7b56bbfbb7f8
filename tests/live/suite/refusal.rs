//! The prolog keeps a job off a node that is known to be broken.

use super::drill;
use crate::cluster::Cluster;
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
    cluster.end_wait(&id);
    let job = drill::again(&cluster, &id);
    assert_eq!(job.get("NodeList"), "n2", "{job}");
    assert!(!cluster.output(&id).contains("ran on n1"), "{}", cluster.output(&id));
    assert_eq!(drill::wait_settled(&cluster, "n1"), ["drain done", "refuse_job done"]);
    assert_eq!(runs(&cluster, "n1", &id), ["0 over, ended with nothing"]);
}

/// Runs of a job as the ledger of a node has them.
fn runs(cluster: &Cluster, node: &str, id: &str) -> Vec<String> {
    let sql = format!(
        "SELECT restart || iif(ended IS NULL, ' here', ' over') || ', ended with ' || ifnull(ended_with, 'nothing') AS line
         FROM v_jobs WHERE job_id = {id} ORDER BY started"
    );
    cluster.ledger(node, &sql).iter().filter_map(|row| row["line"].as_str().map(str::to_owned)).collect()
}

/// Slurm counts the restart of a run before it lets go of its nodes, whoever put it back into the queue.
#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_is_requeued_while_it_runs_is_one_run_on_each_node_and_no_success() {
    let cluster = shared::lend_suite();
    let wait =
        format!("srun sh -c ': >{}/jobs/$SLURM_JOB_ID.$SLURMD_NODENAME; exec sleep 300'", cluster.dir_text());
    let id = cluster.sbatch(&["--nodes=2", "--gres=gpu:8"], &wait);
    let begun = || {
        cluster.wait_for("both nodes have begun the run", || {
            let files = ["n1", "n2"].map(|node| cluster.dir().join(format!("jobs/{id}.{node}")));
            files.iter().all(|file| file.exists()).then(|| {
                files.iter().for_each(|file| std::fs::remove_file(file).expect("the mark is taken away"));
            })
        });
    };
    begun();
    cluster.scontrol(&["requeue", &id]).success("requeue");
    cluster.wait_for("the run is over", || {
        cluster.job(&id).filter(|job| job.get("Restarts") == "1" && !job.is("COMPLETING"))
    });
    ["n1", "n2"]
        .iter()
        .for_each(|node| assert_eq!(runs(&cluster, node, &id), ["0 over, ended with nothing"]));
    cluster.end_wait(&id);
    begun();
    // slurmd of 22.05 may run no prolog for a run that soon follows another one: the tasks tell of it then.
    cluster.run(&["scancel", &id]).success("scancel");
    cluster.wait_job(&id, "CANCELLED");
    for node in ["n1", "n2"] {
        let known = cluster.wait_for("the node has told of the second run", || {
            let known = runs(&cluster, node, &id);
            known.last().is_some_and(|last| last.starts_with("1 over")).then_some(known)
        });
        assert_eq!((known.len(), known[0].as_str()), (2, "0 over, ended with nothing"), "{node}: {known:?}");
    }
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
