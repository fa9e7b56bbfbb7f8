//! The checks.
use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use triage_host::config::Config;
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;
use triage_host::slurm::Scontrol;

use super::finding::{Finding, Findings};
use super::{catalog, checks, clock, config, kernel_log, ledger, nvml, paths, plugin, policy, slurm};
use crate::args::Common;
use crate::site::{self, Site};

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum Part {
    /// The configuration file.
    Config,
    /// The policy file, and what it lets be done.
    Policy,
    /// The site's catalogue files.
    Catalog,
    /// Programs and folders: there, and safe from other users.
    Paths,
    /// The node's ledger.
    Ledger,
    /// The hooks in slurm.conf.
    Slurm,
    /// The SPANK plugin.
    Plugin,
    /// The kernel log.
    KernelLog,
    /// GPUs through NVML.
    Nvml,
    /// The clock.
    Clock,
    /// The state checks.
    Checks,
}

/// What a check has to work with.
#[derive(Debug)]
pub(super) struct Checkup<'a> {
    /// Where things are.
    pub(super) site: Site,
    /// As it was called.
    pub(super) common: &'a Common,
    /// Where the filesystem begins.
    pub(super) root: Root,
    /// The controller must not be asked.
    pub(super) offline: bool,
}

impl Checkup<'_> {
    /// scontrol, as the configuration names it.
    pub(super) fn scontrol(&self) -> Scontrol<'static> {
        let slurm = &self.site.config.slurm;
        let conf = slurm.conf.as_ref().map(|path| path.display().to_string());
        Scontrol {
            runner: &SystemRunner,
            program: slurm.scontrol.clone(),
            conf: conf.or_else(|| std::env::var("SLURM_CONF").ok()),
            deadline: slurm.command_deadline,
        }
    }
}

impl Part {
    /// Every check, in the order in which they are told.
    pub(crate) const ALL: [Self; 11] = [
        Self::Config,
        Self::Policy,
        Self::Catalog,
        Self::Paths,
        Self::Ledger,
        Self::Slurm,
        Self::Plugin,
        Self::KernelLog,
        Self::Nvml,
        Self::Clock,
        Self::Checks,
    ];

    /// Makes the check, in this very process.
    pub(super) fn check(self, common: &Common, offline: bool) -> Vec<Finding> {
        let mut findings = Findings::of(self);
        match site(common) {
            Ok(site) => {
                let checkup = Checkup { site, common, root: Root::default(), offline };
                self.run(&checkup, &mut findings);
            }
            Err(error) => findings.fail(format!("{error:#}"), ""),
        }
        findings.into_vec()
    }

    fn run(self, checkup: &Checkup<'_>, findings: &mut Findings) {
        match self {
            Self::Config => config::check(checkup, findings),
            Self::Policy => policy::check(checkup, findings),
            Self::Catalog => catalog::check(checkup, findings),
            Self::Paths => paths::check(checkup, findings),
            Self::Ledger => ledger::check(checkup, findings),
            Self::Slurm => slurm::check(checkup, findings),
            Self::Plugin => plugin::check(checkup, findings),
            Self::KernelLog => kernel_log::check(checkup, findings),
            Self::Nvml => nvml::check(checkup, findings),
            Self::Clock => clock::check(checkup, findings),
            Self::Checks => checks::check(checkup, findings),
        }
    }

    /// How long the check may take.
    pub(super) fn deadline(self, config: &Config) -> Duration {
        match self {
            // Two calls of scontrol, and what is around them.
            Self::Slurm | Self::Plugin => config.slurm.command_deadline * 2 + GRACE,
            Self::Nvml => config.deadlines.probe + GRACE,
            Self::Ledger | Self::Checks => site::LEDGER_WAIT + GRACE,
            _ => GRACE,
        }
    }
}

/// Time for what is not waited for itself: reading files, starting processes on a busy machine.
const GRACE: Duration = Duration::from_secs(5);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Config => "config",
            Self::Policy => "policy",
            Self::Catalog => "catalog",
            Self::Paths => "paths",
            Self::Ledger => "ledger",
            Self::Slurm => "slurm",
            Self::Plugin => "plugin",
            Self::KernelLog => "kernel_log",
            Self::Nvml => "nvml",
            Self::Clock => "clock",
            Self::Checks => "checks",
        })
    }
}

/// Where to look. A configuration that cannot be used is the finding of one check; the others look where the hooks do
/// then.
pub(super) fn site(common: &Common) -> anyhow::Result<Site> {
    let config = Config::load(&site::config_path(common)).map(|loaded| loaded.config).unwrap_or_default();
    Site::with(common, &config)
}
