//! Mending a node that we took out: a reset, a reboot, the site's tests. Each only while the node is idle and out by
//! our own drain, which is read right before: the tests, which are followed by the return, by that for the very case; what mends
//! the node also by one for another case, since a node has room for one reason.
use std::time::Duration;

use triage_core::policy;
use triage_core::{CaseId, ExitStatus, NodeName, NodeRecord, Outcome, reason};

use super::Executor;
use crate::clock::Deadline;
use crate::runner::{Command, Finished, RunError};

/// What a command may say in an answer, bytes: its last line, which is where tools put their verdict.
const MAX_SAID: usize = 200;

/// By which drain a node has to be out.
#[derive(Clone, Copy)]
enum Drain<'a> {
    /// One of ours.
    Ours,
    /// Ours for this case.
    For(&'a CaseId),
}

impl Executor<'_> {
    pub(super) fn reset(&self, node: &NodeName, command: &policy::Command, until: Deadline) -> Outcome {
        self.ours_and_idle(node, Drain::Ours).unwrap_or_else(|| match self.run(command, until) {
            Ok(said) => self.done(format!("{said}; the next sweep tells whether it helped")),
            Err(said) => self.left_alone(said),
        })
    }

    /// Without `ASAP` and `nextstate`: a drained node then comes back drained, its reason kept. `nextstate=DOWN` takes the
    /// drain away, and `ReturnToService` brings the node back untested (tried on 22.05).
    pub(super) fn reboot(&self, node: &NodeName, why: &str) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed_but_harmless_to_repeat(&error),
        };
        // REBOOT_REQUESTED, then REBOOT_ISSUED until it is back (22.05 and later).
        if record.state.iter().any(|word| word.starts_with("REBOOT")) {
            return self.done("Slurm was asked already to boot the node again");
        }
        self.unless_ours_and_idle(&record, Drain::Ours).unwrap_or_else(|| {
            match self.scontrol.reboot(node, why) {
                Ok(()) => self.done("Slurm was asked to boot the node again"),
                Err(error) => self.failed(&error),
            }
        })
    }

    pub(super) fn verify(
        &self,
        node: &NodeName,
        case: &CaseId,
        commands: &[policy::Command],
        until: Deadline,
    ) -> Outcome {
        if let Some(outcome) = self.ours_and_idle(node, Drain::For(case)) {
            return outcome;
        }
        let mut passed = Vec::new();
        for command in commands {
            match self.run(command, until) {
                Ok(said) => passed.push(said),
                Err(said) => return self.left_alone(said),
            }
        }
        self.done(passed.join("; "))
    }

    /// What to answer where the node may not be touched; `None` where it may.
    fn ours_and_idle(&self, node: &NodeName, drain: Drain<'_>) -> Option<Outcome> {
        match self.scontrol.node(node) {
            Ok(record) => self.unless_ours_and_idle(&record, drain),
            Err(error) => Some(self.failed_but_harmless_to_repeat(&error)),
        }
    }

    fn unless_ours_and_idle(&self, record: &NodeRecord, drain: Drain<'_>) -> Option<Outcome> {
        let stands = |case: CaseId| match drain {
            Drain::Ours => true,
            Drain::For(of) => case == *of,
        };
        if !record.is_out() || !reason::case_of(&record.reason).is_some_and(stands) {
            let state = record.state.join("+");
            let what = if matches!(drain, Drain::Ours) { "our drain" } else { "our drain for this case" };
            return Some(self.left_alone(format!("not out by {what} ({state}): left alone")));
        }
        record.busy().map(|word| self.later(format!("the node is {word}")))
    }

    /// Runs a command of the site's; what to tell of it, good or bad.
    fn run(&self, wanted: &policy::Command, until: Deadline) -> Result<String, String> {
        let name = &wanted.name;
        let Some((program, args)) = wanted.command.split_first() else {
            return Err(format!("{name}: no command"));
        };
        let limit = Duration::from_secs(wanted.deadline_s.into()).min(until.left(self.clock));
        let begun = self.clock.monotonic();
        let ended = self.scontrol.runner.run(&Command::new(program, limit).args(args.iter().cloned()));
        let seconds = self.clock.monotonic().saturating_sub(begun).as_secs_f64();
        match ended {
            Ok(Finished { status: ExitStatus::Exit(0), .. }) => {
                Ok(format!("{name} passed in {seconds:.1} s"))
            }
            Ok(Finished { status, stdout, stderr, .. }) => {
                Err(format!("{name} failed after {seconds:.1} s: {status}{}", last_words(&stdout, &stderr)))
            }
            Err(RunError::Deadline { .. }) => {
                Err(format!("{name} was not over after {seconds:.0} s and was stopped"))
            }
            Err(error) => Err(format!("{name}: {error}")),
        }
    }
}

/// The last line of what a command said, printable characters only.
fn last_words(stdout: &[u8], stderr: &[u8]) -> String {
    let of = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let line =
            text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
        line.chars().filter(|c| !c.is_control()).collect::<String>()
    };
    let line = [of(stderr), of(stdout)].into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    let cut = line.floor_char_boundary(MAX_SAID);
    if line.is_empty() { String::new() } else { format!(": {}", line.get(..cut).unwrap_or_default()) }
}
