//! A ledger that cannot be used: jobs run as if the suite were not there, and nothing is done that is not on record.

use super::drill;
use crate::cluster::Cluster;
use crate::command::run;
use crate::shared;
use std::fs;

/// A job on n1 runs, and fails with the exit code of its own, though a GPU is lost under it.
fn assert_jobs_are_unaffected(cluster: &Cluster) {
    let good = cluster.sbatch(&["--gres=gpu:1"], "echo one; srun echo two; exit 0");
    assert!(cluster.wait_done(&good).is("COMPLETED"));
    assert_eq!(cluster.output(&good), "one\ntwo\n");
    let bad = drill::running(cluster, &["--gres=gpu:1"]);
    drill::lose_gpu(cluster, "n1", 3);
    drill::end(cluster, &bad);
    let job = cluster.wait_done(&bad);
    assert_eq!((job.states(), job.get("ExitCode"), job.get("NodeList")), (vec!["FAILED"], "1:0", "n1"));
    assert!(cluster.health_check("n1").ok());
    assert!(!drill::is_out(cluster, "n1"), "without a ledger nothing is done");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_ledger_folder_that_cannot_be_written_changes_nothing_for_jobs() {
    let cluster = shared::lend_suite();
    let folder = cluster.node_dir("n1").join("state");
    // Root may write everywhere: a file in the folder's place stops even root.
    fs::remove_dir_all(&folder).expect("the folder goes");
    fs::write(&folder, "").expect("a file takes its place");
    assert_jobs_are_unaffected(&cluster);
    fs::remove_file(&folder).expect("the file goes");
    fs::create_dir(&folder).expect("the folder is back");
    assert!(cluster.health_check("n1").ok());
    assert!(cluster.wait_node("n1", "DRAIN").get("Reason").starts_with("slurm-triage: "));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_full_disk_under_the_ledger_changes_nothing_for_jobs() {
    let cluster = shared::lend_suite();
    if cluster.in_root().is_some() {
        eprintln!("left out: the daemons of another root see no mount that was made since they began");
        return;
    }
    let folder = cluster.node_dir("n1").join("state");
    let path = folder.to_str().expect("UTF-8");
    if !run(&["mount", "-t", "tmpfs", "-o", "size=32k,mode=755", "ledger", path], &[]).ok() {
        eprintln!("left out: this machine lets nobody mount a tmpfs");
        return;
    }
    let filled = fs::write(folder.join("filler"), vec![0_u8; 64 * 1024]);
    assert!(filled.is_err(), "the disk is full");
    assert_jobs_are_unaffected(&cluster);
    run(&["umount", path], &[]).success("umount");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_corrupt_ledger_is_set_aside_and_said_so() {
    let cluster = shared::lend_suite();
    assert!(cluster.health_check("n1").ok());
    let folder = cluster.node_dir("n1").join("state");
    fs::write(folder.join("ledger.db"), vec![b'x'; 300_000]).expect("the ledger is overwritten");
    let id = cluster.sbatch(&["--gres=gpu:1"], "echo one; exit 0");
    assert!(cluster.wait_done(&id).is("COMPLETED"));
    assert_eq!(cluster.output(&id), "one\n");
    let aside: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is read")
        .flatten()
        .filter(|entry| fs::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"xxxx")))
        .collect();
    assert_eq!(aside.len(), 1, "the damaged file is kept under another name");
    let name = aside[0].file_name().to_string_lossy().into_owned();
    let said = cluster.ledger_value("n1", "SELECT subject FROM audit WHERE level = 'error'");
    assert!(said.contains(&name), "\"{said}\" does not name {name}");
    assert_eq!(cluster.ledger_value("n1", "SELECT ended_with FROM v_jobs"), "exit 0");
}
