//! The harness itself: a check that cannot fail proves nothing.

use crate::cluster::Cluster;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_snapshot_shows_a_drain_and_nothing_that_moves_by_itself() {
    let cluster = shared::lend();
    let id = cluster.sbatch(&["--nodelist=n2"], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    let before = cluster.snapshot();
    // Long enough for a health check, a ping's load average and the job's own clock to move on.
    let began = seconds(&cluster, &id);
    cluster.wait_for("time goes by", || (seconds(&cluster, &id) >= began + 5).then_some(()));
    assert_eq!(cluster.snapshot(), before);
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=test"]).success("drain");
    assert_ne!(cluster.snapshot(), before);
}

/// How long the job has run, by Slurm's clock: of `00:01:05` or `2-00:01:05`.
fn seconds(cluster: &Cluster, id: &str) -> u32 {
    let job = cluster.job(id).expect("the job is known");
    let clock = job.get("RunTime").rsplit('-').next().unwrap_or_default();
    clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<u32>().expect("a figure"))
}
