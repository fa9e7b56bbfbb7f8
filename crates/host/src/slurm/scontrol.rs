//! `scontrol`, by absolute path, with an argument list, on a deadline. Nothing is given to it that was not checked.
use std::path::PathBuf;
use std::time::Duration;

use triage_core::{ExitStatus, JobRecord, NodeName, NodeRecord};

use super::{Refusal, hostlist, record};
use crate::runner::{Command, Finished, RunError, Runner};

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
    /// Its answer holds no such record.
    #[error("scontrol's answer holds no record of {0}")]
    Garbled(String),
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
            Self::Garbled(_) => true,
        }
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
        let answer = self.call(&["-o", "show", "job", &job.to_string()])?;
        let found = answer.lines().filter_map(record::job).find(|record| record.job == job);
        found.ok_or_else(|| ScontrolError::Garbled(format!("job {job}")))
    }

    /// The nodes, with one call.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn nodes(&self, nodes: &[NodeName]) -> Result<Vec<NodeRecord>, ScontrolError> {
        let answer = self.call(&["-o", "show", "node", &hostlist::join(nodes)])?;
        Ok(answer.lines().filter_map(record::node).collect())
    }

    /// One node.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn node(&self, node: &NodeName) -> Result<NodeRecord, ScontrolError> {
        let found = self.nodes(std::slice::from_ref(node))?.into_iter().find(|record| record.node == *node);
        found.ok_or_else(|| ScontrolError::Garbled(format!("node {node}")))
    }

    /// Drains a node. The caller has read its reason right before.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn drain(&self, node: &NodeName, reason: &str) -> Result<(), ScontrolError> {
        self.update(&[format!("NodeName={node}"), "State=DRAIN".to_owned(), format!("Reason={reason}")])
    }

    /// Lifts a drain.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn resume(&self, node: &NodeName) -> Result<(), ScontrolError> {
        self.update(&[format!("NodeName={node}"), "State=RESUME".to_owned()])
    }

    /// Sets a node's `Extra`.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn set_extra(&self, node: &NodeName, extra: &str) -> Result<(), ScontrolError> {
        self.update(&[format!("NodeName={node}"), format!("Extra={extra}")])
    }

    /// Requeues a job, held or not. `name` is that of `RunId::scontrol_name`: a plain array id would mean all of it.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn requeue(&self, name: &str, hold: bool) -> Result<(), ScontrolError> {
        self.call(&[if hold { "requeuehold" } else { "requeue" }, name]).map(drop)
    }

    /// Replaces the list of nodes a job must not run on.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn exclude(&self, name: &str, nodes: &[NodeName]) -> Result<(), ScontrolError> {
        self.update(&[format!("JobId={name}"), format!("ExcNodeList={}", hostlist::join(nodes))])
    }

    /// Lets a job begin now.
    ///
    /// # Errors
    /// See [`ScontrolError`].
    pub fn start_now(&self, name: &str) -> Result<(), ScontrolError> {
        self.update(&[format!("JobId={name}"), "StartTime=now".to_owned()])
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
        let mut command = Command::new(&self.program, self.deadline).args(args.iter().copied());
        if let Some(conf) = &self.conf {
            command = command.env("SLURM_CONF", conf);
        }
        let Finished { status, stdout, stderr, .. } = self.runner.run(&command)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if matches!(status, ExitStatus::Exit(0)) {
            return Ok(text(&stdout));
        }
        let words: String = text(&stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = words.floor_char_boundary(MAX_TEXT);
        Err(ScontrolError::Refused { refusal: Refusal::of(&words), text: words[..cut].to_owned() })
    }
}
