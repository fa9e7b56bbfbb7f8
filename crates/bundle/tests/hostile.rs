//! A bundle may come from anywhere, and a job may print anything.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use support::{Folder, at, catalog};
use triage_bundle::{Error, diagnose};

#[test]
fn nothing_outside_the_folder_and_nothing_but_regular_files_is_read() {
    let secret = tempfile::tempdir().unwrap();
    let path = secret.path().join("secret");
    fs::write(&path, "RuntimeError: the secret\n").unwrap();
    let mut folder = Folder::new(1);
    folder.finish();
    symlink(&path, folder.path().join("output/link.out")).unwrap();
    let fifo = std::ffi::CString::new(folder.path().join("output/fifo.out").to_str().unwrap()).unwrap();
    // SAFETY: the path is a NUL-terminated string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    fs::remove_file(folder.path().join("nodes/c1/kernel.log")).unwrap();
    symlink(&path, folder.path().join("nodes/c1/kernel.log")).unwrap();
    let report = diagnose(folder.path(), catalog()).unwrap();
    let told = serde_json::to_string(&report).unwrap();
    assert!(!told.contains("the secret"), "{told}");
}

#[test]
fn a_node_name_that_leaves_the_folder_is_refused() {
    let mut folder = Folder::new(1);
    folder.finish();
    let text = fs::read_to_string(folder.path().join("incident.toml")).unwrap();
    fs::write(folder.path().join("incident.toml"), text.replace("[\"c1\"]", "[\"../c1\"]")).unwrap();
    let error = diagnose(folder.path(), catalog()).unwrap_err();
    assert!(error.to_string().contains("is no node name"), "{error}");
}

#[test]
fn what_is_no_bundle_is_refused_with_the_line() {
    let empty = tempfile::tempdir().unwrap();
    let error = diagnose(empty.path(), catalog()).unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    fs::write(empty.path().join("incident.toml"), "format = 1\n[job]\nid = 4\n").unwrap();
    let error = diagnose(empty.path(), catalog()).unwrap_err();
    assert!(error.to_string().contains("incident.toml:3: "), "{error}");
    fs::write(
        empty.path().join("incident.toml"),
        "format = 2\n[job]\nid = \"4\"\nnodes = [\"a\"]\nstart = \"2026-05-04T12:00:00Z\"\n",
    )
    .unwrap();
    let error = diagnose(empty.path(), catalog()).unwrap_err();
    assert!(error.to_string().contains("format 2"), "{error}");
}

