//! Jobs that must not be run again, though hardware is to blame: the node goes out, the job stays as it ended.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;

/// Waits for the job's end and asserts that it was left as it ended, and that n1 is drained all the same.
fn assert_left_alone(cluster: &Cluster, id: &str, state: &str) {
    let job = cluster.wait_done(id);
    assert_eq!((job.states(), job.get("Restarts")), (vec![state], "0"), "{job}");
    drill::wait_our_drain(cluster, "n1");
    assert_eq!(drill::wait_settled(cluster, "n1"), ["drain done"]);
}

/// [`assert_left_alone`] for a failed job, with `gate` as the reason on record.
fn assert_held(cluster: &Cluster, id: &str, gate: &str) {
    assert_left_alone(cluster, id, "FAILED");
    assert_eq!(drill::held_by(cluster, "n1", "requeue"), gate);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_forbids_a_requeue_is_left_alone() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--no-requeue", "--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert_held(&cluster, &id, "requeue_allowed");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_of_srun_is_left_alone() {
    interactive("srun --gres=gpu:8 sh");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_of_salloc_is_left_alone() {
    interactive("salloc --gres=gpu:8 srun sh");
}

/// A job that somebody sits in front of, started by `command`, fails on a broken node.
fn interactive(command: &str) {
    let cluster = shared::lend_suite();
    let mark = cluster.dir().join("jobs/interactive.id");
    let body = format!(
        "echo $SLURM_JOB_ID >{0}.new; mv {0}.new {0}; {1}",
        mark.display(),
        drill::script(&cluster, "exit 1")
    );
    let file = cluster.dir().join("jobs/interactive.sh");
    fs::write(&file, body).expect("the script is written");
    let line = format!("{command} {} >/dev/null 2>&1 &", file.display());
    cluster.run(&["sh", "-c", &line]).success("it starts in the background");
    let id = cluster.wait_for("the job runs", || fs::read_to_string(&mark).ok());
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, id.trim());
    assert_held(&cluster, id.trim(), "requeue_allowed");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_cancelled_job_stays_cancelled() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    cluster.run(&["scancel", &id]).success("scancel");
    assert_left_alone(&cluster, &id, "CANCELLED");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_over_its_time_limit_is_left_alone() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    // A limit that has passed, rather than a minute of waiting; slurmctld looks every half minute. It refuses one that has
    // passed when it reads it, as one of the last second has.
    cluster.wait_for("the limit is taken", || {
        cluster.scontrol(&["update", &format!("jobid={id}"), "endtime=now"]).ok().then_some(())
    });
    assert_left_alone(&cluster, &id, "TIMEOUT");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_says_do_not_run_me_again_is_left_alone() {
    let cluster = shared::lend_suite();
    let id = cluster.sbatch(&["--gres=gpu:8"], &drill::script(&cluster, "exit 93"));
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert_held(&cluster, &id, "exit_code");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_has_used_up_its_restarts_is_left_alone() {
    let cluster = shared::lend_suite();
    cluster.policy(|text| text.replacen("max_restarts = 3", "max_restarts = 0", 1));
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert_held(&cluster, &id, "restart_budget");
}
