//! A runner that answers from a script.
use std::cell::RefCell;
use std::fmt;

use triage_core::ExitStatus;

use crate::runner::{Command, Finished, RunError, Runner};

type Answer = Result<Finished, RunError>;
type Script = Box<dyn FnMut(&Command) -> Answer>;

/// Answers every command by a function of it and remembers what was asked.
pub struct Scripted {
    script: RefCell<Script>,
    seen: RefCell<Vec<Command>>,
}

impl Scripted {
    /// Answers by `script`.
    pub fn new(script: impl FnMut(&Command) -> Answer + 'static) -> Self {
        Self { script: RefCell::new(Box::new(script)), seen: RefCell::new(Vec::new()) }
    }

    /// Gives these answers in order and fails every further command as if the program were not there.
    pub fn in_order(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: std::collections::VecDeque<Answer> = answers.into_iter().collect();
        Self::new(move |command| {
            let program = command.program.clone();
            answers.pop_front().unwrap_or(Err(RunError::NotFound { program }))
        })
    }

    /// The arguments of every command so far, each joined by spaces.
    pub fn asked(&self) -> Vec<String> {
        self.seen.borrow().iter().map(|command| command.args.join(" ")).collect()
    }

    /// Every command so far.
    pub fn commands(&self) -> Vec<Command> {
        self.seen.borrow().clone()
    }
}

impl Runner for Scripted {
    fn run(&self, command: &Command) -> Answer {
        self.seen.borrow_mut().push(command.clone());
        (self.script.borrow_mut())(command)
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("asked", &self.asked()).finish_non_exhaustive()
    }
}

/// The answer of a command that ended with exit code 0.
pub fn answered(stdout: &str) -> Answer {
    Ok(Finished {
        status: ExitStatus::Exit(0),
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
        truncated: false,
    })
}

/// The answer of a command that ended with exit code 1 and this complaint.
pub fn failed(stderr: &str) -> Answer {
    Ok(Finished {
        status: ExitStatus::Exit(1),
        stdout: Vec::new(),
        stderr: stderr.as_bytes().to_vec(),
        truncated: false,
    })
}
