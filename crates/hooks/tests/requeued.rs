//! Runs that were not let end: Slurm counts a run that it puts back into the queue before it lets go of its nodes, so that
//! the epilog is told the restart count of the next one, and the exit code 0.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use triage_core::{ExitStatus, JobSpan, Stamp};
use triage_ledger::{Filter, Ledger, OpenOptions};
use triage_wire::{End, TaskRecord, What, encode, spool_file_name};

const PROLOG: &str = env!("CARGO_BIN_EXE_triage-prolog");
const EPILOG: &str = env!("CARGO_BIN_EXE_triage-epilog");

/// A node that nothing is the matter with.
struct Node {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Node {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        fs::create_dir(folder.path().join("spool")).unwrap();
        fs::write(folder.path().join("kern.log"), "").unwrap();
        let config = format!(
            "[paths]\nstate = \"{at}\"\nrun = \"{at}\"\npolicy = \"{at}/policy.toml\"\ncatalog = \"{at}/none\"\n\
             [slurm]\nconf = \"{at}/slurm.conf\"\nscontrol = \"/bin/false\"\n\
             [kernel_log]\nsource = \"file\"\npath = \"{at}/kern.log\"\n[nvml]\nenabled = \"never\"\n"
        );
        fs::write(folder.path().join("triage.toml"), config).unwrap();
        Self { folder, name }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn hook(&self, hook: &str, restart: u32, more: &[(&str, &str)]) {
        let status = Command::new(hook)
            .args([Path::new("--config"), &self.path("triage.toml")])
            .env_clear()
            .env("SLURMD_NODENAME", self.name)
            .env("SLURM_JOB_ID", "8")
            .env("SLURM_JOB_UID", "1000")
            .env("SLURM_CLUSTER_NAME", "c1")
            .env("SLURM_NODELIST", "n[1-2]")
            .env("SLURM_JOB_RESTART_COUNT", restart.to_string())
            .envs(more.iter().copied())
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    }

    fn prolog(&self, restart: u32) {
        self.hook(PROLOG, restart, &[]);
    }

    /// `raw`: what `wait` says.
    fn epilog(&self, restart: u32, raw: &str) {
        self.hook(EPILOG, restart, &[("SLURM_JOB_EXIT_CODE", raw)]);
    }

    fn task(&self, what: What) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let at_us = i64::try_from(now.as_micros()).unwrap();
        let record = TaskRecord { at_us, what, job: 8, pid: 77, ..TaskRecord::default() };
        let path = self.path("spool").join(spool_file_name(8, 0));
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + &encode(&record)).unwrap();
    }

    /// Restart count, whether it is over, and how it ended, of every run.
    fn runs(&self) -> Vec<(u32, bool, Option<ExitStatus>, String)> {
        let reader = OpenOptions::reader(Duration::from_secs(20), Stamp::from_secs(0));
        let ledger = Ledger::open(&self.path("ledger.db"), &reader).unwrap();
        let told = |span: JobSpan| (span.run.restart, span.end.is_some(), span.exit, span.state);
        ledger.spans(&Filter::default()).unwrap().into_iter().map(told).collect()
    }
}

fn run(restart: u32, over: bool, exit: Option<i32>, state: &str) -> (u32, bool, Option<ExitStatus>, String) {
    (restart, over, exit.map(ExitStatus::Exit), state.to_owned())
}

#[test]
fn a_run_that_is_put_back_into_the_queue_is_one_run_and_no_success() {
    let node = Node::new("n1");
    node.prolog(0);
    node.epilog(1, "0");
    let first = run(0, true, None, "REQUEUED");
    assert_eq!(node.runs(), std::slice::from_ref(&first));
    node.prolog(1);
    assert_eq!(node.runs(), [first.clone(), run(1, false, None, "")]);
    node.epilog(1, "0");
    assert_eq!(node.runs(), [first, run(1, true, Some(0), "")]);
}

#[test]
fn a_run_that_failed_and_then_was_put_back_has_failed() {
    let node = Node::new("n1");
    node.prolog(0);
    node.epilog(0, "256");
    assert_eq!(node.runs(), [run(0, true, Some(1), "")]);
}

#[test]
fn a_node_that_nothing_of_the_job_ran_on_tells_of_no_run() {
    let node = Node::new("n2");
    node.epilog(1, "0");
    node.epilog(1, "0");
    assert_eq!(node.runs(), []);
}

#[test]
fn a_run_without_a_prolog_is_known_by_its_tasks() {
    let node = Node::new("n2");
    node.task(What::Start);
    node.task(What::End(End::Exit(0)));
    node.epilog(0, "0");
    assert_eq!(node.runs(), [run(0, true, Some(0), "")]);
    node.epilog(1, "0");
    assert_eq!(node.runs().len(), 1, "the tasks are of the run before");
}

#[test]
fn on_its_batch_host_a_run_that_nothing_is_known_of_is_no_success() {
    let node = Node::new("n1");
    node.epilog(0, "0");
    assert_eq!(node.runs(), [run(0, true, None, "")]);
}
