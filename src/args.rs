//! The command line.
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, value_parser};
use triage_core::{PciAddress, Stamp};
use triage_ledger::JobFilter;

use crate::cmd::bundle::BundleArgs;
use crate::cmd::diagnose::DiagnoseArgs;
use crate::cmd::doctor::Part;
use crate::cmd::parts::Kind;
use crate::cmd::people::parse_reason;
use crate::cmd::policy::PolicyArgs;
use crate::render::{MOMENTS, SPANS, When, parse_moment, parse_span, parse_when};

/// Tells what broke on this Slurm node, whose fault it was, and what was done about it.
#[derive(Debug, Parser)]
#[command(
    name = "slurm-triage",
    version = env!("TRIAGE_VERSION"),
    after_help = "Exit status: 0 done; 1 done, and something wants attention; 2 usage; 3 something needed could not \
                  be read or written; 4 refused on purpose.\n\nExamples:\n  slurm-triage status\n  slurm-triage why \
                  4711\n  slurm-triage events --since 2h --json\n  slurm-triage doctor"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every subcommand takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Configuration file [default: /etc/slurm-triage/triage.toml].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Where to look")]
    pub(crate) config: Option<PathBuf>,

    /// The node, where one machine holds the ledgers of several [default: SLURMD_NODENAME, else this host].
    #[arg(long, global = true, value_name = "NAME", help_heading = "Where to look")]
    pub(crate) node: Option<String>,

    /// Read this ledger instead of the configured one.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Where to look")]
    pub(crate) ledger: Option<PathBuf>,

    #[arg(
        long,
        global = true,
        value_name = "TIME",
        help = format!("The moment from which `--since` and \"ago\" count, for a ledger copied from elsewhere: {MOMENTS} [default: now]"),
        value_parser = parse_moment,
        help_heading = "Where to look"
    )]
    pub(crate) now: Option<Stamp>,

    /// JSON for programs instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Is this node well, are our eyes open, what is pending.
    #[command(
        after_help = "Exit status 1: a case is open, a source is blind, there was no health check within the last \
                            hour, nothing can be written down, or the policy cannot be used.\n\nExamples:\n  slurm-triage status\n  slurm-triage status \
                            --json | jq .well"
    )]
    Status,
    /// What was seen, oldest first.
    #[command(
        after_help = "Examples:\n  slurm-triage events --since 2h\n  slurm-triage events --code xid --job \
                            4711\n  slurm-triage events --all --json | jq '.events[].code'"
    )]
    Events(ListArgs),
    /// What is claimed to be broken.
    #[command(
        after_help = "Examples:\n  slurm-triage cases             the open ones\n  slurm-triage cases --all \
                            --since 7d\n  slurm-triage cases --code xid.79 --json"
    )]
    Cases(ListArgs),
    /// Which state checks there are, and what each found last.
    #[command(
        after_help = "Exit status 1: a check finds something bad, or is blind.\n\nExamples:\n  slurm-triage \
                            checks\n  slurm-triage checks --json | jq '.checks[] | select(.state == \"blind\")'"
    )]
    Checks,
    /// Which jobs ran here and how they ended.
    #[command(
        after_help = "Examples:\n  slurm-triage jobs --since 1d\n  slurm-triage jobs --job 4700      all tasks \
                            of the array\n  slurm-triage jobs --code xid.79   jobs that a case of this code met"
    )]
    Jobs(ListArgs),
    /// Tell the whole story of a job, a case or a node.
    #[command(
        after_help = "A name that fits several is taken as node, then job, then case, and the others are \
                            named; job:4711, case:4711 and node:4711 say which is meant.\n\nExamples:\n  slurm-triage \
                            why 4711         a job, with all its restarts\n  slurm-triage why 4700_3       an array \
                            task\n  slurm-triage why 3f2a9c01     a case, or the beginning of its id\n  slurm-triage \
                            why n12          a node"
    )]
    Why(WhyArgs),
    /// Close a case: it was repaired. A drain of ours is not lifted by this.
    #[command(
        after_help = "Whoever may write the ledger may do this; docs/operators.md. Exit status: 0 it is closed so, now or \
                            already; 1 no such case; 4 it was closed in another way.\n\nExamples:\n  slurm-triage ack \
                            3f2a9c01 --reason 'riser replaced, ticket 812'"
    )]
    Ack(CaseWordArgs),
    /// Close a case: it was no fault. Only new evidence opens another one.
    #[command(
        after_help = "Whoever may write the ledger may do this; docs/operators.md. Exit status: 0 it is closed so, now or \
                            already; 1 no such case; 4 it was closed in another way.\n\nExamples:\n  slurm-triage acquit \
                            3f2a9c01 --reason 'we pulled the cable ourselves'"
    )]
    Acquit(CaseWordArgs),
    /// Hands off: have nothing carried out for this node, a job or a case, until it is released.
    #[command(
        after_help = "What would be done is still decided and written down, held by operator_hold. Exit status: 0 it is \
                            on hold, now or already; 1 nothing is known by that name.\n\nExamples:\n  slurm-triage hold n12 \
                            --reason 'burn-in' --for 4h\n  slurm-triage hold 4711 --reason 'its owner debugs it'"
    )]
    Hold(HoldArgs),
    /// End a hold.
    #[command(
        after_help = "Exit status: 0 it is not on hold, now or already; 1 nothing is known by that name.\n\nExamples:\n  \
                            slurm-triage release n12 --reason 'burn-in is over'"
    )]
    Release(ReleaseArgs),
    /// What was seen, what was done or would have been, and how that compares with what then happened.
    #[command(
        after_help = "docs/operators.md defines right, wrong and open, and the hours. Exit status 1: a ledger could not be \
                            read.\n\nExamples:\n  slurm-triage report --since 30d\n  slurm-triage report --html \
                            /srv/ledgers/*.db > report.html\n  slurm-triage report --json /srv/ledgers | jq .rules"
    )]
    Report(ReportArgs),
    /// Which GPUs, adapters and nodes cost most jobs and drains. A GPU is known by its serial wherever it sits.
    #[command(
        after_help = "Exit status 1: a ledger could not be read.\n\nExamples:\n  slurm-triage parts\n  slurm-triage \
                            parts --kind gpu --since 30d /srv/ledgers/*.db\n  slurm-triage parts --json /srv/ledgers"
    )]
    Parts(PartsArgs),
    /// Who did what, when and why: every change of a case, decision, action and word of a person.
    #[command(
        after_help = "Nothing on it can be changed or removed before retention's time.\n\nExamples:\n  slurm-triage trail \
                            --since 1d\n  slurm-triage trail --case 3f2a9c01\n  slurm-triage trail --what hold --json"
    )]
    Trail(TrailArgs),
    /// What this node had when it was admitted, what differs now, and taking it anew.
    #[command(
        after_help = "The state is that of the last health check. --learn refuses while a case is open or a check is bad. \
                            Exit status: 0 shown, learned, or nothing differs; 1 something differs, or there is no baseline; \
                            4 refused.\n\nExamples:\n  slurm-triage baseline\n  slurm-triage baseline --diff\n  \
                            slurm-triage baseline --learn --reason 'GPU 4 replaced'"
    )]
    Baseline(BaselineArgs),
    /// Check configuration, permissions, Slurm's hooks and every source, and say what to mend.
    #[command(
        after_help = "Exit status 1: something is to be mended (warn or fail).\n\nExamples:\n  slurm-triage \
                            doctor\n  slurm-triage doctor --offline\n  slurm-triage doctor --only slurm --only plugin"
    )]
    Doctor(DoctorArgs),
    /// Put a synthetic fault into this node's ledger, for a drill. Marked as such everywhere.
    #[command(
        after_help = "Nothing is carried out by this command. What is decided shows at once in `why`; with \
                            --act, and where policy acts, the next health check carries it out.\n\nExamples:\n  \
                            slurm-triage inject --code xid.79 --gpu 0000:61:00.0\n  slurm-triage inject --line 'NVRM: \
                            Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.'\n  slurm-triage inject --end"
    )]
    Inject(InjectArgs),
    /// Tell what the catalogue recognises in any log. Needs neither Slurm nor GPU nor ledger.
    #[command(
        after_help = "With --json one object a line: file, line, time, code, class, role, provenance, resource, \
                            action, text; `action` is what a single such line suggests. gzip and zstd are read too. Exit \
                            status: 0 read, 2 usage, 3 something could not be read.\n\nExamples:\n  slurm-triage scan \
                            /var/log/kern.log\n  dmesg -T | slurm-triage scan --json -\n  slurm-triage scan --source job \
                            slurm-4711.out"
    )]
    Scan(ScanArgs),
    /// What the policy says, whether it can be used, what it would make of a fault or of the past.
    Policy(PolicyArgs),
    /// Tell why a job ended, and whose fault it was: of an incident bundle, anywhere, or of a job of this node.
    #[command(
        after_help = "What is there as a folder is a bundle, and needs neither Slurm nor ledger. Of a job, this node's \
                            ledger, Slurm's record and the job's output are read, the latter with the rights of the job's \
                            owner.\n\nExamples:\n  slurm-triage diagnose incidents/0042\n  slurm-triage diagnose \
                            4711\n  slurm-triage diagnose 4700_3 --json\n  slurm-triage diagnose 4711 --output \
                            /home/ann/slurm-4711.out"
    )]
    Diagnose(DiagnoseArgs),
    /// Put all that this node knows of a job into a folder, to hand to a vendor or a colleague.
    #[command(
        after_help = "The folder is an incident bundle, as diagnose reads it; only its owner may enter it. Nothing is ever \
                            written over.\n\nExamples:\n  slurm-triage bundle 4711\n  slurm-triage bundle 4711 --redact -o \
                            /tmp/case && tar -C /tmp -czf case.tar.gz case"
    )]
    Bundle(BundleArgs),
}

