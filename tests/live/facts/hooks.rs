//! What slurmd does with the programs it runs around a job.

use crate::{shared, stub};
use std::fs;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_failing_prolog_drains_its_node_and_the_job_starts_elsewhere() {
    let cluster = shared::lend();
    stub::set(&cluster, "prolog", "[ $SLURMD_NODENAME != n1 ] || exit 1");
    let id = cluster.sbatch(&["--gres=gpu:8"], "hostname; sleep 300");
    let node = cluster.wait_node("n1", "DRAIN");
    assert!(node.get("Reason").starts_with("Prolog error"), "{node}");
    cluster.end_wait(&id);
    let job = cluster.wait_job(&id, "RUNNING");
    assert_eq!(job.get("NodeList"), "n2", "{job}");
    assert_eq!(job.get("Restarts"), "1", "{job}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_failing_prolog_keeps_the_reason_that_stands() {
    let cluster = shared::lend();
    let drain = "scontrol update nodename=n1 state=drain reason='set by the prolog'";
    let text = format!("[ $SLURMD_NODENAME != n1 ] || {{ PATH=/usr/bin:/bin {drain}; exit 1; }}");
    stub::set(&cluster, "prolog", &text);
    let id = cluster.sbatch(&["--gres=gpu:8"], "sleep 300");
    cluster.wait_node("n1", "DRAIN");
    cluster.wait_for("the job is back in the queue", || {
        cluster.job(&id).filter(|job| job.is("PENDING") && job.get("Restarts") == "1")
    });
    assert!(cluster.node("n1").get("Reason").starts_with("set by the prolog"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_health_check_gets_no_path_but_its_node_name() {
    let cluster = shared::lend();
    let text = "[ $SLURMD_NODENAME = n1 ] && env >$dir/stub/env.new && mv $dir/stub/env.new $dir/stub/env";
    stub::set(&cluster, "healthcheck", text);
    let env =
        cluster.wait_for("the health check ran", || fs::read_to_string(cluster.dir().join("stub/env")).ok());
    assert!(env.lines().any(|line| line == "SLURMD_NODENAME=n1"), "{env}");
    assert!(!env.lines().any(|line| line.starts_with("PATH=") || line.starts_with("SLURM_JOB")), "{env}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_health_check_runs_on_a_drained_node() {
    // Else a node could never be resumed by it.
    let cluster = shared::lend();
    cluster.scontrol(&["update", "nodename=n1", "state=drain", "reason=test"]).success("drain");
    cluster.wait_node("n1", "DRAIN");
    stub::set(&cluster, "healthcheck", ": >$dir/stub/ran.$SLURMD_NODENAME");
    cluster.wait_for("the health check ran", || cluster.dir().join("stub/ran.n1").exists().then_some(()));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn every_node_of_a_job_runs_the_epilog_with_the_exit_code() {
    let cluster = shared::lend();
    stub::set(&cluster, "epilog", "echo $SLURM_JOB_EXIT_CODE2 >$dir/stub/exit.$SLURMD_NODENAME");
    let id = cluster.sbatch(&["--nodes=2", "--nodelist=n[1-2]"], "exit 7");
    assert!(cluster.wait_done(&id).is("FAILED"));
    for node in ["n1", "n2"] {
        let path = cluster.dir().join(format!("stub/exit.{node}"));
        assert_eq!(fs::read_to_string(path).expect("the epilog wrote").trim(), "7:0");
    }
}
