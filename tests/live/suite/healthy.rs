//! A healthy cluster must not notice the suite.

use super::drill;
use crate::cluster::Cluster;
use crate::command::run;
use crate::shared;
use std::fs;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_healthy_job_costs_the_controller_no_call_and_changes_nothing() {
    let cluster = shared::lend_suite();
    cluster.spy();
    let before = cluster.snapshot_but_jobs();
    let id =
        cluster.submit("nobody", &["--nodes=2", "--gres=gpu:2"], "srun --ntasks-per-node=1 id -un; exit 0");
    assert!(cluster.wait_done(&id).is("COMPLETED"));
    assert_eq!(cluster.output(&id), "nobody\nnobody\n");
    assert!(cluster.health_check("n1").ok());
    for node in ["n1", "n2"] {
        assert_eq!(cluster.calls(node), [""; 0], "calls of {node}");
        let ended = cluster.ledger_value(node, "SELECT ended_with FROM v_jobs");
        assert_eq!(ended, "exit 0", "{node} has the run on record");
        let cases = cluster.ledger(node, "SELECT code, resource, why FROM v_cases");
        assert!(cases.is_empty(), "{node}: {cases:?}");
    }
    assert_eq!(cluster.snapshot_but_jobs(), before);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_fails_on_a_healthy_node_is_the_users_business() {
    let cluster = shared::lend_suite();
    cluster.spy();
    let id = cluster.sbatch(&["--gres=gpu:1"], "exit 7");
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts"), job.get("ExitCode")), (vec!["FAILED"], "0", "7:0"));
    // Where its output is, only the job's record tells.
    assert_eq!(cluster.calls("n1"), [format!("-o show job {id}")]);
    assert!(!drill::is_out(&cluster, "n1"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_healthy_prolog_starts_no_program_and_opens_no_socket() {
    let cluster = shared::lend_suite();
    // The first pass makes the ledger.
    assert!(prolog(&cluster, &[]).ok());
    let trace = cluster.dir().join("jobs/trace");
    let text = trace.to_str().expect("UTF-8");
    let strace = ["strace", "-f", "-qq", "-e", "trace=process,network", "-o", text];
    let answer = prolog(&cluster, &strace);
    if answer.err.contains("Operation not permitted") {
        eprintln!("left out: this machine lets nobody trace a process");
        return;
    }
    assert!(answer.ok(), "{}", answer.err);
    let trace = fs::read_to_string(trace).expect("strace wrote");
    let calls = |names: &[&str]| -> Vec<&str> {
        let is = |line: &&str| names.iter().any(|name| line.contains(&format!(" {name}(")));
        trace.lines().filter(is).collect()
    };
    assert_eq!(calls(&["execve", "execveat"]).len(), 1, "only strace's own start of it:\n{trace}");
    assert_eq!(calls(&["clone", "clone3", "fork", "vfork"]).len(), 1, "its own worker alone:\n{trace}");
    assert_eq!(calls(&["socket", "socketpair", "connect"]), [""; 0]);
    assert_eq!(calls(&["exit_group"]).iter().filter(|line| line.contains("(0)")).count(), 2, "{trace}");
}

/// Runs n1's prolog for a job that Slurm does not know, as slurmd would: with next to no environment.
fn prolog(cluster: &Cluster, under: &[&str]) -> crate::command::Answer {
    let hook = cluster.dir().join("hooks/triage-prolog");
    let config = cluster.dir().join("etc/triage.toml");
    let mut argv = vec!["env", "-i", "SLURMD_NODENAME=n1", "SLURM_JOB_ID=4711", "SLURM_JOB_UID=0"];
    argv.extend(["SLURM_CLUSTER_NAME=triage", "SLURM_NODELIST=n1", "PATH=/usr/bin:/bin"]);
    argv.extend_from_slice(under);
    argv.extend([hook.to_str().expect("UTF-8"), "--config", config.to_str().expect("UTF-8")]);
    run(&argv, &[])
}
