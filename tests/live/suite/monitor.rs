//! Monitor mode: everything is decided, nothing is done.

use super::drill;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn monitor_mode_leaves_the_scheduler_byte_for_byte_as_it_was() {
    let cluster = shared::lend_suite();
    cluster.monitor_mode();
    let before = cluster.snapshot_but_jobs();
    let id = cluster
        .sbatch(&["--nodes=2", "--gres=gpu:8"], &drill::script(&cluster, "srun --ntasks-per-node=1 false"));
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::lose_gpu(&cluster, "n2", 3);
    drill::end(&cluster, &id);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts"), job.get("ExcNodeList")), (vec!["FAILED"], "0", "(null)"));
    for node in ["n1", "n2"] {
        assert!(cluster.health_check(node).ok());
        assert_eq!(drill::held_by(&cluster, node, "drain"), "mode");
    }
    assert_eq!(drill::held_by(&cluster, "n1", "requeue"), "mode");
    // And the next job is let in, with the refusal written down.
    let next = cluster.sbatch(&["--gres=gpu:8"], "true");
    assert_eq!(cluster.wait_done(&next).get("NodeList"), "n1");
    assert_eq!(drill::held_by(&cluster, "n1", "refuse_job"), "mode");
    for node in ["n1", "n2"] {
        assert_eq!(cluster.ledger(node, "SELECT * FROM actions").len(), 0, "{node}");
    }
    assert_eq!(cluster.snapshot_but_jobs(), before);
}
