//! A job that was run again already: whether a further run has a point, and how long it waits for it.

use super::drill;
use crate::cluster::Cluster;
use crate::record::Record;
use crate::shared;

/// A script each of whose runs lasts until [`end`] says so for it.
fn script(cluster: &Cluster) -> String {
    format!(
        "r=${{SLURM_RESTART_COUNT:-0}}
         : >{0}/jobs/$SLURM_JOB_ID.begun.$r
         until [ -e {0}/jobs/$SLURM_JOB_ID.end.$r ]; do sleep 0.05; done
         exit 1",
        cluster.dir_text()
    )
}

/// Waits until this run of the job runs, its prolog over.
fn begun(cluster: &Cluster, id: &str, run: u32) -> Record {
    let mark = cluster.dir().join(format!("jobs/{id}.begun.{run}"));
    cluster.wait_for(&format!("run {run} of job {id} begins"), || {
        mark.exists().then(|| cluster.job(id)).flatten()
    })
}

/// Lets this run of the job end.
fn end(cluster: &Cluster, id: &str, run: u32) {
    std::fs::write(cluster.dir().join(format!("jobs/{id}.end.{run}")), "").expect("the run is told to end");
}

/// Policy: these words instead of those.
fn policy(cluster: &Cluster, words: &[(&str, &str)]) {
    cluster.policy(|text| {
        words.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the shipped policy says {from}");
            text.replacen(from, to, 1)
        })
    });
}

/// A job loses the GPU of n1, is run again on n2, and loses a GPU there as well.
fn lose_two(cluster: &Cluster) -> String {
    let id = cluster.sbatch(&["--gres=gpu:8"], &script(cluster));
    for (run, node) in [(0, "n1"), (1, "n2")] {
        assert_eq!(begun(cluster, &id, run).get("NodeList"), node);
        drill::lose_gpu(cluster, node, 3);
        end(cluster, &id, run);
    }
    id
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_second_requeue_waits_out_what_is_left_of_its_time() {
    let cluster = shared::lend_suite();
    policy(&cluster, &[("backoff_s = 60", "backoff_s = 3600"), ("progress_s = 600", "progress_s = 0")]);
    let id = lose_two(&cluster);
    let told = "SELECT answer FROM actions WHERE kind = 'clear_begin_time' AND state = 'done'";
    let answer = cluster.wait_for("its begin time is set", || {
        Some(cluster.ledger_value("n2", told)).filter(|answer| !answer.is_empty())
    });
    let seconds: u32 = answer
        .strip_prefix("begins in ")
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{answer}"));
    assert!((3_400..=3_600).contains(&seconds), "{answer}");
    let job = cluster.job(&id).expect("the job is known");
    assert_eq!((job.states(), job.get("Restarts")), (vec!["PENDING"], "2"), "{job}");
    cluster.wait_for("the scheduler says that it waits for its time", || {
        cluster.job(&id).filter(|job| job.get("Reason") == "BeginTime")
    });
    let gate = "SELECT count(*) FROM v_decisions WHERE intent = 'requeue' AND gates LIKE '%\"backoff\"%'";
    assert_eq!(cluster.ledger_value("n2", gate), "1");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_dies_at_once_after_its_restart_is_stopped_before_its_restarts_are_used_up() {
    let cluster = shared::lend_suite();
    policy(&cluster, &[("max_restarts = 3", "max_restarts = 2"), ("backoff_s = 60", "backoff_s = 0")]);
    let id = lose_two(&cluster);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "1"), "{job}");
    let why = cluster.ledger_value("n2", "SELECT why FROM v_decisions WHERE intent = 'stop'");
    assert!(why.contains("count double"), "{why}");
    drill::wait_our_drain(&cluster, "n2");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_fault_that_follows_the_job_from_node_to_node_stops_it() {
    let cluster = shared::lend_suite();
    policy(
        &cluster,
        &[
            ("same_fault_runs = 3", "same_fault_runs = 2"),
            ("progress_s = 600", "progress_s = 0"),
            ("backoff_s = 60", "backoff_s = 0"),
            ("min_nodes = 2", "min_nodes = 4"),
        ],
    );
    // n1 stays the batch host, and remembers; the second node breaks each time.
    let id = cluster.sbatch(&["--nodes=2", "--gres=gpu:8"], &script(&cluster));
    for (run, nodes, bad) in [(0, "n[1-2]", "n2"), (1, "n[1,3]", "n3")] {
        assert_eq!(begun(&cluster, &id, run).get("NodeList"), nodes);
        drill::hear_first(&cluster, "n1", &[bad]);
        drill::lose_gpu(&cluster, bad, 3);
        end(&cluster, &id, run);
    }
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "1"), "{job}");
    let why = cluster.ledger_value("n1", "SELECT why FROM v_decisions WHERE intent = 'stop'");
    assert!(why.contains("comes with the job"), "{why}");
    // The node is judged by its own evidence all the same.
    drill::wait_our_drain(&cluster, "n3");
}
