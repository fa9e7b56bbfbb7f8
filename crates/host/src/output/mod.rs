//! A job's output, read without being hurt by it.
//!
//! Path and file belong to the job's owner: it may be a FIFO, a device, a link to what only root may read, a terabyte, or
//! lie on a filesystem that hangs. So a child reads it: this very program once more, which takes the owner's
//! rights before it touches the path, opens regular files only and without blocking, reads a bounded part of the
//! beginning and of the end, looks at the bytes itself, and hands over what it found. When it does not answer in time it is
//! killed, or left behind where it sleeps in the kernel.
//!
//! What could not be read is a sentence in the report, never an error.
mod append;
mod child;
mod copy;
mod file;
mod find;
mod order;
mod pattern;
mod rights;
mod share;

pub use append::STANDS;
pub use child::run as run_child;
pub use copy::{CopiedFile, OutputCopy};
pub use order::OutputRequest;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::ExitStatus;
use triage_core::joblog::{OutputReport, REPORT_CAP};

use crate::clock::{Clock, Deadline};
use crate::config;
use crate::proc::Root;
use crate::runner::{Command, Finished, RunError, Runner};
use order::{Order, Task};

/// The variable that carries the order. Arguments are shown to every user of the node, paths of jobs are not.
const ORDER: &str = "SLURM_TRIAGE_OUTPUT";

/// Longest order that Linux takes as one variable, bytes (`MAX_ARG_STRLEN` is 128 KiB).
const LONGEST_ORDER: usize = 120 * 1024;

/// This program, also when its file was replaced since it started.
const MYSELF: &str = "/proc/self/exe";

/// How to read a job's output.
pub struct OutputReader<'a> {
    /// Runs the child.
    pub runner: &'a dyn Runner,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Where `/proc` is.
    pub root: &'a Root,
    /// The program whose [`run_child`] is the child, and the arguments that lead there.
    pub program: PathBuf,
    /// Those arguments.
    pub args: Vec<String>,
    /// `[output]` of the configuration.
    pub limits: config::Output,
    /// The folder of the site's own catalogue files.
    pub catalog: PathBuf,
    /// The folder where the pid of a child is kept while it runs, so that no second one is sent where one hangs; `None`:
    /// it is kept nowhere.
    pub run_folder: Option<PathBuf>,
}

