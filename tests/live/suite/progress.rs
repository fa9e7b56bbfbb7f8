//! Restarts that get nowhere: what a job prints of its steps and checkpoints counts for and against its own budget.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;

/// A job that runs on n1, n2 and n3 in turn, each of which loses a GPU under it, and prints `prints` in each run; what was
/// decided about it on the last of them, with the reason.
fn third_end(cluster: &Cluster, prints: &str) -> (String, String) {
    // Run times say nothing here, and nobody waits between two requeues.
    cluster.policy(|text| {
        let text = text.replacen("progress_s = 600", "progress_s = 0", 1);
        text.replacen("backoff_s = 60", "backoff_s = 0", 1)
    });
    let script = format!(
        "n=${{SLURM_RESTART_COUNT:-0}}
         {prints}
         : >{0}/jobs/$SLURM_JOB_ID.begun$n
         until [ -e {0}/jobs/$SLURM_JOB_ID.end$n ]; do sleep 0.05; done
         exit 1",
        cluster.dir_text()
    );
    let id = cluster.submit("nobody", &["--gres=gpu:8"], &script);
    for (run, node) in ["n1", "n2", "n3"].iter().enumerate() {
        let mark = |word: &str| cluster.dir().join(format!("jobs/{id}.{word}{run}"));
        cluster.wait_for(&format!("run {run} has begun"), || mark("begun").exists().then_some(()));
        assert_eq!(cluster.job(&id).expect("the job is known").get("NodeList"), *node);
        drill::lose_gpu(cluster, node, 3);
        fs::write(mark("end"), "").expect("the run is told to end");
    }
    let sql = "SELECT intent, why FROM v_decisions WHERE subject LIKE 'job %'";
    let rows = cluster.wait_for("it is decided about the third run", || {
        Some(cluster.ledger("n3", sql)).filter(|rows| !rows.is_empty())
    });
    let text = |key: &str| rows[0][key].as_str().unwrap_or_default().to_owned();
    (text("intent"), text("why"))
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_saves_the_same_checkpoint_run_after_run_is_not_run_again() {
    let cluster = shared::lend_suite();
    // Each run computes a little further than the one before, and loses it.
    let prints = "echo \"step $((45 + n)) loss 2.1\"; echo 'Saved checkpoint at iteration 40'";
    let (intent, why) = third_end(&cluster, prints);
    assert_eq!(intent, "stop", "{why}");
    assert!(why.contains("got no further than the run before"), "{why}");
    let gates = cluster.ledger_value("n2", "SELECT gates FROM v_decisions WHERE intent = 'requeue'");
    assert!(gates.contains("this run got to step 46, checkpoint 40"), "{gates}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_gets_further_each_time_is_run_again() {
    let cluster = shared::lend_suite();
    let prints = "echo \"iteration $((45 + 10 * n))/ 5000 | lm loss: 2.1\"; echo \"successfully saved checkpoint from iteration $((40 + 10 * n)) to /c\"";
    let (intent, why) = third_end(&cluster, prints);
    assert_eq!(intent, "requeue", "{why}");
}
