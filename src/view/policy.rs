//! What policy lets be carried out, in one word for each action.
use std::path::PathBuf;

use serde::Serialize;
use triage_core::policy::{Brakes, Policy};
use triage_core::{Intent, Mode};
use triage_hooks::policy_file;

use crate::site::Site;

/// What policy lets be carried out.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyView {
    /// The file.
    pub(crate) path: PathBuf,
    /// There is one; without it built-in defaults hold.
    pub(crate) present: bool,
    /// Why it cannot be used; monitor mode holds then.
    pub(crate) error: Option<String>,
    /// The mode of each action.
    pub(crate) mode: ModesView,
    /// A health check lifts our own drain once the repair is proven.
    #[serde(skip)]
    pub(crate) brings_back: bool,
    /// The brakes: when a drain that one holds is looked at again.
    #[serde(skip)]
    pub(crate) brake: Brakes,
}

/// `monitor` or `act`, for each action. A rule of its own mode can only be stricter.
#[derive(Debug, Serialize)]
pub(crate) struct ModesView {
    /// Draining a node, and lifting our own drain.
    pub(crate) drain: Mode,
    /// Requeueing a job.
    pub(crate) requeue: Mode,
    /// Refusing a job in the prolog.
    pub(crate) refuse_job: Mode,
    /// Setting a node down, where a rule asks for it.
    pub(crate) down: Mode,
}

impl PolicyView {
    /// Reads the site's policy.
    pub(crate) fn load(site: &Site) -> Self {
        let path = site.config.paths.policy.clone();
        let (policy, error) = match policy_file::load(&path) {
            Ok(policy) => (policy, None),
            Err(error) => (Policy::default(), Some(error.in_force())),
        };
        let mode = ModesView {
            drain: policy.mode.of(Intent::Drain),
            requeue: policy.mode.of(Intent::Requeue),
            refuse_job: policy.mode.of(Intent::RefuseJob),
            down: policy.mode.of(Intent::Down),
        };
        let brings_back = policy.repair.resume.mode(mode.drain) == Some(Mode::Act);
        Self {
            present: error.is_some() || path.exists(),
            path,
            error,
            mode,
            brings_back,
            brake: policy.brake,
        }
    }
}

impl ModesView {
    /// Each key of `[mode]` with the mode that holds.
    pub(crate) const fn each(&self) -> [(&'static str, Mode); 4] {
        let Self { drain, requeue, refuse_job, down } = *self;
        [("drain", drain), ("requeue", requeue), ("refuse_job", refuse_job), ("down", down)]
    }
}
