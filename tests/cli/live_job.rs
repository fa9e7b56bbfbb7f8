//! `diagnose JOB` and `bundle JOB`: a job of this node, from its ledger, Slurm's record and the job's own output.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use triage_core::*;

use crate::support::{self, *};

/// What the job printed: an address, a path, and the name of a user who is called as in the ledger.
const PRINTED: &str = "\
    n2:901:950 [0] NCCL INFO Bootstrap : Using eth0:10.20.30.42<0>\n\
    n1:801:850 [0] NCCL INFO Bootstrap : Using eth0:10.20.30.41<0>\n\
    loading /home/ada/secret-project/data.bin for ada\n\
    step 100 loss 2.1 10.20.30.41\n\
    [rank3]: Traceback (most recent call last):\n\
    [rank3]:   File \"/home/ada/secret-project/train.py\", line 7, in <module>\n\
    [rank3]: torch.AcceleratorError: CUDA error: unspecified launch failure\n\
    n2:901:960 [0] NCCL WARN socketProgress: Connection closed by remote peer n1<41234>\n";

/// A node whose ledger tells of the job, with its output beside it and a controller that still knows it.
fn node() -> Node {
    with_output(Node::with(a_gpu_dies_and_it_is_seen_to), PRINTED)
}

/// The same, of a job that only its own word can explain.
fn node_without_fault() -> Node {
    let node = Node::with(|ledger| {
        let end = T0.plus_secs(1_800);
        let run = run_of(JOB, 0, T0);
        let tasks =
            [(T0, task(&run, 0, TaskWhat::Start)), (end, task(&run, 0, TaskWhat::End(ExitStatus::Exit(1))))];
        let span = JobSpan { end: Some(end), exit: Some(ExitStatus::Exit(1)), ..span(run) };
        Rows { spans: vec![span], tasks: tasks.to_vec(), ..Rows::default() }.write(ledger, end);
        healthy_sweep(ledger);
    });
    let printed = "[rank0]: Traceback (most recent call last):\n\
                   [rank0]:   File \"/home/ada/secret-project/train.py\", line 7, in <module>\n\
                   [rank0]: KeyError: 'learning_rate'\n";
    with_output(node, printed)
}

fn with_output(node: Node, printed: &str) -> Node {
    node.write("jobs/slurm-4711.out", printed);
    knows_the_job(&node, "Restarts=0 JobState=FAILED");
    node.open_to_all();
    node
}

fn knows_the_job(node: &Node, state: &str) {
    let dir = node.dir();
    node.script(
        "scontrol",
        &format!(
            "#!/bin/sh\ncase \"$*\" in\n*'show job'*) echo 'JobId=4711 JobName=secret-project UserId=ada(1000) {state} \
             Reason=NonZeroExitCode Requeue=1 BatchFlag=1 ExitCode=1:0 NodeList=n[1-2] WorkDir={dir}/jobs StdErr={dir}/jobs/slurm-%j.out \
             StdOut={dir}/jobs/slurm-%j.out Power=';;\n*'show node'*) echo 'NodeName=n2 State=IDLE Extra=';;\nesac\n"
        ),
    );
}

fn report(node: &Node) -> Value {
    node.run(&["--json", "diagnose", "4711"]).expect(0).json()
}

#[test]
fn a_job_of_this_node_is_diagnosed_from_its_ledger_and_its_output() {
    let report = report(&node());
    assert_eq!((&report["class"], &report["confidence"]), (&"hardware".into(), &"confirmed".into()));
    assert_eq!(report["culprits"][0]["node"], "n1");
    assert_eq!(report["culprits"][0]["resource"], "gpu:0000:61:00.0");
    assert_eq!((&report["drain"][0], &report["job"]), (&"n1".into(), &"requeue".into()));
    assert!(report["evidence"].to_string().contains("xid.79"), "{report}");
    let blind = report["blind"].to_string();
    assert!(!blind.contains("output"), "the output was read: {blind}");
}

#[test]
fn where_the_node_is_well_the_job_s_own_word_decides_about_the_job() {
    let report = report(&node_without_fault());
    assert_eq!(report["class"], "application", "{report}");
    assert!(report["evidence"].to_string().contains("KeyError: 'learning_rate'"), "{report}");
    assert_eq!(report["drain"], Value::Array(Vec::new()));
}

#[test]
fn a_person_reads_the_same_and_obeys_no_escape_of_the_job() {
    let node = node();
    node.write(
        "jobs/slurm-4711.out",
        format!("\u{1b}[2J{PRINTED}RuntimeError: \u{1b}]0;owned\u{7}CUDA error: x\n"),
    );
    node.open_to_all();
    let told = node.run(&["diagnose", "4711"]).expect(0).says("gpu:0000:61:00.0");
    assert!(!told.out.contains('\u{1b}') && !told.out.contains('\u{7}'), "{:?}", told.out);
}

