//! `slurm-triage policy`: what the policy says, whether it can be used, and what it would make of a fault or of the past.
mod check;
mod codes;
mod odd;
mod replay;
mod scene;
mod show;
mod tried;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use triage_core::policy::Policy;
use triage_core::{CauseClass, Confidence, Resource};

use crate::args::{Common, since};
use crate::exit::CmdResult;
use crate::render::{Page, When, parse_when};
use crate::site::Site;

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Check a policy: can it be used, and is there anything in it that never has an effect.
    #[command(
        after_help = "Exit status 1: it cannot be used, or something in it has no effect.\n\nExamples:\n  \
                            slurm-triage policy check\n  slurm-triage policy check /root/policy.new.toml"
    )]
    Check(CheckArgs),
    /// Tell which rule fires for a code, or for an incident bundle, and which gates would hold.
    #[command(
        after_help = "Nothing is asked of Slurm and nothing is done.\n\nExamples:\n  slurm-triage policy test \
                            xid.79\n  slurm-triage policy test nccl.watchdog_timeout --confidence probable\n  \
                            slurm-triage policy test incidents/0042 --policy new.toml"
    )]
    Test(TestArgs),
    /// Show the policy that holds.
    Show,
    /// Run a policy over the ledger's past and show what it would have decided otherwise.
    #[command(
        after_help = "Without --policy the one that holds is run. What depends on the cluster, a person, a check or the \
                            job's record of that time (brakes, states of nodes, holds, stand_down ...) is taken as it was \
                            then; docs/policy.md.\n\nExamples:\n  slurm-triage policy replay --since 30d --policy \
                            new.toml\n  slurm-triage policy replay --json | jq .rules"
    )]
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The policy file [default: the one that holds].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct TestArgs {
    /// Codes of the catalogue (xid.79), of a check (check.gpu_count, site.nhc) or a rate (rate.link_flaps), or one incident
    /// bundle (a folder).
    #[arg(value_name = "CODE|BUNDLE", required = true)]
    what: Vec<String>,

    /// This policy file instead of the one that holds.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// How sure [default: as sure as one such event makes].
    #[arg(long, value_name = "WORD")]
    confidence: Option<Confidence>,

    /// Kind of cause [default: the catalogue's].
    #[arg(long, value_name = "WORD")]
    class: Option<CauseClass>,

    /// What is bad [default: gpu:0000:61:00.0 for a GPU's code, else the host].
    #[arg(long, value_name = "RESOURCE", value_parser = parse_resource)]
    resource: Option<Resource>,

    /// Only what a user can write says so.
    #[arg(long)]
    user_evidence: bool,

    /// The partition of node and job.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    partition: String,

    /// The job's account.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// The job's quality of service.
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,

    /// The job's owner.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    user: String,

    /// How often the job was restarted already.
    #[arg(long, value_name = "N", default_value_t = 0)]
    restarts: u32,

    /// The job's exit code.
    #[arg(long, value_name = "CODE", default_value_t = 1)]
    exit: i32,
}

#[derive(Debug, Args)]
struct ReplayArgs {
    #[arg(long, help = since("Only since then"), value_name = "WHEN", value_parser = parse_when, default_value = "30d")]
    since: When,

    /// The policy to run [default: the one that holds].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

pub(crate) fn run(common: &Common, args: &PolicyArgs) -> CmdResult {
    match &args.what {
        What::Check(args) => check::run(common, args.file.as_deref()),
        What::Test(args) => tried::run(common, args),
        What::Show => show::run(common),
        What::Replay(args) => replay::run(common, args),
    }
}

/// A policy to be tried, and where it is from.
struct Tried {
    path: PathBuf,
    /// There is such a file; without it this is the shipped policy.
    present: bool,
    policy: Policy,
}

impl Tried {
    /// The policy of `file`, else the one that holds. One that cannot be used is an error here.
    fn read(site: &Site, file: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(file) = file {
            let policy = triage_hooks::policy_file::read_any(file)?;
            return Ok(Self { path: file.to_owned(), present: true, policy });
        }
        let path = site.config.paths.policy.clone();
        let policy = triage_hooks::policy_file::load(&path).map_err(|error| anyhow!(error.in_force()))?;
        Ok(Self { present: path.exists(), path, policy })
    }

    /// Says on a page that the shipped policy is tried, where it is.
    fn tell(&self, page: &mut Page) {
        if !self.present {
            let path = self.path.display();
            page.line(0, format_args!("{path}: not there; the shipped rules are tried, in monitor mode"));
        }
    }
}

fn parse_resource(text: &str) -> Result<Resource, String> {
    if text.is_empty() {
        Err("no resource: use gpu:0000:61:00.0, nic:mlx5_0 or host".to_owned())
    } else {
        Ok(Resource::from(text))
    }
}
