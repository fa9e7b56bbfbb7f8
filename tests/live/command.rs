//! Running a command to its end, under a deadline.

use std::process::{Command, Stdio};

/// Seconds after which a command is killed and counts as failed. Slurm's clients wait long for a controller
/// that is down; no command here needs more than a moment.
const DEADLINE_S: u32 = 60;

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Exit status; 124 when it ran past the deadline, -1 when a signal ended it.
    pub(crate) status: i32,
    /// Standard output, as text.
    pub(crate) out: String,
    /// Standard error, as text.
    pub(crate) err: String,
}

impl Answer {
    /// Whether the exit status is 0.
    pub(crate) fn ok(&self) -> bool {
        self.status == 0
    }

    /// The answer of a command that had to succeed: its standard output.
    pub(crate) fn success(self, what: &str) -> String {
        assert!(self.ok(), "{what} failed with exit status {}:\n{}{}", self.status, self.out, self.err);
        self.out
    }
}

/// Runs `argv` with `env` added to this process's environment.
pub(crate) fn run(argv: &[&str], env: &[(&str, &str)]) -> Answer {
    run_within(DEADLINE_S, argv, env)
}

/// [`run`] with another deadline, in seconds.
pub(crate) fn run_within(deadline_s: u32, argv: &[&str], env: &[(&str, &str)]) -> Answer {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", &deadline_s.to_string()])
        .args(argv)
        .envs(env.iter().copied())
        .stdin(Stdio::null());
    let out = command.output().expect("coreutils' timeout starts");
    Answer {
        status: out.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}
