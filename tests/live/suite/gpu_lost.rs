//! The path the suite is for: a GPU is lost, its node goes out, the job goes on elsewhere.

use super::drill;
use crate::cluster::{Cluster, Options};
use crate::{shared, tend};
use std::collections::BTreeSet;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_lost_gpu_drains_its_node_and_the_job_runs_elsewhere() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8", "--exclude=n4"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    let node = drill::wait_our_drain(&cluster, "n1");
    assert!(node.get("Reason").starts_with("slurm-triage: xid.79 gpu:0000:61:00.0 [case "), "{node}");
    let job = drill::again(&cluster, &id);
    assert_eq!(job.get("NodeList"), "n2", "{job}");
    drill::print_away(&cluster, &id, "classic requeue");
    let excluded = cluster.scontrol(&["show", "hostnames", job.get("ExcNodeList")]).success("hostnames");
    let excluded: BTreeSet<&str> = excluded.lines().collect();
    assert_eq!(excluded, BTreeSet::from(["n1", "n4"]), "what the user excluded stays excluded");
    assert_eq!(drill::wait_settled(&cluster, "n1"), ["clear_begin_time done", "drain done", "requeue done"]);
    every_row_leads_to_the_kernels_line(&cluster);
}

/// From each action back to what the kernel said, by the ids that the rows name each other with.
fn every_row_leads_to_the_kernels_line(cluster: &Cluster) {
    let drained = "SELECT o.said FROM actions a
         JOIN decisions d ON d.id = a.decision_id JOIN cases c ON c.id = d.case_id AND c.id = a.case_id
         JOIN case_events x ON x.case_id = c.id JOIN events e ON e.id = x.event_id
         JOIN observations o ON o.id = e.observation
         WHERE a.kind = 'drain' AND c.state = 'acted' AND e.code = 'xid.79'";
    let requeued = "SELECT o.said FROM actions a
         JOIN decisions d ON d.id = a.decision_id JOIN verdicts v ON v.id = d.verdict_id
         JOIN runs r ON r.id = v.run AND r.id = a.run AND r.restart = 0
         JOIN json_each(v.evidence) named JOIN events e ON e.id = named.value
         JOIN observations o ON o.id = e.observation
         WHERE a.kind = 'requeue' AND v.class = 'hardware' AND v.confidence = 'confirmed' AND e.code = 'xid.79'";
    for sql in [drained, requeued] {
        let said = cluster.ledger_value("n1", sql);
        assert!(said.ends_with(&drill::xid_79(3)), "\"{said}\" from {sql}");
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn both_jobs_of_a_node_whose_gpu_breaks_run_elsewhere() {
    let cluster = shared::lend_suite();
    let script = drill::script(&cluster, "exit 1");
    let jobs = ["nobody", "daemon"].map(|user| cluster.submit(user, &["--gres=gpu:4"], &script));
    for id in &jobs {
        assert_eq!(drill::wait_begun(&cluster, id).get("NodeList"), "n1");
    }
    drill::lose_gpu(&cluster, "n1", 3);
    jobs.iter().for_each(|id| drill::end(&cluster, id));
    for id in &jobs {
        assert_eq!(drill::again(&cluster, id).get("NodeList"), "n2");
    }
    drill::wait_our_drain(&cluster, "n1");
    assert_eq!(cluster.ledger_value("n1", "SELECT count(*) FROM actions WHERE kind = 'drain'"), "1");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn slurmds_health_check_drains_a_node_and_its_job_runs_on() {
    let cluster = tend::up_with_health_checks(Options::default().with("--nodes", "1"), "2");
    let id = cluster.sbatch(&["--gres=gpu:1"], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    // NVML alone tells: an idle GPU may be lost without a word in the kernel's log.
    cluster.break_gpu("n1", 3);
    cluster.wait_node("n1", "DRAIN");
    let reason = cluster.node("n1").get("Reason").to_owned();
    assert!(reason.starts_with("slurm-triage: ") && reason.contains(" gpu:0000:61:00.0 [case "), "{reason}");
    assert!(cluster.node("n1").is("MIXED"));
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"));
    // Else its detached processes would outlive the cluster's folder.
    tend::stop(&cluster);
}