#[test]
fn a_controller_that_forgot_the_job_is_told_and_the_file_can_be_named() {
    let node = node_without_fault();
    node.script(
        "scontrol",
        "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n",
    );
    let unread = report(&node);
    assert_eq!(unread["class"], "unknown", "{unread}");
    let blind = unread["blind"].to_string();
    assert!(blind.contains("Invalid job id") && blind.contains("--output"), "{blind}");
    let file = node.path("jobs/slurm-%j.out");
    let named =
        node.run(&["--json", "diagnose", "4711", "--output", file.to_str().unwrap()]).expect(0).json();
    assert_eq!(named["class"], "application", "{named}");
}

#[test]
fn a_later_run_that_wrote_over_the_output_is_not_taken_for_this_one() {
    let node = node();
    knows_the_job(&node, "Restarts=1 JobState=RUNNING");
    let blind = report(&node)["blind"].to_string();
    assert!(blind.contains("a later run"), "{blind}");
}

/// Slurm keeps one record a job: of a run that another one followed, the ledger alone knows how it ended.
#[test]
fn how_a_later_run_fares_is_not_told_of_an_earlier_one() {
    let expected = report(&node());
    for later in ["COMPLETED", "CANCELLED", "RUNNING", "PENDING", "TIMEOUT"] {
        let node = node();
        knows_the_job(&node, &format!("Restarts=1 JobState={later}"));
        let report = report(&node);
        for key in ["class", "confidence", "culprits", "drain", "job"] {
            assert_eq!(report[key], expected[key], "{later}: {report}");
        }
        assert!(!report["story"].to_string().contains(later), "{report}");
        let (folder, _) = bundle(&node, &[]);
        let written = fs::read_to_string(folder.join("incident.toml")).unwrap();
        assert!(!written.contains(later) && written.contains("restart_count = 0"), "{later}: {written}");
    }
}

/// A GPU that a health check finds lost when the job has been gone for a while.
#[test]
fn a_gpu_that_was_lost_after_the_job_had_ended_did_not_end_it() {
    for (late, epilog_looked) in [(9, true), (47, true), (47, false), (200, false)] {
        let node = Node::with(move |ledger| {
            let end = T0.plus_secs(1_800);
            let run = run_of(JOB, 0, T0);
            let tasks = [
                (T0, task(&run, 0, TaskWhat::Start)),
                (end, task(&run, 0, TaskWhat::End(ExitStatus::Exit(1)))),
            ];
            let span = JobSpan { end: Some(end), exit: Some(ExitStatus::Exit(1)), ..span(run) };
            let at = end.plus_secs(late);
            let seen =
                Observation { source: SourceKind::Nvml, ..line(9, at, "NVML reports the GPU as lost") };
            let event = event(&seen, "nvml.gpu_lost");
            let case = case(&event, None);
            Rows {
                spans: vec![span],
                tasks: tasks.to_vec(),
                observations: vec![seen],
                events: vec![event],
                cases: vec![case],
                ..Rows::default()
            }
            .write(ledger, at);
            if epilog_looked {
                swept(ledger, end.plus_secs(1), false);
            }
            swept(ledger, at, true);
        });
        let report = report(&with_output(node, "step 1\n"));
        assert_ne!(report["class"], "hardware", "{late} s: {report}");
        assert_eq!(report["confidence"], "suspected", "{late} s: {report}");
    }
}

fn swept(ledger: &mut triage_ledger::Ledger, at: Stamp, lost: bool) {
    let gpu = triage_core::reading::GpuReading {
        pci: "0000:61:00.0".parse().ok(),
        lost,
        ..triage_core::reading::GpuReading::default()
    };
    let reading = triage_ledger::Reading {
        at,
        boot: boot(),
        synthetic: false,
        reading: triage_core::reading::NvmlReading {
            state: triage_core::reading::NvmlState::Ok,
            gpus: vec![gpu],
            ..triage_core::reading::NvmlReading::default()
        },
    };
    let (node, boot) = (support::node(), boot());
    let batch =
        triage_ledger::Batch { reading: Some(&reading), ..triage_ledger::Batch::new(at, &node, &boot, "t") };
    assert!(matches!(ledger.record(&batch).unwrap(), triage_ledger::Recorded::Committed { .. }));
}

#[test]
fn what_is_neither_folder_nor_job_of_this_node_is_said_so() {
    let node = node();
    node.run(&["diagnose", "99"]).expect(3).says("knows no such job");
    node.run(&["diagnose", "train.py"]).expect(3).says("no such folder, and no job");
    node.run(&["diagnose", "./4711"]).expect(3).says("incident.toml");
    node.run(&["bundle", "99"]).expect(3).says("knows no such job");
}

