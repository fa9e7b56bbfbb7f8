//! What a job printed, on a real cluster: found where Slurm put it, read with its owner's rights, judged and bundled.

use crate::cluster::Cluster;
use crate::command::Answer;
use crate::shared;
use serde_json::Value;
use std::fs;

/// Ends as a program does that never found its key.
const DIES: &str = "echo '[rank0]: Traceback (most recent call last):'
     echo '[rank0]:   File \"train.py\", line 7, in <module>'
     echo \"[rank0]: KeyError: 'learning_rate'\"
     exit 1";

/// `slurm-triage` on the node that ran the job.
fn triage(cluster: &Cluster, args: &[&str]) -> Answer {
    cluster.triage("n1", args)
}

fn diagnose(cluster: &Cluster, job: &str) -> Value {
    let answer = triage(cluster, &["--json", "diagnose", job]).success("diagnose");
    serde_json::from_str(&answer).expect("one object")
}

fn blind(report: &Value) -> String {
    report["blind"].to_string()
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn output_is_found_by_every_name_slurm_may_give_it() {
    let cluster = shared::lend_suite();
    for name in ["o-%j", "o-%6j-%x", "%u/o.%j", "o-%j-%t-%n", "o-%j-%N", "o-%J-%s"] {
        let output = format!("--output={name}");
        fs::create_dir_all(cluster.dir().join("jobs/nobody")).expect("a folder");
        let made = cluster.run(&["chown", "nobody", "nobody"]);
        assert!(made.ok(), "{}", made.err);
        let id = cluster.submit("nobody", &["--nodelist=n1", "--job-name=a b", &output], DIES);
        cluster.wait_done(&id);
        let report = diagnose(&cluster, &id);
        assert_eq!(report["class"], "application", "{name}: {report}");
    }
    let id = cluster.submit(
        "nobody",
        &["--nodelist=n1", "--array=3", "--output=%A-%2a.out", "--error=%A_%a.err"],
        DIES,
    );
    cluster.wait_done(&format!("{id}_3"));
    assert_eq!(diagnose(&cluster, &format!("{id}_3"))["class"], "application");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn no_path_of_a_job_leads_to_what_only_root_may_read() {
    let cluster = shared::lend_suite();
    let secret = cluster.dir().join("jobs/secret");
    fs::write(&secret, "KeyError: 'root'\n").expect("a file");
    assert!(cluster.run(&["chmod", "0600", "secret"]).ok());
    let path = secret.display();
    let id = cluster.submit(
        "nobody",
        &["--nodelist=n1", "--output=l-%j"],
        &format!("rm l-$SLURM_JOB_ID; ln -s {path} l-$SLURM_JOB_ID; exit 1"),
    );
    cluster.wait_done(&id);
    let report = diagnose(&cluster, &id);
    assert!(blind(&report).contains("its owner may not read it"), "{report}");
    let id = cluster.submit(
        "nobody",
        &["--nodelist=n1", "--output=f-%j"],
        "rm f-$SLURM_JOB_ID; mkfifo f-$SLURM_JOB_ID; exit 1",
    );
    cluster.wait_done(&id);
    let report = diagnose(&cluster, &id);
    assert!(blind(&report).contains("it is a FIFO"), "{report}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_bundle_of_a_live_job_says_what_the_job_says() {
    let cluster = shared::lend_suite();
    let id = cluster.submit("nobody", &["--nodes=2", "--nodelist=n[1-2]"], DIES);
    cluster.wait_done(&id);
    let live = diagnose(&cluster, &id);
    for (folder, redact) in [("plain", None), ("redacted", Some("--redact"))] {
        let args: Vec<&str> = ["bundle", &id, "-o", folder].into_iter().chain(redact).collect();
        triage(&cluster, &args).success("bundle");
        let again = triage(&cluster, &["--json", "diagnose", folder]).success("diagnose");
        let again: Value = serde_json::from_str(&again).expect("one object");
        for key in ["class", "confidence", "culprits", "drain", "job"] {
            assert_eq!(again[key], live[key], "{folder}: {key}");
        }
        if redact.is_none() {
            assert_eq!(again, live);
        }
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_still_runs_is_told_as_running() {
    let cluster = shared::lend_suite();
    let id = cluster.submit("nobody", &["--nodelist=n1"], "echo step 1 loss 2.0; sleep 300");
    cluster.wait_job(&id, "RUNNING");
    let report = cluster.wait_for("the job prints", || {
        let report = diagnose(&cluster, &id);
        (!blind(&report).contains("output")).then_some(report)
    });
    assert_eq!(report["class"], "none", "{report}");
    cluster.run(&["scancel", &id]);
}
