//! Running the program.
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What the program answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Exit status; -1 when a signal ended it.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Runs the program with nothing of this process's environment that it reads.
pub(crate) fn run(args: &[&str]) -> Answer {
    Answer::from(command(args).output().unwrap())
}

/// The same, not started yet.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slurm-triage"));
    command.args(args).env_remove("SLURMD_NODENAME").env_remove("SLURM_CONF").stdin(Stdio::null());
    command
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Answer {
    /// Standard output as the one line of JSON it has to be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "one line of JSON:\n{}{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// The answer of a run that had to end with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}{}", self.out, self.err);
        self
    }

    /// The answer of a run that had to say this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.out.contains(text) || self.err.contains(text),
            "no \"{text}\" in:\n{}{}",
            self.out,
            self.err
        );
        self
    }

    /// The answer of a run that had not to say this.
    #[track_caller]
    pub(crate) fn does_not_say(self, text: &str) -> Self {
        assert!(
            !self.out.contains(text) && !self.err.contains(text),
            "\"{text}\" in:\n{}{}",
            self.out,
            self.err
        );
        self
    }
}
