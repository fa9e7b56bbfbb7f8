//! `scontrol`, by absolute path, with an argument list, on a deadline. Nothing is given to it that was not checked.
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::{ExitStatus, JobRecord, NodeName, NodeRecord, RunId};

use super::record::{self, RecordError};
use super::{Refusal, hostlist};
use crate::runner::{Command, Finished, RunError, Runner};

/// Longest answer read, bytes. A record of a job is about 1 KiB, one of a node as well; asking for an array task by its
/// bare id may bring the whole array, which Slurm bounds to 4,000,001 tasks and sites to a few thousand.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Most steps named in one call.
const MOST_STEPS: usize = 64;

/// Longest error text kept, bytes.
const MAX_TEXT: usize = 300;

/// scontrol did not do what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScontrolError {
    /// It ran and refused.
    #[error("{refusal}{}", detail(text))]
    Refused {
        /// Why, as far as it can be told.
        refusal: Refusal,
        /// Its own words, cut.
        text: String,
    },
    /// It could not be run, or did not answer in time.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its answer does not tell what was asked.
    #[error("scontrol: {0}")]
    Record(#[from] RecordError),
    /// A name that scontrol could take for something else than one node or one job.
    #[error("\"{0}\" names no single node or job: nothing was asked")]
    BadName(String),
    /// Its answer was longer than is read.
    #[error("scontrol's answer is longer than {MAX_ANSWER} bytes")]
    TooLong,
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" (scontrol: {text})") }
}

impl ScontrolError {
    /// Whether a later try may fare better.
    pub fn may_pass_later(&self) -> bool {
        match self {
            Self::Refused { refusal, .. } => refusal.may_pass_later(),
            Self::Run(error) => !matches!(error, RunError::Refused { .. }),
            Self::Record(error) => matches!(error, RecordError::Missing(_)),
            Self::TooLong | Self::BadName(_) => false,
        }
    }
}

impl ScontrolError {
    /// Whether the controller was not to be reached. It was where its answer only does not tell: a job's name can tear the job's
    /// record, and keeps nobody from asking about anything else.
    pub fn is_away(&self) -> bool {
        self.may_pass_later() && !matches!(self, Self::Record(_))
    }
}

/// Talks to the controller.
#[derive(Clone)]
pub struct Scontrol<'a> {
    /// Runs it.
    pub runner: &'a dyn Runner,
    /// The program, absolute.
    pub program: PathBuf,
    /// `SLURM_CONF` for it.
    pub conf: Option<String>,
    /// How long one call may take.
    pub deadline: Duration,
}

