//! Why a failed job ended, by what its nodes say and by what it printed; and that the latter alone moves nothing.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;

/// Runs a job on one node to its failure, with this text printed before it ends.
fn failed(cluster: &Cluster, args: &[&str], text: &str) -> String {
    let file = cluster.dir().join("jobs/printed.txt");
    fs::write(&file, text).expect("the text can be written");
    let id = cluster.sbatch(args, &format!("cat {}; exit 1", file.display()));
    cluster.wait_done(&id);
    wait_verdict(cluster, "n1");
    id
}

fn wait_verdict(cluster: &Cluster, node: &str) -> serde_json::Map<String, serde_json::Value> {
    let sql = "SELECT class, confidence, culprits, rule, code, trusted, told, discounted, blind, story FROM verdicts";
    let row = cluster.wait_for("the verdict", || cluster.ledger(node, sql).pop());
    row.as_object().expect("a row").clone()
}

fn text<'a>(row: &'a serde_json::Map<String, serde_json::Value>, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_default()
}

fn assert_nothing_done(cluster: &Cluster, id: &str) {
    assert!(["n1", "n2"].iter().all(|node| !drill::is_out(cluster, node)));
    assert_eq!(cluster.ledger("n1", "SELECT kind FROM actions"), [""; 0]);
    // The checks of the node itself may find this machine wanting.
    let cases = "SELECT code, resource, why FROM cases WHERE code NOT LIKE 'check.%'";
    assert_eq!(cluster.ledger("n1", cases), [""; 0]);
    let job = cluster.job(id).expect("the job is known");
    assert_eq!((job.get("Restarts"), job.get("ExcNodeList")), ("0", "(null)"), "{job}");
}

/// What `slurm-triage why` tells of the job on the node.
fn why(cluster: &Cluster, node: &str, id: &str) -> String {
    cluster.triage(node, &["why", id]).success("why")
}

const TRACEBACK: &str = "\u{1b}[31mTraceback (most recent call last):\u{1b}[0m\n  File \"/home/u/train.py\", line 10, in <module>\n    \
                         run(batch[\"lang\"])\nKeyError: 'lang'\n";

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_traceback_is_the_programs_doing_and_nothing_is_done() {
    let cluster = shared::lend_suite();
    let id = failed(&cluster, &["--gres=gpu:1"], TRACEBACK);
    let verdict = wait_verdict(&cluster, "n1");
    assert_eq!((text(&verdict, "class"), text(&verdict, "rule")), ("application", "first_error"));
    assert!(text(&verdict, "told").contains("KeyError: 'lang'"), "{verdict:?}");
    assert_nothing_done(&cluster, &id);
    let why = why(&cluster, "n1", &id);
    assert!(why.contains("KeyError: 'lang'") && why.contains("application cause"), "{why}");
    assert!(!why.contains('\u{1b}'), "no escape of the job's reaches the terminal");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn what_a_job_forges_moves_no_node_and_is_no_hardware() {
    let cluster = shared::lend_suite();
    let forged = format!(
        "{0}\nn1 kernel: {0}\nslurmstepd: error: Detected 1 oom_kill event in StepId=1.0.\nsrun: error: Node failure on n2\n\
         slurm-triage: xid.79 gpu:0000:61:00.0 [case deadbeef]\nReason=slurm-triage: xid.79 [root@2026-01-01T00:00:00]\n\
         [rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n\
         n2:77:99 [3] transport/net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error\n",
        drill::xid_79(3)
    );
    let id = failed(&cluster, &["--gres=gpu:8"], &forged);
    let verdict = wait_verdict(&cluster, "n1");
    assert_ne!(text(&verdict, "class"), "hardware", "{verdict:?}");
    assert_eq!(verdict["trusted"].to_string(), "0");
    assert_nothing_done(&cluster, &id);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn output_into_a_fifo_delays_no_epilog_and_is_told() {
    let cluster = shared::lend_suite();
    let fifo = cluster.dir().join("jobs/pipe");
    let _ = fs::remove_file(&fifo);
    // slurmstepd waits for a reader before the job begins, so the job puts the pipe in the place of its output itself.
    let out = cluster.dir().join("jobs/swapped.out");
    let script = format!("rm -f {0}; mkfifo {0}; exit 1", out.display());
    let id = cluster.sbatch(&["--gres=gpu:1", "--output", out.to_str().expect("UTF-8")], &script);
    // A blocked reader would wait for ever.
    cluster.wait_done(&id);
    let verdict = wait_verdict(&cluster, "n1");
    assert_eq!(text(&verdict, "class"), "unknown", "{verdict:?}");
    assert!(text(&verdict, "blind").contains("swapped.out"), "{verdict:?}");
    assert_eq!(cluster.ledger_value("n1", "SELECT count(*) FROM audit WHERE kind LIKE '%overdue%'"), "0");
    assert_nothing_done(&cluster, &id);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn time_outs_in_the_output_and_a_lost_gpu_elsewhere_blame_the_other_node() {
    let cluster = shared::lend_suite();
    let file = cluster.dir().join("jobs/printed.txt");
    let line = "[rank0]:[E101 10:00:00.000000000 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: \
                WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600000 milliseconds \
                before timing out.\n";
    fs::write(&file, line).expect("the text can be written");
    let script = drill::script(&cluster, &format!("cat {}; exit 1", file.display()));
    let id = cluster.sbatch(&["--nodes=2", "--gres=gpu:8"], &script);
    drill::wait_begun(&cluster, &id);
    drill::hear_first(&cluster, "n1", &["n2"]);
    drill::lose_gpu(&cluster, "n2", 3);
    drill::end(&cluster, &id);
    let again = drill::again(&cluster, &id);
    assert_eq!((again.get("NodeList"), again.get("ExcNodeList")), ("n[1,3]", "n2"), "{again}");
    let verdict = wait_verdict(&cluster, "n1");
    assert_eq!((text(&verdict, "class"), text(&verdict, "code")), ("hardware", "xid.79"), "{verdict:?}");
    assert!(text(&verdict, "culprits").contains("\"n2\""), "{verdict:?}");
    assert!(text(&verdict, "story").contains("timed out"), "the symptom is told as one: {verdict:?}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_went_well_gets_no_verdict_whatever_it_printed() {
    let cluster = shared::lend_suite();
    let file = cluster.dir().join("jobs/printed.txt");
    fs::write(&file, TRACEBACK).expect("the text can be written");
    let id = cluster.sbatch(&["--gres=gpu:1"], &format!("cat {}", file.display()));
    cluster.wait_done(&id);
    cluster.wait_for("the span is closed", || {
        let closed = "SELECT job FROM v_jobs WHERE ended IS NOT NULL";
        (!cluster.ledger("n1", closed).is_empty()).then_some(())
    });
    assert_eq!(cluster.ledger_value("n1", "SELECT count(*) FROM verdicts"), "0");
}
