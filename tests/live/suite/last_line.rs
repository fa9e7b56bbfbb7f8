//! The line at the end of a job's own output, where the policy wants one: written as its owner, and never where that could
//! hurt.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;

/// The suite with `last_line = true`, and a job of nobody that lost its GPU; `before` runs in it right before its end.
fn requeued(cluster: &Cluster, args: &[&str], before: &str) -> String {
    cluster.policy(|text| text.replacen("last_line = false", "last_line = true", 1));
    let script = drill::script(cluster, &format!("{before}; exit 1"));
    let all: Vec<&str> = ["--gres=gpu:8"].iter().chain(args).copied().collect();
    let id = cluster.submit("nobody", &all, &script);
    drill::wait_begun(cluster, &id);
    drill::lose_gpu(cluster, "n1", 3);
    drill::end(cluster, &id);
    drill::again(cluster, &id);
    id
}

fn line(id: &str) -> String {
    format!("slurm-triage: xid.79 on n1: this job was requeued (restart 1); see slurm-triage why {id}\n")
}

/// What became of the line.
fn answer(cluster: &Cluster) -> String {
    cluster.wait_for("the line is settled", || {
        let sql = "SELECT answer FROM actions WHERE kind = 'last_line' AND settled_at IS NOT NULL";
        let answer = cluster.ledger_value("n1", sql);
        (!answer.is_empty()).then_some(answer)
    })
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_owner_reads_in_the_jobs_output_that_it_was_requeued_and_reads_it_once() {
    let cluster = shared::lend_suite();
    let id = requeued(&cluster, &["--open-mode=append"], "printf 'loss 2.1 [50%%'");
    assert!(answer(&cluster).starts_with("appended to "), "{}", answer(&cluster));
    let output = cluster.output(&id);
    assert!(output.contains(&format!("loss 2.1 [50%\n{}", line(&id))), "{output}");
    assert_eq!(output.matches("slurm-triage: ").count(), 1, "{output}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_restart_that_truncates_its_output_does_not_take_the_line_with_it() {
    let cluster = shared::lend_suite();
    let id = requeued(&cluster, &["--open-mode=truncate"], "echo step 1");
    let answer = answer(&cluster);
    assert!(answer.ends_with("after the restart"), "{answer}");
    let output = cluster.output(&id);
    assert!(output.contains(&line(&id)) && !output.contains("step 1\n"), "{output}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn as_shipped_nothing_is_written_into_a_jobs_output() {
    let cluster = shared::lend_suite();
    let script = drill::script(&cluster, "echo bye; exit 1");
    let id = cluster.submit("nobody", &["--gres=gpu:8", "--open-mode=append"], &script);
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    drill::again(&cluster, &id);
    drill::wait_settled(&cluster, "n1");
    assert!(!cluster.output(&id).contains("slurm-triage"), "{}", cluster.output(&id));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_link_in_the_place_of_the_output_is_not_followed() {
    let cluster = shared::lend_suite();
    let other = cluster.dir().join("jobs/other");
    let before = format!(
        "echo mine >{0}; rm slurm-$SLURM_JOB_ID.out; ln -s {0} slurm-$SLURM_JOB_ID.out",
        other.display()
    );
    requeued(&cluster, &["--open-mode=append"], &before);
    assert!(answer(&cluster).contains("it is a link"), "{}", answer(&cluster));
    assert_eq!(fs::read_to_string(other).expect("it is there"), "mine\n");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_fifo_in_the_place_of_the_output_holds_nobody() {
    let cluster = shared::lend_suite();
    let out = cluster.dir().join("jobs/pipe.out");
    let output = format!("--output={}", out.display());
    cluster.policy(|text| text.replacen("last_line = false", "last_line = true", 1));
    let script = drill::script(&cluster, &format!("rm {0}; mkfifo {0}; exit 1", out.display()));
    let id = cluster.submit("nobody", &["--gres=gpu:8", &output], &script);
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert!(answer(&cluster).contains("it is no regular file"), "{}", answer(&cluster));
    // slurmstepd itself would wait for a reader when the job restarts, and could not be ended: here is one. To open a pipe for
    // both waits for nobody.
    let reader = fs::OpenOptions::new().read(true).write(true).open(&out).expect("the pipe opens");
    cluster.run(&["scancel", &id]);
    cluster.wait_done(&id);
    fs::remove_file(&out).expect("the pipe goes");
    drop(reader);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn another_users_file_and_a_jobs_of_root_are_not_written_to() {
    let cluster = shared::lend_suite();
    cluster.policy(|text| text.replacen("last_line = false", "last_line = true", 1));
    let id = drill::running(&cluster, &["--gres=gpu:8", "--open-mode=append"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    drill::again(&cluster, &id);
    // Root's file is read, and written to, with the rights of nobody.
    assert!(answer(&cluster).contains("it belongs to another user"), "{}", answer(&cluster));
    assert!(!cluster.output(&id).contains("slurm-triage"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_full_disk_is_told_and_holds_nobody() {
    let cluster = shared::lend_suite();
    if cluster.in_root().is_some() {
        eprintln!("left out: the daemons of another root see no mount that was made since they began");
        return;
    }
    let disk = cluster.dir().join("jobs/disk");
    fs::create_dir(&disk).expect("a folder");
    let disk_text = disk.to_str().expect("UTF-8");
    cluster
        .run(&["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "full", disk_text])
        .success("a small disk");
    let output = format!("--output={disk_text}/o");
    let before = "head -c 200000 /dev/zero >>disk/fill 2>/dev/null; head -c 5000 /dev/zero | tr '\\0' x";
    requeued(&cluster, &[&output, "--open-mode=append"], before);
    let answer = answer(&cluster);
    cluster.run(&["umount", "-l", disk_text]);
    assert!(answer.contains("disk is full") || answer.contains("could be appended"), "{answer}");
}