impl Scontrol<'_> {
    /// The job with this id. An array task's id may also be the array's, so the record is picked by its own id.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn job(&self, job: u32) -> Result<JobRecord, ScontrolError> {
        self.job_by_name(&job.to_string(), job)
    }

    /// The job of a run: asked for by the array task's name where that is known, which brings that one alone.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn job_of(&self, run: &RunId) -> Result<JobRecord, ScontrolError> {
        let name =
            run.array.map_or_else(|| run.job.to_string(), |array| format!("{}_{}", array.job, array.task));
        self.job_by_name(&name, run.job)
    }

    fn job_by_name(&self, name: &str, job: u32) -> Result<JobRecord, ScontrolError> {
        let answer = self.call(&["-o", "show", "job", name])?;
        Ok(record::job(&answer, job)?)
    }

    /// The components of a het job, each with its offset: `scontrol show job` of the leader shows all of them.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn components(&self, leader: u32) -> Result<Vec<(u32, JobRecord)>, ScontrolError> {
        let answer = self.call(&["-o", "show", "job", &leader.to_string()])?;
        Ok(record::components(&answer, leader)?)
    }

    /// The nodes, with one call; none without a call.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn nodes(&self, nodes: &[NodeName]) -> Result<Vec<NodeRecord>, ScontrolError> {
        // Without a name, scontrol would show every node of the cluster.
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.call(&["-o", "show", "node", &names(nodes)?])?;
        Ok(record::nodes(&answer))
    }

    /// Every node of the cluster, with one call.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn every_node(&self) -> Result<Vec<NodeRecord>, ScontrolError> {
        Ok(record::nodes(&self.call(&["-o", "show", "node"])?))
    }

    /// One node.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn node(&self, node: &NodeName) -> Result<NodeRecord, ScontrolError> {
        let found = self.nodes(std::slice::from_ref(node))?.into_iter().find(|record| record.node == *node);
        Ok(found.ok_or_else(|| RecordError::Missing(format!("node {node}")))?)
    }

    /// Drains a node. The caller has read its reason right before.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn drain(&self, node: &NodeName, reason: &str) -> Result<(), ScontrolError> {
        self.update(&[node_arg(node)?, "State=DRAIN".to_owned(), format!("Reason={reason}")])
    }

    /// Lifts a drain and nothing else: `State=RESUME` would also bring back a node that is down or fenced for another
    /// reason (tried on 22.05).
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn undrain(&self, node: &NodeName) -> Result<(), ScontrolError> {
        self.update(&[node_arg(node)?, "State=UNDRAIN".to_owned()])
    }

    /// Brings a node up that was set down, and lifts its drain. The caller has read its reason right before.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn resume(&self, node: &NodeName) -> Result<(), ScontrolError> {
        self.update(&[node_arg(node)?, "State=RESUME".to_owned()])
    }

    /// Sets a node down: Slurm ends every job on it. The caller has read its reason right before.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn down(&self, node: &NodeName, reason: &str) -> Result<(), ScontrolError> {
        self.update(&[node_arg(node)?, "State=DOWN".to_owned(), format!("Reason={reason}")])
    }

    /// Asks for a reboot by `RebootProgram` once the node is idle.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn reboot(&self, node: &NodeName, reason: &str) -> Result<(), ScontrolError> {
        let reason = format!("reason={reason}");
        self.call(&["reboot", &reason, &names(std::slice::from_ref(node))?]).map(drop)
    }

    /// Sets a node's `Extra`.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn set_extra(&self, node: &NodeName, extra: &str) -> Result<(), ScontrolError> {
        self.update(&[node_arg(node)?, format!("Extra={extra}")])
    }

    /// Requeues a job, held or not. `name` is that of `RunId::scontrol_name`: a plain array id would mean all of it.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn requeue(&self, name: &str, hold: bool) -> Result<(), ScontrolError> {
        self.call(&[if hold { "requeuehold" } else { "requeue" }, job_arg(name)?]).map(drop)
    }

    /// The steps of a job that srun started, by their whole names: `42_1.0`.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn steps(&self, name: &str) -> Result<Vec<String>, ScontrolError> {
        let answer = self.call(&["-o", "show", "step", job_arg(name)?])?;
        let of = |line: &str| {
            let step = line.strip_prefix("StepId=")?.split(' ').next()?;
            let number = step.strip_prefix(name)?.strip_prefix('.')?;
            is_number(number).then(|| step.to_owned())
        };
        Ok(answer.lines().filter_map(of).collect())
    }

    /// Sends SIGKILL to steps of [`Scontrol::steps`]; none without a call.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn kill_steps(&self, steps: &[String]) -> Result<(), ScontrolError> {
        for some in steps.chunks(MOST_STEPS) {
            let args: Vec<&str> =
                std::iter::once("--signal=KILL").chain(some.iter().map(String::as_str)).collect();
            self.call_to(&self.scancel(), &args)?;
        }
        Ok(())
    }

    /// Sends SIGKILL to a job's batch script and what it started itself. Without `--batch` it would cancel the job.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn kill_batch(&self, name: &str) -> Result<(), ScontrolError> {
        self.call_to(&self.scancel(), &["--batch", "--signal=KILL", job_arg(name)?]).map(drop)
    }

    /// scancel lies beside scontrol.
    fn scancel(&self) -> PathBuf {
        self.program.with_file_name("scancel")
    }

    /// Replaces the list of nodes a job must not run on.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn exclude(&self, name: &str, nodes: &[NodeName]) -> Result<(), ScontrolError> {
        self.update(&[format!("JobId={}", part_arg(name)?), format!("ExcNodeList={}", names(nodes)?)])
    }

    /// Replaces the list of nodes a job must not run on, and says why where its operators look.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn exclude_and_say(
        &self,
        name: &str,
        nodes: &[NodeName],
        comment: &str,
    ) -> Result<(), ScontrolError> {
        self.update(&[
            format!("JobId={}", part_arg(name)?),
            format!("ExcNodeList={}", names(nodes)?),
            format!("AdminComment={comment}"),
        ])
    }

    /// Sets a job's `AdminComment`: the owner's `Comment` is the owner's. Slurm takes it while the job runs or waits.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn admin_comment(&self, name: &str, comment: &str) -> Result<(), ScontrolError> {
        self.update(&[format!("JobId={}", job_arg(name)?), format!("AdminComment={comment}")])
    }

    /// Lets a job begin now.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn start_now(&self, name: &str) -> Result<(), ScontrolError> {
        self.start_in(name, 0)
    }

    /// Lets a job begin so many seconds from now, by the controller's clock.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn start_in(&self, name: &str, seconds: u64) -> Result<(), ScontrolError> {
        let when = if seconds == 0 { "now".to_owned() } else { format!("now+{seconds}seconds") };
        self.update(&[format!("JobId={}", job_arg(name)?), format!("StartTime={when}")])
    }

    /// The controller's configuration, `scontrol show config`.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn config(&self) -> Result<String, ScontrolError> {
        self.call(&["show", "config"])
    }

    /// `scontrol -V`, such as `slurm-wlm 22.05.8`. Asks no controller.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn version(&self) -> Result<String, ScontrolError> {
        self.call(&["-V"]).map(|text| text.trim().to_owned())
    }

    fn update(&self, what: &[String]) -> Result<(), ScontrolError> {
        let args: Vec<&str> = std::iter::once("update").chain(what.iter().map(String::as_str)).collect();
        self.call(&args).map(drop)
    }

    fn call(&self, args: &[&str]) -> Result<String, ScontrolError> {
        self.call_to(&self.program, args)
    }

    fn call_to(&self, program: &Path, args: &[&str]) -> Result<String, ScontrolError> {
        let mut command = Command::new(program, self.deadline).args(args.iter().copied());
        command.output_cap = MAX_ANSWER;
        // Times as seconds since 1970: without it they are in the local time of wherever this runs.
        command = command.env("SLURM_TIME_FORMAT", "%s");
        if let Some(conf) = &self.conf {
            command = command.env("SLURM_CONF", conf);
        }
        let Finished { status, stdout, stderr, truncated } = self.runner.run(&command)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !matches!(status, ExitStatus::Exit(0)) {
            // Some complaints are on standard output: "Node x not found".
            let complaint = if stderr.is_empty() { text(&stdout) } else { text(&stderr) };
            return Err(refused(&complaint));
        }
        if truncated { Err(ScontrolError::TooLong) } else { Ok(text(&stdout)) }
    }
}