#[test]
fn of_an_array_one_task_is_to_be_named() {
    let node = Node::with(|ledger| {
        for task in [3, 4] {
            let mut run = run_of(4800 + task, 0, T0);
            run.array = Some(ArrayId { job: 4700, task });
            let span = JobSpan { end: Some(T0.plus_secs(5)), ..span(run) };
            Rows { spans: vec![span], ..Rows::default() }.write(ledger, T0);
        }
    });
    node.run(&["diagnose", "4700"]).expect(3).says("4700_3, 4700_4");
    node.run(&["diagnose", "4700_3"]).expect(0);
}

fn bundle(node: &Node, args: &[&str]) -> (std::path::PathBuf, Value) {
    let folder = node.path("case");
    let done = node
        .run(&[&["--json", "bundle", "4711", "-o", folder.to_str().unwrap()], args].concat())
        .expect(0)
        .json();
    (folder, done)
}

#[test]
fn a_bundle_is_diagnosed_as_the_job_was() {
    let node = node();
    let live = report(&node);
    let (folder, done) = bundle(&node, &[]);
    assert!(done["files"].as_u64().unwrap() >= 4, "{done}");
    let again = run(&["--json", "diagnose", folder.to_str().unwrap()]).expect(0).json();
    assert_eq!(again, live);
    let app = node_without_fault();
    let (other, _) = bundle(&app, &[]);
    assert_eq!(run(&["--json", "diagnose", other.to_str().unwrap()]).expect(0).json(), report(&app));
    let output = fs::read_to_string(folder.join("output/slurm-4711.out")).unwrap();
    assert_eq!(output, PRINTED);
}

#[test]
fn a_bundle_of_a_job_with_huge_output_says_where_something_is_left_out() {
    let node = node();
    node.configure("[nvml]", "[output]\nhead_kib = 1\ntail_mib = 1\n[nvml]");
    let filler = "step 1 loss 2.0\n".repeat(200_000);
    node.write("jobs/slurm-4711.out", format!("{}{filler}{PRINTED}", PRINTED.lines().next().unwrap()));
    node.open_to_all();
    let live = report(&node);
    let (folder, _) = bundle(&node, &[]);
    let incident = fs::read_to_string(folder.join("incident.toml")).unwrap();
    assert!(incident.contains("gaps"), "{incident}");
    assert_eq!(run(&["--json", "diagnose", folder.to_str().unwrap()]).expect(0).json(), live);
    assert!(live["blind"].to_string().contains("bytes were not read"), "{}", live["blind"]);
}

fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text.push_str(path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            text.push_str(&all_text(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
    text
}

#[test]
fn a_redacted_bundle_names_nobody_and_is_diagnosed_the_same() {
    names_nobody(&node());
    names_nobody(&node_without_fault());
}

fn names_nobody(node: &Node) {
    let live = report(node);
    let (folder, done) = bundle(node, &["--redact"]);
    assert_eq!(done["redacted"], true);
    let text = all_text(&folder);
    for gone in ["/ada", "for ada", "\"ada\"", "secret-project", "train.py", "10.20.30", node.dir().as_str()]
    {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    let again = run(&["--json", "diagnose", folder.to_str().unwrap()]).expect(0).json();
    for key in ["class", "confidence", "culprits", "drain", "job"] {
        assert_eq!(again[key], live[key], "{key}");
    }
    let codes = |report: &Value| -> Vec<Value> {
        report["evidence"].as_array().unwrap().iter().map(|seen| seen["code"].clone()).collect()
    };
    assert_eq!(codes(&again), codes(&live));
}

#[test]
fn nothing_is_written_over_and_nobody_else_may_look() {
    let node = node();
    let (folder, _) = bundle(&node, &[]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("nodes/n1")), 0o700);
    assert_eq!(mode(&folder.join("nodes/n1/kernel.log")), 0o600);
    let before = all_text(&folder);
    node.run(&["bundle", "4711", "-o", folder.to_str().unwrap()]).expect(3).says("is there already");
    assert_eq!(all_text(&folder), before);
    node.write("file", "x");
    node.run(&["bundle", "4711", "-o", node.path("file").to_str().unwrap()])
        .expect(3)
        .says("is there already");
    assert_eq!(fs::read_to_string(node.path("file")).unwrap(), "x");
    let archive = node.path("case.tar.gz");
    node.run(&["bundle", "4711", "-o", archive.to_str().unwrap()]).expect(3).says("tar -czf");
    assert!(!archive.exists());
    node.run(&["bundle", "4711", "-o", node.path("no/such/case").to_str().unwrap()])
        .expect(3)
        .says("No such file");
}
