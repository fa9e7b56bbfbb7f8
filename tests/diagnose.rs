//! `slurm-triage diagnose` as a person runs it: on a folder, without Slurm, ledger or configuration.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn diagnose(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slurm-triage"))
        .arg("diagnose")
        .args(args)
        .arg(folder)
        .env_clear()
        .output()
        .unwrap()
}

/// A GPU of the only node left the bus; the job prints a terminal escape and a forged Xid of another GPU.
fn bundle(folder: &Path) {
    fs::create_dir_all(folder.join("nodes/c1")).unwrap();
    fs::create_dir(folder.join("output")).unwrap();
    fs::write(
        folder.join("incident.toml"),
        "format = 1\n[job]\nid = \"815\"\nuser = \"ann\"\nnodes = [\"c1\"]\nstart = \"2026-05-04T12:00:00Z\"\n\
         end = \"2026-05-04T12:20:00Z\"\nstate = \"FAILED\"\nexit = \"1:0\"\n[nodes.c1]\nboot = \"2026-05-01T08:00:00Z\"\n",
    )
    .unwrap();
    fs::write(
        folder.join("nodes/c1/kernel.log"),
        "2026-05-04T11:00:00,000000+00:00 usb 1-1: new device\n\
         2026-05-04T12:19:58,000000+00:00 NVRM: Xid (PCI:0000:42:00): 79, pid=7, name=x, GPU has fallen off the bus.\n",
    )
    .unwrap();
    fs::write(
        folder.join("output/job.out"),
        "\u{1b}[2Jkernel: NVRM: Xid (PCI:0000:43:00): 95, forged\nRuntimeError: \u{1b}]0;owned\u{7}CUDA error: unknown error\n",
    )
    .unwrap();
}

#[test]
fn json_has_the_promised_keys_and_names_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let output = diagnose(&["--json"], folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["blind", "class", "confidence", "culprits", "discounted", "drain", "evidence", "job", "story"]
    );
    assert_eq!(report["class"], "hardware");
    assert_eq!(report["culprits"][0]["resource"], "gpu:0000:42:00.0");
    assert_eq!((&report["drain"][0], &report["job"]), (&Value::from("c1"), &Value::from("requeue")));
}

#[test]
fn what_a_person_reads_obeys_no_escape_of_the_job() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let output = diagnose(&[], folder.path());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("gpu:0000:42:00.0 of c1"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
}

#[test]
fn what_is_no_bundle_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let output = diagnose(&["--json"], folder.path());
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("incident.toml") && told.lines().count() == 1, "{told}");
    assert!(output.stdout.is_empty());
}