/// A person's word about a case.
#[derive(Debug, Args)]
pub(crate) struct CaseWordArgs {
    /// The case: its id, or the beginning of it.
    #[arg(value_name = "CASE")]
    pub(crate) case: String,

    /// Why; it is shown wherever the case is, and on the trail.
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct HoldArgs {
    /// This node, a job (4711, 4700 for a whole array, 4700_3), or a case.
    #[arg(value_name = "NODE|JOB|CASE")]
    pub(crate) what: String,

    /// Why; it is shown with every decision that is held.
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub(crate) reason: String,

    #[arg(long = "for", help = format!("So long it holds by itself: {SPANS} [default: until it is released]"), value_name = "SPAN", value_parser = parse_span)]
    pub(crate) length: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// What was put on hold.
    #[arg(value_name = "NODE|JOB|CASE")]
    pub(crate) what: String,

    /// Why.
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[arg(long, help = since("Only what was decided since then"), value_name = "WHEN", value_parser = parse_when, default_value = "7d")]
    pub(crate) since: When,

    /// One HTML file instead of text.
    #[arg(long, conflicts_with = "json")]
    pub(crate) html: bool,

    /// Days of work without a fault after which a drain is held to have been wrong.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=365))]
    pub(crate) clean_days: u32,

    /// Precision in percent that a rule has to prove, with 95 % certainty, before it is called ready to act.
    #[arg(long, value_name = "PERCENT", default_value_t = 80, value_parser = value_parser!(u32).range(1..=99))]
    pub(crate) bar: u32,

    /// Ledgers to read: files, or folders with *.db files in them [default: this node's own].
    #[arg(value_name = "LEDGER")]
    pub(crate) ledgers: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PartsArgs {
    #[arg(long, help = since("Only faults since then"), value_name = "WHEN", value_parser = parse_when, default_value = "90d")]
    pub(crate) since: When,

    /// Only parts of this kind; may be given several times.
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: Vec<Kind>,

    /// At most so many, the worst.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,

    /// Without a limit.
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,

    /// Ledgers to read: files, or folders with *.db files in them [default: this node's own].
    #[arg(value_name = "LEDGER")]
    pub(crate) ledgers: Vec<PathBuf>,
}

/// How the trail is narrowed.
#[derive(Debug, Args)]
pub(crate) struct TrailArgs {
    #[arg(long, help = since("Only since then"), value_name = "WHEN", value_parser = parse_when)]
    since: Option<When>,

    /// Only of this job: 4711, 4700 (a whole array), 4700_3.
    #[arg(long, value_name = "JOB", value_parser = parse_job)]
    job: Option<JobFilter>,

    /// Only of this case: its id, or the beginning of it.
    #[arg(long, value_name = "CASE")]
    pub(crate) case: Option<String>,

    /// Only rows of this kind (hold.placed), or of a family of kinds (case, decision, action, hold, policy, ledger).
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    what: Option<String>,

    /// At most so many, the latest.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = value_parser!(u32).range(1..=1_000_000))]
    limit: u32,

    /// Without a limit.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl TrailArgs {
    /// What it has in common with the other lists.
    pub(crate) fn list(&self) -> ListArgs {
        ListArgs {
            since: self.since,
            job: self.job,
            code: self.what.clone(),
            limit: self.limit,
            all: self.all,
        }
    }
}

/// How a list is narrowed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[arg(long, help = since("Only since then"), value_name = "WHEN", value_parser = parse_when)]
    pub(crate) since: Option<When>,

    /// Only of this job: 4711, 4700 (a whole array), 4700_3.
    #[arg(long, value_name = "JOB", value_parser = parse_job)]
    pub(crate) job: Option<JobFilter>,

    /// Only of this code (xid.79), or of a family of codes (xid).
    #[arg(long, value_name = "CODE", value_parser = parse_code)]
    pub(crate) code: Option<String>,

    /// At most so many, the latest.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,

    /// Without a limit; of cases also those that are closed.
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// Show it, the default.
    #[arg(long, conflicts_with_all = ["diff", "learn"])]
    pub(crate) show: bool,

    /// Tell what differs from it now.
    #[arg(long, conflicts_with = "learn")]
    pub(crate) diff: bool,

    /// Take what the last health check saw as the baseline.
    #[arg(long, requires = "reason")]
    pub(crate) learn: bool,

    /// Why it is taken; it is shown with the baseline, and on the trail.
    #[arg(long, value_name = "TEXT", value_parser = parse_reason, requires = "learn")]
    pub(crate) reason: Option<String>,

    /// Take it although a case is open or a check is bad.
    #[arg(long, requires = "learn")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A job (4711, 4700_3), a case (its id or the beginning of it) or a node.
    #[arg(value_name = "JOB|CASE|NODE")]
    pub(crate) what: String,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// What the files are; auto looks at the beginning of each.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = ScanSource::Auto)]
    pub(crate) source: ScanSource,

    /// Logs to read; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// What a scanned file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ScanSource {
    /// A kernel's log: dmesg, journalctl -k, syslog, /dev/kmsg records.
    Kernel,
    /// What a job printed.
    Job,
    /// Told by its beginning.
    Auto,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Do not ask the controller anything.
    #[arg(long)]
    pub(crate) offline: bool,

    /// Only this check; may be given several times.
    #[arg(long, value_name = "CHECK", value_enum)]
    pub(crate) only: Vec<Part>,

    /// Internal: make one check in this very process and print its findings as JSON.
    #[arg(long, value_name = "CHECK", value_enum, hide = true)]
    pub(crate) here: Option<Part>,
}

#[derive(Debug, Args)]
pub(crate) struct InjectArgs {
    /// A catalogued Xid, such as xid.79.
    #[arg(long, value_name = "CODE", requires = "gpu", required_unless_present_any = ["line", "end"])]
    pub(crate) code: Option<String>,

