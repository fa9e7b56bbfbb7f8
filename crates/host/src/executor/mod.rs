//! The one place with side effects on Slurm. Each action reads the state it is about right before it changes it, and
//! finds an action that was done already done: by a pass that crashed, by another node, by a person.
mod begin;
mod confirm;
mod down;
mod drain;
mod explain;
mod extra;
mod kill;
mod last_line;
mod publish;
mod repair;
mod requeue;

use std::fmt;
use std::path::PathBuf;

use triage_core::policy::Brakes;
use triage_core::{Action, Outcome};

use crate::clock::{Clock, Deadline};
use crate::output::OutputReader;
use crate::slurm::{Refusal, Scontrol, ScontrolError};

/// Carries out actions.
pub struct Executor<'a> {
    /// Talks to the controller.
    pub scontrol: Scontrol<'a>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Appends to a job's output; `None`: nobody does.
    pub output: Option<OutputReader<'a>>,
    /// The site's brakes, for a drain that was wanted before anybody had asked for the other nodes.
    pub site: Option<Site<'a>>,
}

/// What of the site a drain is measured by.
#[derive(Debug)]
pub struct Site<'a> {
    /// How many nodes may be out by us.
    pub brakes: &'a Brakes,
    /// The file that tells which switch a node hangs on.
    pub topology: Option<PathBuf>,
}

impl Executor<'_> {
    /// Carries out one action, or finds it done. Those that take long ([`Action::takes_long`]) take no
    /// longer than until `deadline`.
    pub fn execute(&self, action: &Action, deadline: Deadline) -> Outcome {
        match action {
            Action::Drain { node, reason, .. } => self.drain(node, reason),
            Action::ConfirmDrain { node, limits, .. } => self.confirm(node, limits, deadline),
            Action::Down { node, case, limits, .. } => self.down(node, case, limits, deadline),
            Action::Reset { node, command, .. } => self.reset(node, command, deadline),
            Action::Reboot { node, reason, .. } => self.reboot(node, reason),
            Action::Verify { node, case, commands, .. } => self.verify(node, case, commands, deadline),
            Action::Resume { node, case, from_down, .. } => self.resume(node, case, *from_down),
            Action::Requeue { run, exclude, hold, progress, .. } => {
                self.requeue(run, (exclude, &progress.note()), *hold)
            }
            Action::LastLine { run, uid, user, text, requeued, .. } => {
                let line = last_line::Line { run, owner: (*uid, user), text, requeued: *requeued };
                self.last_line(&line, deadline)
            }
            Action::KillSteps { run, .. } => self.kill_steps(run),
            Action::ClearBeginTime { run, not_before, .. } => {
                self.clear_begin_time(run, *not_before, deadline)
            }
            Action::Explain { run, text, .. } => self.explain(run, text, deadline),
            Action::Publish { node, body, .. } => self.publish(node, body),
            // The hook's exit code is the action; there is nothing else to do.
            Action::RefuseJob { .. } => self.done("refused: exit 1"),
        }
    }

    fn done(&self, answer: impl Into<String>) -> Outcome {
        Outcome { at: self.clock.now(), done: true, retry: false, answer: answer.into() }
    }

    fn left_alone(&self, answer: impl Into<String>) -> Outcome {
        Outcome { at: self.clock.now(), done: false, retry: false, answer: answer.into() }
    }

    fn later(&self, answer: impl Into<String>) -> Outcome {
        Outcome { at: self.clock.now(), done: false, retry: true, answer: answer.into() }
    }

    fn failed(&self, error: &ScontrolError) -> Outcome {
        let retry = error.may_pass_later();
        Outcome { at: self.clock.now(), done: false, retry, answer: error.to_string() }
    }

    /// As [`failed`](Self::failed), but a refusal of an unknown kind is tried again as well: of a read, which changes nothing,
    /// and of a change before whose every try the state is read, so that one that had worked is found done.
    fn failed_but_harmless_to_repeat(&self, error: &ScontrolError) -> Outcome {
        let unknown = matches!(error, ScontrolError::Refused { refusal: Refusal::Other, .. });
        Outcome { retry: unknown || error.may_pass_later(), ..self.failed(error) }
    }
}

impl fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("scontrol", &self.scontrol).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
