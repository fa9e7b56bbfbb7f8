//! The SPANK plugin's part: who ended when and how, and a job's own wish.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_end_of_every_task_reaches_the_ledger() {
    let cluster = shared::lend_suite();
    let script = "srun --ntasks=3 sh -c 'exit $SLURM_PROCID'; exit 5";
    let id = cluster.submit("nobody", &["--ntasks=3"], script);
    assert!(cluster.wait_done(&id).is("FAILED"));
    let ends = |step: &str| {
        let sql = format!(
            "SELECT group_concat(line, ' ') AS line FROM (SELECT rank || ':' || exit_code AS line FROM tasks
             WHERE job = {id} AND what = 'end' AND step = '{step}' ORDER BY rank)"
        );
        cluster.ledger_value("n1", &sql)
    };
    assert_eq!(ends("0"), "0:0 1:1 2:2");
    assert_eq!(ends("batch"), "0:5");
    let starts = format!("SELECT count(*) FROM tasks WHERE job = {id} AND what = 'start'");
    assert_eq!(cluster.ledger_value("n1", &starts), "4");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_asks_to_be_left_alone_is() {
    asked("off");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_asks_for_monitor_is_not_requeued() {
    asked("monitor");
}

fn asked(wish: &str) {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8", &format!("--triage={wish}")]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "0"), "{job}");
    drill::wait_our_drain(&cluster, "n1");
    assert_held(&cluster);
}

fn assert_held(cluster: &Cluster) {
    assert_eq!(drill::held_by(cluster, "n1", "requeue"), "job_ask");
    assert_eq!(drill::wait_settled(cluster, "n1"), ["drain done"]);
}
