//! A job of several nodes: the node with the evidence tells the batch host, which alone decides about the job.

use super::drill;
use crate::cluster::Cluster;
use crate::record::Record;
use crate::shared;

/// A job on n1 and n2 whose tasks run on both; n1 is its batch host.
fn pair(cluster: &Cluster) -> String {
    // slurmd runs the prolog of a node only at the job's first step there.
    let (first, last) = ("srun --ntasks-per-node=1 true", "srun --ntasks-per-node=1 false");
    let id = cluster.sbatch(&["--nodes=2", "--gres=gpu:8"], &drill::script_after(cluster, first, last));
    let job = drill::wait_begun(cluster, &id);
    assert_eq!((job.get("NodeList"), job.get("BatchHost")), ("n[1-2]", "n1"));
    id
}

fn assert_moved_off_n2(job: &Record) {
    assert_eq!((job.get("NodeList"), job.get("ExcNodeList")), ("n[1,3]", "n2"), "{job}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_bad_second_node_is_drained_and_excluded_while_the_batch_host_stays() {
    let cluster = shared::lend_suite();
    let id = pair(&cluster);
    drill::hear_first(&cluster, "n1", &["n2"]);
    drill::lose_gpu(&cluster, "n2", 3);
    drill::end(&cluster, &id);
    assert_moved_off_n2(&drill::again(&cluster, &id));
    drill::wait_our_drain(&cluster, "n2");
    assert!(!drill::is_out(&cluster, "n1"));
    let extra: serde_json::Value =
        serde_json::from_str(cluster.node("n2").get("Extra")).expect("n2 tells what it knows as JSON");
    assert_eq!(extra["slurm_triage"]["code"], "xid.79");
    assert_eq!(extra["slurm_triage"]["job"].to_string(), id);
    assert_eq!(cluster.node("n1").get("Extra"), "", "a node without evidence tells nothing");
    let culprits = cluster.ledger_value("n1", "SELECT culprits FROM verdicts");
    assert!(culprits.contains("\"n2\"") && !culprits.contains("\"n1\""), "{culprits}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_that_ran_no_step_is_heard_all_the_same() {
    // slurmd runs no prolog on a node whose job never starts a step there, but it does run the epilog.
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--nodes=2", "--gres=gpu:8"]);
    drill::hear_first(&cluster, "n1", &["n2"]);
    drill::lose_gpu(&cluster, "n2", 3);
    drill::end(&cluster, &id);
    assert_moved_off_n2(&drill::again(&cluster, &id));
    drill::wait_our_drain(&cluster, "n2");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn what_others_keep_in_a_node_record_as_json_stays_there() {
    let cluster = shared::lend_suite();
    drill::hear_first(&cluster, "n1", &["n2"]);
    let (id, extra) = lose_n2_with_extra(&cluster, "{\"rack\":7}");
    assert!(extra.contains("\"rack\":7") && extra.contains("\"slurm_triage\":"), "{extra}");
    assert_moved_off_n2(&drill::again(&cluster, &id));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn what_others_keep_in_a_node_record_in_their_own_words_stays_there() {
    // No place for our word: the node is out, and the batch host, which hears nothing, leaves the job alone.
    let cluster = shared::lend_suite();
    let (id, extra) = lose_n2_with_extra(&cluster, "rack 7");
    assert_eq!(extra, "rack 7");
    assert!(cluster.wait_done(&id).is("FAILED"));
}

/// A job on n1 and n2 dies of n2, whose record has this `Extra`; returns the job and what became of that field.
fn lose_n2_with_extra(cluster: &Cluster, extra: &str) -> (String, String) {
    cluster.scontrol(&["update", "nodename=n2", &format!("extra={extra}")]).success("update extra");
    let id = drill::running(cluster, &["--nodes=2", "--gres=gpu:8"]);
    drill::lose_gpu(cluster, "n2", 3);
    drill::end(cluster, &id);
    drill::wait_our_drain(cluster, "n2");
    cluster
        .wait_for("n2's epilog has ended", || cluster.job(&id).filter(|job| !job.is("COMPLETING")).map(drop));
    (id, cluster.node("n2").get("Extra").to_owned())
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_second_node_whose_nvml_hangs_is_heard_in_time() {
    // A GPU that is lost often takes NVML with it, and the batch host waits only a moment for its peers.
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--nodes=2", "--gres=gpu:8"]);
    drill::hear_first(&cluster, "n1", &["n2"]);
    cluster.kernel_line("n2", &drill::xid_79(3));
    cluster.hang_nvml("n2");
    drill::end(&cluster, &id);
    assert_moved_off_n2(&drill::again(&cluster, &id));
    drill::wait_our_drain(&cluster, "n2");
    assert_waited_for_no_nvml(&cluster);
}

/// n2's epilog has not asked NVML, or it would have told of it only after a hang.
fn assert_waited_for_no_nvml(cluster: &Cluster) {
    let hung = "SELECT count(*) FROM events WHERE code = 'triage.source_hung'";
    assert_eq!(cluster.ledger_value("n2", hung), "0");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_second_node_that_was_drained_under_its_job_is_heard_when_the_job_ends() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--nodes=2", "--gres=gpu:8"]);
    cluster.kernel_line("n2", &drill::xid_79(3));
    assert!(cluster.health_check("n2").ok());
    drill::wait_our_drain(&cluster, "n2");
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"));
    drill::hear_first(&cluster, "n1", &["n2"]);
    cluster.hang_nvml("n2");
    drill::end(&cluster, &id);
    assert_moved_off_n2(&drill::again(&cluster, &id));
    assert_waited_for_no_nvml(&cluster);
}