/// Everything a job could print to make a node look bad.
fn forgery() -> String {
    let mut text = String::new();
    for line in [
        "NVRM: Xid (PCI:0000:40:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        "[  812.118822] NVRM: Xid (PCI:0000:40:00): 95, pid=1, name=x, Uncontained: FBHUB. RST: Yes, D-RST: No",
        "srun: error: Node failure on c2",
        "slurmstepd: error: *** STEP 815.0 ON c2 CANCELLED AT 2026-05-04T12:08:20 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "slurmstepd: error: *** STEP 815.0 ON c2 UNCORRECTABLE MEMORY ERROR AT 2026-05-04T12:08:20 ***",
        "scontrol update NodeName=c2 State=DRAIN Reason=\"slurm-triage: xid.79 [case 00000000]\"",
        "c2:7004:7104 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_2:1 Got non-fatal async event: port error(10)",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "Unable to determine the device handle for GPU0000:40:00.0: Unknown Error",
        "RuntimeError: Error 802: system not yet initialized",
        "\u{1b}[2J\u{1b}]0;owned\u{7}RuntimeError: \u{1b}[31mred\u{9b}31m \u{202e}backwards",
    ] {
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[test]
fn a_job_that_forges_evidence_drains_nothing_and_hurts_no_terminal() {
    let mut folder = Folder::new(2);
    let report = folder.output(&forgery()).exits(2, 600.0, 1).all_signalled(603.0, 15).diagnose();
    assert!(report.drain.is_empty(), "{report:?}");
    assert_ne!(report.class, "hardware");
    let told = format!("{report:?}{}", report.story.join(""));
    let shown = |text: &str| text.chars().all(|c| !c.is_control() && c != '\u{202e}');
    assert!(report.story.iter().all(|line| shown(line)), "{told}");
    assert!(report.evidence.iter().all(|e| shown(&e.text)));
    assert!(report.discounted.iter().all(|d| shown(&d.evidence_text())));
}

trait EvidenceText {
    fn evidence_text(&self) -> String;
}

impl EvidenceText for triage_bundle::Discounted {
    fn evidence_text(&self) -> String {
        format!("{}{}", self.text, self.why)
    }
}

#[test]
fn a_flood_of_errors_gives_a_bounded_report() {
    let line = "c2:7004:7104 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.9.0.1<4> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n";
    let mut folder = Folder::new(2);
    let report = folder.output(&line.repeat(50_000)).all_signalled(603.0, 15).diagnose();
    assert!(report.drain.is_empty());
    assert!(serde_json::to_string(&report).unwrap().len() < 64 * 1024);
}

#[test]
fn nul_bytes_broken_text_and_endless_lines_hide_nothing_behind_them() {
    let mut text = vec![0_u8; 5000];
    text.extend_from_slice(b"\xff\xfe\xc3\x28\n");
    text.extend(std::iter::repeat_n(b'x', 3 << 20));
    text.extend_from_slice(b"\n[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a\", line 1, in f\n[rank1]: TypeError: no\n[rank2]: torch.dist");
    let mut folder = Folder::new(2);
    folder.file("output/job.out", &text);
    let report = folder.exits(1, 600.0, 1).all_signalled(603.0, 15).diagnose();
    assert_eq!(report.class, "application");
    assert!(report.evidence.iter().any(|e| e.text.contains("TypeError: no")), "{report:?}");
}

#[test]
fn times_from_the_far_future_and_past_do_no_harm() {
    let mut folder = Folder::new(2);
    folder.kernel(
        1,
        "9999-12-31T23:59:59,000000+00:00 NVRM: Xid (PCI:0000:42:00): 79, GPU has fallen off the bus.\n",
    );
    folder.output("[rank1]:[E1231 23:59:59.999999999 x.cpp:1] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=X, Timeout(ms)=9223372036854775807) ran for 9223372036854775807 milliseconds\n");
    let report = folder.all_signalled(603.0, 15).diagnose();
    assert!(report.culprits.is_empty(), "{report:?}");
}

#[test]
fn numbers_at_their_ends_do_no_harm() {
    const ENDS: [&str; 5] = [
        "@-9223372036854775808us",
        "@9223372036854775807us",
        "-009999-01-03T00:00:00Z",
        "9999-12-30T00:00:00Z",
        "2026-05-04T12:00:00Z",
    ];
    let log: String = ["18446744073709551615", "0", "18446744073709551615", "5", "9223372036854775808"]
        .map(|sequence| format!("6,{sequence},9223372036854775807,-;x\n"))
        .concat();
    let log = format!(
        "May  1 08:00:00 c1 kernel: Linux version 6.8.0\n{log}[1.0] Out of memory: Killed process 1 (a)\n"
    );
    let table = "[1.0] [    1]  7 1 1 18446744073709551615 1 1 0 a\n".repeat(2);
    let mut folder = Folder::new(2);
    folder.kernel_as(0, &format!("{table}{log}")).output("srun: error: c2: tasks 0-4294967295: Killed\n");
    folder.file("history.jsonl", b"{\"node\":\"c1\",\"start\":\"@9223372036854775807us\"}\n");
    folder.exits(1, 600.0, i32::MIN).all_signalled(603.0, i32::MIN).finish();
    let incident = fs::read_to_string(folder.path().join("incident.toml")).unwrap();
    for (start, end, boot) in ENDS
        .iter()
        .flat_map(|a| ENDS.iter().map(move |b| (a, b)))
        .zip(ENDS.iter().cycle())
        .map(|((a, b), c)| (a, b, c))
    {
        let text = incident
            .replace(&at(0.0), start)
            .replace(&at(1200.0), end)
            .replace("2026-05-01T08:00:00Z", boot)
            .replace("ranks_per_node = 4", "ranks_per_node = 4294967295");
        fs::write(folder.path().join("incident.toml"), text).unwrap();
        diagnose(folder.path(), catalog()).unwrap();
    }
}

#[test]
fn a_file_of_nothing_but_bad_records_is_counted() {
    let mut folder = Folder::new(1);
    folder.finish();
    fs::write(folder.path().join("nodes/c1/tasks.jsonl"), "x\n".repeat(200_000)).unwrap();
    let report = diagnose(folder.path(), catalog()).unwrap();
    let told = report.blind.iter().find(|line| line.contains("tasks.jsonl")).cloned().unwrap_or_default();
    assert!(told.contains("200000 line(s) are no record, the first is 1"), "{told:?}");
}

fn write_all(folder: &Path, bytes: &[Vec<u8>]) {
    let names = [
        "nodes/c1/kernel.log",
        "nodes/c1/tasks.jsonl",
        "nodes/c1/gpus.json",
        "nodes/c1/nics.json",
        "history.jsonl",
        "output/a.out",
    ];
    for (name, bytes) in names.iter().zip(bytes) {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_content_of_any_file_makes_it_panic(bytes in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..600), 6)) {
        let mut folder = Folder::new(1);
        folder.finish();
        write_all(folder.path(), &bytes);
        let report = diagnose(folder.path(), catalog()).unwrap();
        prop_assert!(report.drain.is_empty());
    }

    #[test]
    fn no_incident_file_makes_it_panic(text in "(format = 1\n|\\[job\\]\n|id = \"4\"\n|nodes = \\[\"a\"\\]\n|start = \"2026-05-04T12:00:00Z\"\n|end = 4\n|\\[nodes.a\\]\n|boot = \"x\"\n|[ -~]{0,20}\n){0,12}") {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("incident.toml"), text).unwrap();
        let _ = diagnose(folder.path(), catalog());
    }
}

#[test]
fn moments_of_the_helpers_are_what_they_say() {
    assert_eq!(at(500.25), "2026-05-04T12:08:20.250Z");
}
