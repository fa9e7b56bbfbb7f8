//! Running `triage-probe`: NVML in a process that may hang. A hang is an answer of its own, with the place where it
//! happens; nobody waits for the process, and no second one is started while it lives.
//!
//! Two programs that want a sweep at once take turns over a lock, so that a probe which only runs is not taken for one
//! that hangs.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use triage_core::reading::NvmlReading;
use triage_core::{ExitStatus, json};

use crate::clock::{Clock, Deadline};
use crate::proc::Root;
use crate::runner::{Command, Finished, RunError, Runner, Stuck};

/// Largest answer, bytes: sixteen GPUs with eighteen links each are below 64 KiB.
const ANSWER_CAP: usize = 4 * 1024 * 1024;

/// How often a taken lock is tried. A sweep over eight healthy GPUs takes a few hundred milliseconds.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Who has waited this long for the probes of other programs waited for ones that hang: all that take turns here need no more
/// than seconds together.
const HANGS: Duration = Duration::from_secs(10);

/// How to run the probe.
pub struct Probe<'a> {
    /// Runs it.
    pub runner: &'a dyn Runner,
    /// The clock.
    pub clock: &'a dyn Clock,
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
    #[error("no answer within {} ms{}", deadline.as_millis(), place(stuck.state, stuck.wchan.as_deref(), doing(stuck.comm.as_deref())))]
    Hung {
        /// How long it had.
        deadline: Duration,
        /// Where it was.
        stuck: Stuck,
    },
    /// An earlier one is still there; no second one is started.
    #[error("an earlier probe (pid {pid}) still hangs{}", place(None, at.as_deref(), doing.as_deref()))]
    StillHung {
        /// Its process id.
        pid: u32,
        /// Its start, clock ticks since boot.
        start: u64,
        /// The kernel function it sleeps in.
        at: Option<String>,
        /// What it was about to do when it hung: `nvml gpu 3`.
        doing: Option<String>,
    },
    /// It died: inside a damaged library, for instance.
    #[error("the probe was ended by signal {0}")]
    Died(i32),
    /// Other programs' probes took all the time there was. Where that was little, their reading is as good.
    #[error("another program's probe {} after {} ms", if *.0 < HANGS { "was still running" } else { "hung: no answer" }, .0.as_millis())]
    Busy(Duration),
    /// It could not be run, or its answer is none.
    #[error("{0}")]
    Failed(String),
}

/// What is known of where it hangs, in parentheses; empty when nothing is.
fn place(state: Option<char>, wchan: Option<&str>, doing: Option<&str>) -> String {
    let parts = [
        doing.map(|doing| format!("at {doing}")),
        state.map(|state| format!("state {state}")),
        wchan.map(|wchan| format!("in {wchan}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// What the probe was about to do: it renames itself before each step. Before the first it has its program's name,
/// which says nothing.
fn doing(comm: Option<&str>) -> Option<&str> {
    comm.filter(|comm| comm.starts_with("nvml "))
}

impl ProbeFailure {
    /// Whether a process of ours hangs, or hung, over NVML.
    pub fn hung(&self) -> bool {
        match self {
            Self::Hung { .. } | Self::StillHung { .. } => true,
            Self::Busy(waited) => *waited >= HANGS,
            Self::Died(_) | Self::Failed(_) => false,
        }
    }
}

impl Probe<'_> {
    /// One sweep.
    ///
    /// # Errors
    /// See [`ProbeFailure`].
    pub fn run(&self) -> Result<NvmlReading, ProbeFailure> {
        let deadline = Deadline::after(self.clock, self.deadline);
        // Held while our probe runs; when we die it is free again, and the pid on file tells of what we left.
        let _turn = self.turn(deadline)?;
        if let Some(still) = self.still_hung() {
            return Err(still);
        }
        let mut args = vec!["--library".to_owned(), self.library.display().to_string()];
        if let Some(scenario) = &self.scenario {
            args.extend(["--scenario".to_owned(), scenario.display().to_string()]);
        }
        let left = deadline.left(self.clock);
        let mut command = Command::new(&self.program, left).args(args).args(["--json"]);
        command.output_cap = ANSWER_CAP;
        command.pid_file = Some(self.pid_file.clone());
        match self.runner.run(&command) {
            Ok(finished) => answer(&finished),
            Err(RunError::Deadline { deadline, stuck, .. }) => {
                Err(ProbeFailure::Hung { deadline, stuck: *stuck })
            }
            Err(error) => Err(ProbeFailure::Failed(error.to_string())),
        }
    }

    /// Waits for our turn. Without a run folder there is nobody to take turns with.
    fn turn(&self, deadline: Deadline) -> Result<Option<File>, ProbeFailure> {
        let path = self.pid_file.with_extension("lock");
        let Ok(lock) = File::options().create(true).truncate(false).write(true).open(path) else {
            return Ok(None);
        };
        while lock.try_lock().is_err() {
            if deadline.has_passed(self.clock) {
                let still = self.still_hung().filter(|_| self.deadline >= HANGS);
                return Err(still.unwrap_or(ProbeFailure::Busy(self.deadline)));
            }
            self.clock.sleep(BETWEEN_TRIES);
        }
        Ok(Some(lock))
    }

    /// The process whose pid is on file, if it is still the same one.
    fn still_hung(&self) -> Option<ProbeFailure> {
        let (pid, start) = noted(&self.pid_file)?;
        let stat = self.root.process(pid).filter(|stat| stat.start_ticks == start && !stat.has_ended());
        if stat.is_none() {
            let _ = fs::remove_file(&self.pid_file);
        }
        stat.map(|_| {
            let comm = self.root.comm(pid);
            let doing = doing(comm.as_deref()).map(str::to_owned);
            ProbeFailure::StillHung { pid, start, at: self.root.wchan(pid), doing }
        })
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
        ExitStatus::Exit(0) if finished.truncated => {
            Err(ProbeFailure::Failed(format!("the probe's answer is longer than {ANSWER_CAP} bytes")))
        }
        ExitStatus::Exit(0) => reading(&finished.stdout)
            .map_err(|what| ProbeFailure::Failed(format!("the probe's answer cannot be read: {what}"))),
        ExitStatus::Exit(code) => {
            let words = String::from_utf8_lossy(&finished.stderr);
            let words: String = words.lines().next().unwrap_or_default().chars().take(300).collect();
            Err(ProbeFailure::Failed(format!("the probe ended with exit code {code}: {words}")))
        }
    }
}

/// Every field of a reading may be missing, so that half an answer would read as "no GPU here". The state is always
/// written; its absence says that this is no reading.
fn reading(answer: &[u8]) -> Result<NvmlReading, String> {
    #[derive(Deserialize)]
    struct Head {
        state: Option<IgnoredAny>,
    }
    let head: Head = json::from_bytes(answer).map_err(|error| error.to_string())?;
    if head.state.is_none() {
        return Err("it has no \"state\"".to_owned());
    }
    json::from_bytes(answer).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
