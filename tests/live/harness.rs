//! The harness itself: a check that cannot fail proves nothing.

use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_snapshot_shows_a_drain_and_nothing_that_moves_by_itself() {
    let cluster = shared::lend();
    let id = cluster.sbatch(&["--nodelist=n2"], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    let before = cluster.snapshot();
    // Long enough for a health check, a ping's load average and the job's own clock to move on.
    let ran_for = |seconds: &str| cluster.job(&id).filter(|job| job.get("RunTime").ends_with(seconds));
    cluster.wait_for("time goes by", || ran_for(":05"));
    assert_eq!(cluster.snapshot(), before);
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=test"]).success("drain");
    assert_ne!(cluster.snapshot(), before);
}
