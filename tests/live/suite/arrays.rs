//! Array tasks: `scontrol requeue` with the wrong name would requeue all of them.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn one_failed_task_of_an_array_is_requeued_alone() {
    lose_the_gpu_of(2);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_task_that_has_the_arrays_own_id_is_requeued_alone() {
    lose_the_gpu_of(3);
}

/// An array of three tasks with a GPU each, all on n1; the one with this number loses its GPU and fails.
fn lose_the_gpu_of(task: usize) {
    let cluster = shared::lend_suite();
    let id = cluster.sbatch(&["--array=1-3", "--gres=gpu:1"], &drill::script(&cluster, "exit 1"));
    for number in 1..=3 {
        assert_eq!(drill::wait_begun(&cluster, &format!("{id}_{number}")).get("NodeList"), "n1");
    }
    let raw = cluster.job(&format!("{id}_{task}")).expect("the task is known").get("JobId").to_owned();
    assert_eq!(raw == id, task == 3, "the last task keeps the array's id");
    drill::lose_gpu(&cluster, "n1", task - 1);
    drill::end(&cluster, &format!("{id}_{task}"));
    let job = drill::again(&cluster, &format!("{id}_{task}"));
    assert_eq!((job.get("NodeList"), job.get("ExcNodeList")), ("n2", "n1"), "{job}");
    for other in (1..=3).filter(|other| *other != task) {
        assert_untouched(&cluster, &format!("{id}_{other}"));
    }
    drill::wait_our_drain(&cluster, "n1");
}

fn assert_untouched(cluster: &Cluster, id: &str) {
    let job = cluster.job(id).expect("the task is known");
    assert!(job.is("RUNNING"), "{job}");
    assert_eq!((job.get("Restarts"), job.get("NodeList"), job.get("ExcNodeList")), ("0", "n1", "(null)"));
}