fn refused(complaint: &str) -> ScontrolError {
    let words: String = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = words.floor_char_boundary(MAX_TEXT);
    let text = words.get(..cut).unwrap_or_default().to_owned();
    ScontrolError::Refused { refusal: Refusal::of(&words), text }
}

/// `NodeName=<node>`. A name that is none could mean many nodes: `n[1-9]`, `ALL`.
fn node_arg(node: &NodeName) -> Result<String, ScontrolError> {
    Ok(format!("NodeName={}", names(std::slice::from_ref(node))?))
}

fn names(nodes: &[NodeName]) -> Result<String, ScontrolError> {
    let unsafe_name = nodes.iter().find(|node| !node.is_safe() || node.as_str().eq_ignore_ascii_case("all"));
    match unsafe_name {
        Some(node) => Err(ScontrolError::BadName(node.as_str().to_owned())),
        None => Ok(hostlist::fold(nodes)),
    }
}

/// A job's name for scontrol: digits, and `_` between an array's and a task's.
fn job_arg(name: &str) -> Result<&str, ScontrolError> {
    let (job, task) = name.split_once('_').map_or((name, None), |(job, task)| (job, Some(task)));
    if is_number(job) && task.is_none_or(is_number) {
        Ok(name)
    } else {
        Err(ScontrolError::BadName(name.to_owned()))
    }
}

/// The same, or one component of a het job: the leader, `+`, and its offset. The leader alone means all of them (tried on
/// 22.05).
fn part_arg(name: &str) -> Result<&str, ScontrolError> {
    match name.split_once('+') {
        Some((leader, offset)) if is_number(leader) && is_number(offset) => Ok(name),
        _ => job_arg(name),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Debug for Scontrol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scontrol")
            .field("program", &self.program)
            .field("conf", &self.conf)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
