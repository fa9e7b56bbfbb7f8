//! The command line.
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::render::{When, parse_when};

/// Tells what broke on this Slurm node, whose fault it was, and what was done about it.
#[derive(Debug, Parser)]
#[command(
    name = "slurm-triage",
    version = env!("TRIAGE_VERSION"),
    after_help = "Exit codes: 0 done; 1 done, and something wants attention; 2 usage; 3 something needed could not be \
                  read; 4 refused on purpose.\n\nExamples:\n  slurm-triage status\n  slurm-triage why 4711\n  \
                  slurm-triage events --since 2h --json\n  slurm-triage doctor"
)]
pub(crate) struct Cli {
    /// Configuration file.
    #[arg(long, global = true, value_name = "PATH", default_value = "/etc/slurm-triage/triage.toml")]
    pub(crate) config: PathBuf,

    /// The node whose ledger is read, where one machine holds several; default: this host.
    #[arg(long, global = true, value_name = "NAME", env = "SLURMD_NODENAME")]
    pub(crate) node: Option<String>,

    /// Read this ledger file instead of the configured one.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,

    /// JSON for programs instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Is this node well, are our eyes open, what is pending.
    Status,
    /// What was seen, oldest first.
    Events(ListArgs),
    /// What is claimed to be broken.
    Cases(CasesArgs),
    /// Which jobs ran here and how they ended.
    Jobs(ListArgs),
    /// Tell the whole story of a job, a case or a node.
    #[command(after_help = "Examples:\n  slurm-triage why 4711         a job\n  slurm-triage why 4700_3       an array \
                            task\n  slurm-triage why 3f2a9c01     a case\n  slurm-triage why n12          a node")]
    Why(WhyArgs),
    /// Check configuration, permissions, Slurm's hooks and every source, and say what to mend.
    Doctor(DoctorArgs),
    /// Put a synthetic fault into this node's ledger, for a drill. Marked as such everywhere.
    #[command(after_help = "Examples:\n  slurm-triage inject --code xid.79 --gpu 0000:61:00.0\n  slurm-triage inject \
                            --line 'NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.'")]
    Inject(InjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only since then: 30m, 2h, 7d, or 2026-03-01T10:00:00Z.
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    pub(crate) since: Option<When>,

    /// Only of this job (4711, 4700_3).
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,

    /// Only of this code; `*` stands for anything.
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,

    /// At most so many, the latest.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct CasesArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Also cases that are resolved or acquitted.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A job (4711, 4700_3), a case (eight hex digits) or a node.
    #[arg(value_name = "JOB|CASE|NODE")]
    pub(crate) what: String,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Do not ask the controller anything.
    #[arg(long)]
    pub(crate) offline: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InjectArgs {
    /// A catalogued Xid to inject, such as xid.79.
    #[arg(long, value_name = "CODE", conflicts_with = "line", required_unless_present = "line")]
    pub(crate) code: Option<String>,

    /// A kernel log line to inject, without its time stamp.
    #[arg(long, value_name = "TEXT")]
    pub(crate) line: Option<String>,

    /// The GPU's PCI address, with --code.
    #[arg(long, value_name = "PCI", default_value = "0000:00:00.0")]
    pub(crate) gpu: String,

    /// Let the drill act as a real fault would, where policy acts: the node is drained.
    #[arg(long)]
    pub(crate) act: bool,
}
