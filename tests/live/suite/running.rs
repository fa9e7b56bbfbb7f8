//! Jobs that still run on a node which was taken out: left to end by themselves, unless the policy says otherwise.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::time::Instant;

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
    let cluster = shared::lend_suite();
    set(&cluster, &["requeue_running", "kill_steps_first"]);
    let id = hanging(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    assert!(cluster.health_check("n1").ok());
    drill::wait_our_drain(&cluster, "n1");
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"), "the drain alone ends no job");
    let begun = Instant::now();
    assert!(cluster.health_check("n1").ok());
    let job = drill::again(&cluster, &id);
    println!("running again after {} ms", begun.elapsed().as_millis());
    assert_eq!((job.get("NodeList"), job.get("ExcNodeList")), ("n2", "n1"), "{job}");
    let killed = cluster.ledger_value("n1", "SELECT answer FROM actions WHERE kind = 'kill_steps'");
    assert!(killed.contains("1 steps of"), "{killed}");
    // KillWait is 30 s here: a step that was waited out would still have been there when the job came back.
    let slow = cluster.run(&[
        "grep",
        "-c",
        "killed by KillWait",
        &format!("{}/log/slurmctld.log", cluster.dir_text()),
    ]);
    assert_eq!(slow.out.trim(), "0");
    let settled = drill::wait_settled(&cluster, "n1");
    assert!(settled.contains(&"requeue done".to_owned()), "{settled:?}");
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
