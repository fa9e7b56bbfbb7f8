//! Running other programs: the only place of the suite that does, and one of the three seams for tests.
//!
//! - The program is named by an absolute path and gets an argument list; there is no shell and no `PATH`.
//! - Its environment is empty but for what the command names, its input is `/dev/null`, its folder `/`.
//! - It is the leader of a session of its own, dies with us, and inherits no descriptor.
//! - It has a deadline and its output a cap. Past the deadline its whole process group is killed and *not* waited for:
//!   a process that sleeps in the kernel over a dead device does not even die, and must not take us with it.
//! - Whatever it leaves behind in its process group is killed when it ends, so a grandchild that holds the pipe
//!   delays nobody.
mod detach;
mod plumbing;
mod run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::ExitStatus;

pub use detach::detach;
pub use run::SystemRunner;

/// Most bytes kept of each of a command's two outputs unless the command says otherwise. A node record of 22.05 with
/// the longest `Extra` it takes is below 100 KiB.
const OUTPUT_CAP: usize = 1024 * 1024;

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// How long it may take.
    pub deadline: Duration,
    /// Most bytes kept of each of its outputs; what is beyond is read and dropped.
    pub output_cap: usize,
    /// Where to keep its pid and start time while it runs, so that the next one of us knows about it even if we are
    /// killed. Removed when the command has ended; left when it was left behind.
    pub pid_file: Option<PathBuf>,
}

impl Command {
    /// A command without arguments and environment.
    pub fn new(program: impl Into<PathBuf>, deadline: Duration) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            deadline,
            output_cap: OUTPUT_CAP,
            pid_file: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

/// A command that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub status: ExitStatus,
    /// What it wrote, up to the cap.
    pub stdout: Vec<u8>,
    /// What it complained about, up to the cap.
    pub stderr: Vec<u8>,
    /// Something was beyond the cap.
    pub truncated: bool,
}

/// A command that did not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The program is not named by an absolute path, or an argument holds a NUL byte.
    #[error("{}: refused: commands are named by absolute paths, and arguments hold no NUL byte", program.display())]
    Refused {
        /// The program.
        program: PathBuf,
    },
    /// No such program.
    #[error("{}: no such program: install it, or correct its path in triage.toml", program.display())]
    NotFound {
        /// The program.
        program: PathBuf,
    },
    /// We may not run it.
    #[error("{}: may not be run: check its mode and that its filesystem is not mounted noexec", program.display())]
    Denied {
        /// The program.
        program: PathBuf,
    },
    /// The system could not start it.
    #[error("{}: could not be started: {reason}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's word.
        reason: String,
    },
    /// It was still busy at its deadline and was killed.
    #[error("{}: no answer within {} ms{}", program.display(), deadline.as_millis(), stuck.describe())]
    Deadline {
        /// The program.
        program: PathBuf,
        /// The deadline it had.
        deadline: Duration,
        /// Where it was stuck.
        stuck: Box<Stuck>,
        /// What it had written by then, up to the cap.
        stdout: Vec<u8>,
    },
}

/// A process that did not end in time, as it was right before it was killed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stuck {
    /// Its process id.
    pub pid: u32,
    /// Its state in `/proc/<pid>/stat`; `D`: sleeps in the kernel.
    pub state: Option<char>,
    /// The kernel function it slept in.
    pub wchan: Option<String>,
    /// The name it had given itself (`/proc/<pid>/comm`): what `triage-probe` was about to do.
    pub comm: Option<String>,
    /// It was still there after SIGKILL, and was left behind.
    pub left_behind: bool,
}

impl Stuck {
    fn describe(&self) -> String {
        let state = self.state.map(|state| format!(", state {state}")).unwrap_or_default();
        let wchan = self.wchan.as_ref().map(|wchan| format!(", in {wchan}")).unwrap_or_default();
        let left_behind = if self.left_behind { ", survived SIGKILL" } else { "" };
        format!(" (pid {}{state}{wchan}{left_behind})", self.pid)
    }
}

/// Runs commands.
pub trait Runner {
    /// Runs one to its end, or to its deadline.
    ///
    /// # Errors
    /// When it could not be started or did not end in time. An exit code other than 0 is no error here.
    fn run(&self, command: &Command) -> Result<Finished, RunError>;

    /// Starts one and waits for it when the answer is called for. Its deadline runs from the start.
    fn start(&self, command: Command) -> Started<'_> {
        Box::new(move || self.run(&command))
    }
}

/// A command that runs: gives what [`Runner::run`] would have given.
pub type Started<'a> = Box<dyn FnOnce() -> Result<Finished, RunError> + 'a>;

impl<R: Runner + ?Sized> Runner for &R {
    fn start(&self, command: Command) -> Started<'_> {
        (**self).start(command)
    }

    fn run(&self, command: &Command) -> Result<Finished, RunError> {
        (**self).run(command)
    }
}

/// Refuses what the rules at the head of this file do not allow.
fn check(command: &Command) -> Result<(), RunError> {
    let nul = |text: &str| text.contains('\0');
    let variables = command.env.iter().any(|(name, value)| nul(name) || nul(value) || name.contains('='));
    if !command.program.is_absolute() || command.args.iter().any(|a| nul(a)) || variables {
        return Err(RunError::Refused { program: command.program.clone() });
    }
    Ok(())
}

fn start_error(program: &Path, error: &std::io::Error) -> RunError {
    let program = program.to_owned();
    match error.kind() {
        std::io::ErrorKind::NotFound => RunError::NotFound { program },
        std::io::ErrorKind::PermissionDenied => RunError::Denied { program },
        _ => RunError::Spawn { program, reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