impl<'a> OutputReader<'a> {
    /// A reader whose child is this very program, started with `arg`.
    pub fn of_this_program(
        (runner, clock, root): (&'a dyn Runner, &'a dyn Clock, &'a Root),
        arg: &str,
        config: &config::Config,
    ) -> Self {
        Self {
            runner,
            clock,
            root,
            program: MYSELF.into(),
            args: vec![arg.to_owned()],
            limits: config.output.clone(),
            catalog: config.paths.catalog.clone(),
            run_folder: nix::unistd::geteuid().is_root().then(|| config.paths.run.clone()),
        }
    }

    /// What the job's output says. Whatever goes wrong is a sentence in the report.
    pub fn read(&self, request: &OutputRequest, deadline: Deadline) -> OutputReport {
        match self.ask(request, deadline, Task::Look, REPORT_CAP) {
            Ok(answer) => OutputReport::decode(&answer, &request.hints()).unwrap_or_else(|error| {
                OutputReport::unread(format!("the job's output: its reader's answer is none: {error}"))
            }),
            Err(why) => OutputReport::unread(why),
        }
    }

    /// The bytes of the job's output. Whatever goes wrong is a sentence in the copy.
    pub fn copy(&self, request: &OutputRequest, deadline: Deadline) -> OutputCopy {
        let unread = |why| OutputCopy { files: Vec::new(), blind: vec![why] };
        let most = self.limits.head + self.limits.tail;
        let cap = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(copy::HEADER_CAP);
        match self.ask(request, deadline, Task::Copy, cap) {
            Ok(answer) => copy::decode(&answer).unwrap_or_else(|why| {
                unread(format!("the job's output: its reader's answer is none: {why}"))
            }),
            Err(why) => unread(why),
        }
    }

    /// Appends a line to the job's standard output, unless it is there already: to a regular file of the owner's that
    /// exists. What was done, in words.
    ///
    /// # Errors
    /// Why it was not, in words.
    pub fn append(&self, request: &OutputRequest, line: &str, deadline: Deadline) -> Result<String, String> {
        append::decode(&self.ask(request, deadline, Task::Append(line.to_owned()), append::CAP)?)
    }

    fn ask(
        &self,
        request: &OutputRequest,
        deadline: Deadline,
        task: Task,
        cap: usize,
    ) -> Result<Vec<u8>, String> {
        if !self.limits.enabled {
            return Err("the job's output is not read: [output] enabled is false in triage.toml".to_owned());
        }
        let owner = nix::unistd::geteuid().is_root().then_some(request.uid);
        let left = self.limits.deadline.min(deadline.left(self.clock));
        if left < LEAST {
            return Err("the job's output: no time was left to read it".to_owned());
        }
        let pid_file = self.run_folder.as_ref().map(|run| run.join(format!("output-{}.pid", request.uid)));
        if let Some(path) = &pid_file {
            self.hangs(path)?;
        }
        let mut command = Command::new(&self.program, left).args(self.args.clone());
        command = command.env(ORDER, self.order(request, owner, left, task)?);
        command.output_cap = cap;
        command.pid_file = pid_file;
        match self.runner.run(&command) {
            Ok(finished) => answer(finished),
            Err(error) => Err(unread(&error)),
        }
    }

    fn order(
        &self,
        request: &OutputRequest,
        owner: Option<u32>,
        left: Duration,
        task: Task,
    ) -> Result<String, String> {
        let order = Order {
            request: request.clone(),
            owner,
            head: self.limits.head,
            tail: self.limits.tail,
            millis: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            catalog: self.catalog.clone(),
            task,
        };
        serde_json::to_string(&order)
            .ok()
            .filter(|text| text.len() <= LONGEST_ORDER)
            .ok_or_else(|| "the job's output: it has too many nodes, or a path that is no path".to_owned())
    }

    /// Whether a child for the same user was left behind and still is there. One that merely runs is younger than its
    /// deadline.
    fn hangs(&self, path: &Path) -> Result<(), String> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(()) };
        let age =
            fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_none_or(|age| age < 2 * self.limits.deadline) {
            return Ok(());
        }
        let noted = text
            .trim()
            .split_once(' ')
            .and_then(|(pid, start)| Some((pid.parse::<u32>().ok()?, start.parse::<u64>().ok()?)));
        let Some((pid, start)) = noted else { return Ok(()) };
        let still = self.root.process(pid).filter(|stat| stat.start_ticks == start && !stat.has_ended());
        if still.is_none() {
            let _ = fs::remove_file(path);
            return Ok(());
        }
        let place = self.root.wchan(pid).map(|at| format!(", in {at}")).unwrap_or_default();
        Err(format!(
            "the job's output: an earlier reader of this user's files (pid {pid}{place}) still hangs"
        ))
    }
}

/// Less is not worth starting a program for.
const LEAST: Duration = Duration::from_millis(20);

fn answer(finished: Finished) -> Result<Vec<u8>, String> {
    match finished.status {
        ExitStatus::Exit(0) if finished.truncated => {
            Err("the job's output: its reader's answer was too long".to_owned())
        }
        ExitStatus::Exit(0) => Ok(finished.stdout),
        ExitStatus::Exit(code) => {
            let words = String::from_utf8_lossy(&finished.stderr);
            let words: String = words.lines().next().unwrap_or_default().chars().take(200).collect();
            Err(format!("the job's output: its reader ended with exit code {code}: {}", words.escape_debug()))
        }
        ExitStatus::Signal(signal) => {
            Err(format!("the job's output: its reader was ended by signal {signal}"))
        }
    }
}

fn unread(error: &RunError) -> String {
    match error {
        RunError::Deadline { deadline, stuck, .. } => {
            let state = stuck.state.map(|state| format!(", state {state}")).unwrap_or_default();
            let place = stuck.wchan.as_ref().map(|at| format!(", in {at}")).unwrap_or_default();
            let left = if stuck.left_behind { ", left behind" } else { "" };
            format!(
                "the job's output: it could not be read within {} ms (pid {}{state}{place}{left})",
                deadline.as_millis(),
                stuck.pid
            )
        }
        error => format!("the job's output: {error}"),
    }
}

#[cfg(test)]
mod tests;
