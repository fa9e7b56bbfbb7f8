//! Running `triage-probe`: NVML in a process that may hang. A hang is an answer of its own, with the place where it
//! happens; nobody waits for the process, and no second one is started while it lives.
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::ExitStatus;
use triage_core::reading::NvmlReading;

use crate::proc::Root;
use crate::runner::{Command, Finished, RunError, Runner, Stuck};

/// Largest answer, bytes: sixteen GPUs with eighteen links each are below 64 KiB.
const ANSWER_CAP: usize = 4 * 1024 * 1024;

/// How to run the probe.
pub struct Probe<'a> {
    /// Runs it.
    pub runner: &'a dyn Runner,
    /// Where `/proc` is.
    pub root: &'a Root,
    /// The executable.
    pub program: PathBuf,
    /// The NVML library.
    pub library: PathBuf,
    /// The scenario, for the simulated library.
    pub scenario: Option<PathBuf>,
    /// Where its pid is kept while it runs.
    pub pid_file: PathBuf,
    /// How long it may take.
    pub deadline: Duration,
}

/// Why there is no reading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeFailure {
    /// It did not answer in time, and was killed or left behind.
    #[error("no answer within {} ms{}", deadline.as_millis(), place(stuck))]
    Hung {
        /// How long it had.
        deadline: Duration,
        /// Where it was.
        stuck: Stuck,
    },
    /// An earlier one is still there; no second one is started.
    #[error("an earlier probe (pid {pid}) still hangs{}", at.as_ref().map(|at| format!(" in {at}")).unwrap_or_default())]
    StillHung {
        /// Its process id.
        pid: u32,
        /// Its start, clock ticks since boot.
        start: u64,
        /// The kernel function it sleeps in.
        at: Option<String>,
    },
    /// It died: inside a damaged library, for instance.
    #[error("the probe was ended by signal {0}")]
    Died(i32),
    /// It could not be run, or its answer is none.
    #[error("{0}")]
    Failed(String),
}

fn place(stuck: &Stuck) -> String {
    match (&stuck.wchan, stuck.state) {
        (Some(wchan), Some(state)) => format!(" (state {state}, in {wchan})"),
        (None, Some(state)) => format!(" (state {state})"),
        _ => String::new(),
    }
}

impl ProbeFailure {
    /// Whether a process of ours hangs over NVML.
    pub const fn hung(&self) -> bool {
        matches!(self, Self::Hung { .. } | Self::StillHung { .. })
    }
}

impl Probe<'_> {
    /// One sweep.
    ///
    /// # Errors
    /// See [`ProbeFailure`].
    pub fn run(&self) -> Result<NvmlReading, ProbeFailure> {
        if let Some(still) = self.still_hung() {
            return Err(still);
        }
        let mut args = vec!["--library".to_owned(), self.library.display().to_string()];
        if let Some(scenario) = &self.scenario {
            args.extend(["--scenario".to_owned(), scenario.display().to_string()]);
        }
        let mut command = Command::new(&self.program, self.deadline).args(args).args(["--json"]);
        command.output_cap = ANSWER_CAP;
        command.pid_file = Some(self.pid_file.clone());
        match self.runner.run(&command) {
            Ok(finished) => answer(&finished),
            Err(RunError::Deadline { deadline, stuck, .. }) => Err(ProbeFailure::Hung { deadline, stuck }),
            Err(error) => Err(ProbeFailure::Failed(error.to_string())),
        }
    }

    /// The process whose pid is on file, if it is still the same one.
    fn still_hung(&self) -> Option<ProbeFailure> {
        let (pid, start) = noted(&self.pid_file)?;
        let stat = self.root.process(pid).filter(|stat| stat.start_ticks == start && stat.state != 'Z');
        if stat.is_none() {
            let _ = fs::remove_file(&self.pid_file);
        }
        stat.map(|_| ProbeFailure::StillHung { pid, start, at: self.root.wchan(pid) })
    }
}

/// `pid start-ticks`.
fn noted(path: &Path) -> Option<(u32, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let (pid, start) = text.trim().split_once(' ')?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

fn answer(finished: &Finished) -> Result<NvmlReading, ProbeFailure> {
    match finished.status {
        ExitStatus::Signal(signal) => Err(ProbeFailure::Died(signal)),
        ExitStatus::Exit(0) if !finished.truncated => serde_json::from_slice(&finished.stdout)
            .map_err(|error| ProbeFailure::Failed(format!("the probe's answer cannot be read: {error}"))),
        ExitStatus::Exit(code) => {
            let words = String::from_utf8_lossy(&finished.stderr);
            let words = words.lines().next().unwrap_or_default();
            Err(ProbeFailure::Failed(format!("the probe ended with exit code {code}: {words}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Scripted, answered, failed};

    fn run(runner: &Scripted, pid_file: PathBuf) -> Result<NvmlReading, ProbeFailure> {
        let probe = Probe {
            runner,
            root: &Root::default(),
            program: "/x/triage-probe".into(),
            library: "libnvidia-ml.so.1".into(),
            scenario: Some("/s.toml".into()),
            pid_file,
            deadline: Duration::from_secs(1),
        };
        probe.run()
    }

    fn nowhere() -> PathBuf {
        "/nonexistent/probe.pid".into()
    }

    #[test]
    fn a_reading_is_passed_on() {
        let runner = Scripted::in_order([answered(r#"{"state":"ok","gpus":[{"index":0,"lost":true}]}"#)]);
        assert!(run(&runner, nowhere()).unwrap().gpus[0].lost);
        assert_eq!(runner.asked(), ["--library libnvidia-ml.so.1 --scenario /s.toml --json"]);
    }

    #[test]
    fn what_is_no_reading_is_a_failure_and_not_health() {
        for answer in [answered(""), answered("[]"), answered("{\"state\":\"ok\""), failed("no")] {
            let runner = Scripted::in_order([answer]);
            assert!(matches!(run(&runner, nowhere()), Err(ProbeFailure::Failed(_))));
        }
    }

    #[test]
    fn no_second_probe_is_started_beside_one_that_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("probe.pid");
        let me = std::process::id();
        let start = Root::default().process(me).unwrap().start_ticks;
        fs::write(&file, format!("{me} {start}\n")).unwrap();
        let runner = Scripted::in_order([]);
        assert!(matches!(run(&runner, file), Err(ProbeFailure::StillHung { .. })));
        assert!(runner.asked().is_empty());
    }

    #[test]
    fn a_pid_that_another_process_has_now_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("probe.pid");
        fs::write(&file, format!("{} 1\n", std::process::id())).unwrap();
        let runner = Scripted::in_order([answered("{}")]);
        assert!(run(&runner, file).is_ok());
    }
}
