//! Jobs that still run on a node which was taken out: left to end by themselves, unless the policy says otherwise.

use super::drill;
use crate::cluster::{Cluster, Options};
use crate::{shared, tend};
use std::time::Instant;

/// A cluster that gives a job ten minutes after SIGTERM: whoever waits them out is not back before a test's patience ends.
fn patient() -> Cluster {
    let cluster = tend::up(Options::default());
    cluster.reconfigure("KillWait=600");
    cluster.wait_for("the controller has taken it", || {
        let config = cluster.scontrol(&["show", "config"]).success("show config");
        config.lines().any(|line| line.starts_with("KillWait") && line.contains("600 sec")).then_some(())
    });
    ["n1", "n2"].iter().for_each(|node| assert!(cluster.health_check(node).ok()));
    cluster
}

/// Ranks that hang whatever politely asks them to end, as on a lost GPU, in a batch script that does the same; a restart
/// sleeps.
fn hanging(cluster: &Cluster, args: &[&str]) -> String {
    let script = format!(
        "[ ${{SLURM_RESTART_COUNT:-0}} -eq 0 ] || exec sleep 300
         trap '' TERM
         srun sh -c 'trap \"\" TERM; : >{0}/jobs/$SLURM_JOB_ID.begun; while :; do sleep 0.2; done' &
         while :; do sleep 0.2; done",
        cluster.dir_text()
    );
    let id = cluster.sbatch(args, &script);
    drill::wait_begun(cluster, &id);
    id
}

fn set(cluster: &Cluster, keys: &[&str]) {
    cluster.policy(|text| {
        keys.iter().fold(text.to_owned(), |text, key| {
            text.replacen(&format!("{key} = false"), &format!("{key} = true"), 1)
        })
    });
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_hanging_job_is_put_back_to_work_without_waiting_for_killwait_where_the_policy_says_so() {
    let cluster = patient();
    set(&cluster, &["requeue_running", "kill_steps_first"]);
    let id = hanging(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    assert!(cluster.health_check("n1").ok());
    drill::wait_our_drain(&cluster, "n1");
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"), "the drain alone ends no job");
    let begun = Instant::now();
    assert!(cluster.health_check("n1").ok());
    let job = drill::again(&cluster, &id);
    // For docs/performance.md; that it is below ten minutes is what the test is about.
    println!("running again after {} ms", begun.elapsed().as_millis());
    assert_eq!((job.get("NodeList"), job.get("ExcNodeList")), ("n2", "n1"), "{job}");
    let killed = cluster.ledger_value("n1", "SELECT answer FROM actions WHERE kind = 'kill_steps'");
    assert!(killed.contains("1 step and the batch script of job "), "{killed}");
    let settled = drill::wait_settled(&cluster, "n1");
    assert!(settled.contains(&"requeue done".to_owned()), "{settled:?}");
    // Else its detached processes would outlive the cluster's folder.
    tend::stop(&cluster);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_still_runs_is_left_alone_as_shipped_and_where_its_gpus_are_others() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:2", "--nodelist=n1"]);
    set(&cluster, &["requeue_running", "kill_steps_first"]);
    // The job has GPUs 0 and 1.
    drill::lose_gpu(&cluster, "n1", 3);
    for _ in 0..3 {
        assert!(cluster.health_check("n1").ok());
    }
    drill::wait_our_drain(&cluster, "n1");
    let job = cluster.job(&id).expect("the job is known");
    assert_eq!((job.states(), job.get("Restarts")), (vec!["RUNNING"], "0"), "{job}");
    assert_eq!(drill::wait_settled(&cluster, "n1"), ["drain done"]);
}
