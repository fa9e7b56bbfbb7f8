//! Requeueing, as the suite does it from the epilog of a job's first node.

use crate::cluster::Cluster;
use crate::{shared, stub};
use std::fs;

/// An epilog that keeps its job COMPLETING until the test says so, or for a minute.
const WAITING_EPILOG: &str = "PATH=/usr/bin:/bin
i=0; while [ -e $dir/stub/epilog ] && [ ! -e $dir/stub/go ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done";

/// scontrol shows a job that is PENDING and COMPLETING as COMPLETING; only its restart count tells that it is
/// queued again.
#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_completing_job_can_be_requeued_and_keeps_off_excluded_nodes() {
    let cluster = shared::lend();
    let id = completing_job(&cluster);
    requeue(&cluster, &id).expect("a completing job is requeued");
    let job = cluster.job(&id).expect("the job is known");
    assert_eq!((job.states(), job.get("Restarts")), (vec!["COMPLETING"], "1"), "{job}");
    update(&cluster, &id, "excnodelist=n1").expect("a pending job takes an ExcNodeList while it completes");
    release_epilog(&cluster);
    cluster.end_wait(&id);
    let job = cluster.wait_job(&id, "RUNNING");
    assert_eq!((job.get("NodeList"), job.get("Restarts"), job.get("ExcNodeList")), ("n2", "1", "n1"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_second_requeue_answers_that_the_job_is_pending() {
    let cluster = shared::lend();
    let id = completing_job(&cluster);
    requeue(&cluster, &id).expect("the first is taken");
    let answer = requeue(&cluster, &id).expect_err("the second is refused");
    assert!(answer.contains("Job is pending execution"), "{answer}");
    assert_eq!(cluster.job(&id).expect("the job is known").get("Restarts"), "1");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_start_time_set_while_the_job_completes_is_lost() {
    let cluster = shared::lend();
    let id = completing_job(&cluster);
    requeue(&cluster, &id).expect("a completing job is requeued");
    update(&cluster, &id, "starttime=now").expect("it is taken, though it will not last");
    release_epilog(&cluster);
    let wait = |job: &crate::record::Record| job.get("Reason") == "BeginTime";
    cluster.wait_for("the job waits for its begin time", || cluster.job(&id).filter(wait));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_id_of_an_array_requeues_every_task_of_it() {
    // A task's SLURM_JOB_ID can be the array's own, so that id must never be given to scontrol requeue.
    let cluster = shared::lend();
    let id = running_array(&cluster);
    requeue(&cluster, &id).expect("the array is requeued");
    cluster.wait_for("all three run again", || restarts(&cluster, &id).filter(|n| *n == [1, 1, 1]));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn array_and_task_together_name_one_task() {
    let cluster = shared::lend();
    let id = running_array(&cluster);
    requeue(&cluster, &format!("{id}_2")).expect("the task is requeued");
    cluster.wait_for("the second alone runs again", || restarts(&cluster, &id).filter(|n| *n == [0, 1, 0]));
    assert!(cluster.job(&format!("{id}_1")).expect("the first is known").is("RUNNING"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_may_not_be_requeued_is_not() {
    let cluster = shared::lend();
    let id = cluster.sbatch(&["--no-requeue"], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    let answer = requeue(&cluster, &id).expect_err("it is refused");
    assert!(answer.contains("disabled"), "{answer}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_of_srun_cannot_be_requeued() {
    let cluster = shared::lend();
    let mark = cluster.dir().join("jobs/srun.id");
    let _ = fs::remove_file(&mark);
    let line = format!(
        "srun sh -c 'echo $SLURM_JOB_ID >{0}.new; mv {0}.new {0}; sleep 300' >/dev/null 2>&1 &",
        mark.display()
    );
    cluster.run(&["sh", "-c", &line]).success("srun in the background");
    let id = cluster.wait_for("srun's job runs", || fs::read_to_string(&mark).ok());
    let answer = requeue(&cluster, id.trim()).expect_err("it is refused");
    assert!(answer.contains("Only batch jobs"), "{answer}");
}

/// A job on n1 that has failed and whose epilog has not ended.
fn completing_job(cluster: &Cluster) -> String {
    stub::set(cluster, "epilog", WAITING_EPILOG);
    // Fails the first time, and runs on once restarted.
    let script = "[ ${SLURM_RESTART_COUNT:-0} -gt 0 ] || exit 7; sleep 300";
    let id = cluster.sbatch(&["--gres=gpu:8"], script);
    let job = cluster.wait_job(&id, "COMPLETING");
    assert_eq!(job.get("NodeList"), "n1", "an idle cluster is filled from its first node on");
    id
}

fn release_epilog(cluster: &Cluster) {
    fs::write(cluster.dir().join("stub/go"), "").expect("the epilog is released");
}

fn requeue(cluster: &Cluster, id: &str) -> Result<(), String> {
    let answer = cluster.scontrol(&["requeue", id]);
    if answer.ok() { Ok(()) } else { Err(answer.err) }
}

fn update(cluster: &Cluster, id: &str, what: &str) -> Result<(), String> {
    let answer = cluster.scontrol(&["update", &format!("jobid={id}"), what]);
    if answer.ok() { Ok(()) } else { Err(answer.err) }
}

/// An array of three whose tasks all run.
fn running_array(cluster: &Cluster) -> String {
    let id = cluster.sbatch(&["--array=1-3", "--gres=gpu:1"], "sleep 300");
    (1..=3).for_each(|task| {
        cluster.wait_job(&format!("{id}_{task}"), "RUNNING");
    });
    id
}

/// The restart counts of the three tasks.
fn restarts(cluster: &Cluster, id: &str) -> Option<Vec<u32>> {
    (1..=3).map(|task| cluster.job(&format!("{id}_{task}"))?.get("Restarts").parse().ok()).collect()
}
