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