    /// The PCI address of the GPU it is about.
    #[arg(long, value_name = "PCI", requires = "code")]
    pub(crate) gpu: Option<PciAddress>,

    /// A kernel log line instead, with or without its time stamp.
    #[arg(long, value_name = "TEXT", conflicts_with = "code")]
    pub(crate) line: Option<String>,

    /// Let the drill act as a real fault would, where policy acts: the node is drained.
    #[arg(long)]
    pub(crate) act: bool,

    /// End this node's drills: their cases are acquitted. A drain is not lifted.
    #[arg(long, conflicts_with_all = ["code", "line", "act"])]
    pub(crate) end: bool,
}

/// The help of a moment to begin from.
pub(crate) fn since(what: &str) -> String {
    format!("{what}: {SPANS} before now, {MOMENTS}")
}

fn parse_job(text: &str) -> Result<JobFilter, String> {
    JobFilter::parse(text).ok_or_else(|| "no job: use 4711, or 4700_3 for a task of an array".to_owned())
}

/// A code or the beginning of one up to a dot; a trailing `.*` is taken as people mean it.
fn parse_code(text: &str) -> Result<String, String> {
    let code = text.trim_end_matches('*').trim_end_matches('.');
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let is_family = text.len() == code.len() || text.ends_with(".*") || text.ends_with('.');
    if code.is_empty() || !code.bytes().all(plain) || !is_family {
        return Err("no code: use xid.79, or xid for the whole family".to_owned());
    }
    Ok(code.to_owned())
}

/// Families of rows on the trail; docs/operators.md lists the kinds.
const FAMILIES: [&str; 10] =
    ["action", "baseline", "case", "config", "decision", "drill", "hold", "ledger", "policy", "spool"];

fn parse_kind(text: &str) -> Result<String, String> {
    let kind = parse_code(text).unwrap_or_default();
    let family = kind.split('.').next().unwrap_or_default();
    if FAMILIES.contains(&family) {
        return Ok(kind);
    }
    Err(format!("no kind of row: use hold.placed, or a family: {}", FAMILIES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_does_not_contradict_itself() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_code_is_whole_or_a_family() {
        for (text, code) in [("xid.79", "xid.79"), ("xid", "xid"), ("xid.*", "xid"), ("xid.", "xid")] {
            assert_eq!(parse_code(text).as_deref(), Ok(code));
        }
        for bad in ["", "*", ".", "xid.7*", "xid 79", "x'; --", "xid\u{1b}"] {
            assert!(parse_code(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_kind_of_row_is_one_that_is_written() {
        for kind in ["hold", "hold.placed", "case.*", "decision.drain", "spool.bad_records"] {
            assert!(parse_kind(kind).is_ok(), "{kind}");
        }
        for bad in ["", "foo", "holds", "xid.79", "hold placed"] {
            assert!(parse_kind(bad).unwrap_err().contains("decision"), "{bad:?}");
        }
    }

    /// Every option that takes a moment offers the same forms.
    #[test]
    fn every_moment_is_offered_in_the_same_forms() {
        fn look(command: &clap::Command, found: &mut usize) {
            for arg in command.get_arguments().filter(|arg| arg.get_id() == "since") {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(SPANS) && help.contains(MOMENTS), "{}: {help}", command.get_name());
                *found += 1;
            }
            command.get_subcommands().for_each(|command| look(command, found));
        }
        let mut found = 0;
        look(&Cli::command(), &mut found);
        assert!(found >= 7, "{found}");
    }

    #[test]
    fn a_drill_names_its_gpu() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["slurm-triage", "inject"], args].concat());
        assert!(parse(&[]).is_err());
        assert!(parse(&["--code", "xid.79"]).is_err());
        assert!(parse(&["--code", "xid.79", "--gpu", "nonsense"]).is_err());
        assert!(parse(&["--code", "xid.79", "--gpu", "61:00.0"]).is_ok());
        assert!(parse(&["--line", "x", "--act"]).is_ok());
        assert!(parse(&["--end", "--act"]).is_err());
    }
}
