//! Jobs that are more than one script on some nodes: het jobs, jobs that others wait for, jobs that begin with an empty
//! output file each time.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use std::fs;

/// A het job of two components, n1 and n2, that excludes n4 in one and n3 in the other; and its leader's id.
fn het(cluster: &Cluster) -> String {
    let file = cluster.dir().join("jobs/het.sh");
    fs::write(&file, format!("#!/bin/sh\n{}\n", drill::script(cluster, "exit 1"))).expect("a script");
    let file = file.to_str().expect("UTF-8");
    let argv = [
        "sbatch",
        "--parsable",
        "--nodes=1",
        "--gres=gpu:8",
        "--exclude=n4",
        ":",
        "--nodes=1",
        "--gres=gpu:8",
        "--exclude=n3",
        file,
    ];
    let id = cluster.run(&argv).success("sbatch of a het job").trim().to_owned();
    drill::wait_begun(cluster, &id);
    let nodes = |offset: u32| {
        let job = cluster.job(&format!("{id}+{offset}")).expect("the component is known");
        job.get("NodeList").to_owned()
    };
    assert_eq!((nodes(0), nodes(1)), ("n1".to_owned(), "n2".to_owned()));
    id
}

/// What each component excludes, sorted.
fn excluded(cluster: &Cluster, id: &str) -> [Vec<String>; 2] {
    [0, 1].map(|offset| {
        let job = cluster.job(&format!("{id}+{offset}")).expect("the component is known");
        let names = cluster.scontrol(&["show", "hostnames", job.get("ExcNodeList")]).success("hostnames");
        let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
        names.sort();
        names
    })
}

/// Waits until both components run for the second time, and says where.
fn both_again(cluster: &Cluster, id: &str) -> [String; 2] {
    cluster.wait_for("both components run again", || {
        let runs = |offset: u32| {
            let job = cluster.job(&format!("{id}+{offset}"))?;
            (job.is("RUNNING") && job.get("Restarts") == "1").then(|| job.get("NodeList").to_owned())
        };
        Some([runs(0)?, runs(1)?])
    })
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_het_job_whose_second_component_lost_a_gpu_comes_back_whole_and_keeps_what_each_part_excludes() {
    let cluster = shared::lend_suite();
    let id = het(&cluster);
    drill::lose_gpu(&cluster, "n2", 3);
    drill::end(&cluster, &id);
    drill::wait_our_drain(&cluster, "n2");
    let settled = drill::wait_settled(&cluster, "n2");
    assert!(settled.contains(&"requeue done".to_owned()), "{settled:?}");
    assert_eq!(both_again(&cluster, &id), ["n1", "n4"], "the whole job, once");
    assert_eq!(excluded(&cluster, &id), [["n2", "n4"], ["n2", "n3"]], "and what it excluded before");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_het_job_whose_batch_host_lost_a_gpu_runs_again_without_it() {
    let cluster = shared::lend_suite();
    let id = het(&cluster);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    drill::wait_our_drain(&cluster, "n1");
    assert_eq!(both_again(&cluster, &id), ["n2", "n4"]);
    assert_eq!(excluded(&cluster, &id), [["n1", "n4"], ["n1", "n3"]]);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn jobs_that_wait_for_a_requeued_job_go_on_waiting_for_it() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    let kinds = ["afterok", "afterany", "afternotok"];
    let waiting = kinds.map(|kind| {
        let waits = format!("--dependency={kind}:{id}");
        cluster.sbatch(&[&waits, "--kill-on-invalid-dep=yes"], "sleep 300")
    });
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    drill::again(&cluster, &id);
    for (kind, waits) in kinds.iter().zip(&waiting) {
        let job = cluster.job(waits).expect("it is still there");
        assert_eq!((job.states(), job.get("Reason")), (vec!["PENDING"], "Dependency"), "{kind}: {job}");
        assert_eq!(job.get("Dependency"), format!("{kind}:{id}(unfulfilled)"), "{job}");
    }
    cluster.run(&["scancel", &id]).success("scancel");
    cluster.wait_job(&waiting[1], "RUNNING");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_truncates_its_output_is_judged_by_it_before_it_is_gone() {
    let cluster = shared::lend_suite();
    let script = drill::script_after(&cluster, "echo step 40", "echo step 41; exit 1");
    // Truncate is what its own line asks for, and Slurm's default as well.
    let id = cluster.submit("nobody", &["--gres=gpu:8", "--open-mode=truncate"], &script);
    drill::wait_begun(&cluster, &id);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    drill::again(&cluster, &id);
    let told = cluster.ledger_value("n1", "SELECT told FROM verdicts");
    assert!(told.contains("\"step 41\""), "{told}");
    cluster.wait_for("the restart began with an empty file", || {
        (!cluster.output(&id).contains("step 41")).then_some(())
    });
}
