//! A job of this node as it can be diagnosed: from the node's ledger, Slurm's record and the job's own files.
mod facts;
mod find;
mod record;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use triage_bundle::{Bundle, JobRules};
use triage_core::catalog::Catalog;
use triage_core::joblog::OutputReport;
use triage_core::judge::known::{self, Known};
use triage_core::pipeline::Asked;
use triage_core::policy::Policy;
use triage_core::{JobRecord, JobSpan, NodeName, PeerEvidence, peer};
use triage_hooks::output::READ_OUTPUT;
use triage_host::clock::{Deadline, SystemClock};
use triage_host::output::{OutputCopy, OutputReader, OutputRequest};
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;
use triage_host::slurm::Scontrol;

use crate::site::Site;

/// How long a person waits for a job's output to be read. A hook has less.
const PATIENCE: Duration = Duration::from_secs(60);

/// What every command about a live job takes.
#[derive(Debug, Default, Args)]
pub(crate) struct LiveArgs {
    /// A file the job wrote, where Slurm no longer says; may be given twice. %j and the like stand for what they do in sbatch.
    #[arg(long = "output", value_name = "FILE")]
    pub(crate) outputs: Vec<PathBuf>,
}

/// A job of this node.
pub(crate) struct Live<'s> {
    site: &'s Site,
    known: Known<'s>,
    /// Where its output is; else why that cannot be told.
    request: Result<OutputRequest, String>,
    requeue: Option<bool>,
}

impl<'s> Live<'s> {
    /// Looks the job up.
    pub(crate) fn find(
        site: &'s Site,
        (catalog, policy): (&'s Catalog, &'s Policy),
        name: &str,
        args: &LiveArgs,
    ) -> anyhow::Result<Self> {
        let ledger = site.open()?;
        let mut span = find::span(&ledger, site, name)?;
        let job = record::of(&scontrol(site), &mut span, site.now);
        let request = request(&span, &job, args);
        let requeue = job.get().map(|job| job.requeue && job.batch);
        let peers = peers(site, &span);
        let known = facts::known(&ledger, span, (job, peers), site.now, (catalog, policy))?;
        Ok(Self { site, known, request, requeue })
    }

    /// What is known of it, its output read by a process with its owner's rights.
    pub(crate) fn read(mut self) -> Bundle {
        self.known.output = Asked::Answer(match &self.request {
            Ok(request) => reader(self.site).read(request, Deadline::after(&SystemClock, PATIENCE)),
            Err(why) => OutputReport::unread(why),
        });
        self.bundle()
    }

    /// What is known of it without its output, and the bytes of that.
    pub(crate) fn copy(mut self) -> (Bundle, OutputCopy) {
        let copy = match &self.request {
            Ok(request) => reader(self.site).copy(request, Deadline::after(&SystemClock, PATIENCE)),
            Err(why) => OutputCopy { files: Vec::new(), blind: vec![why.clone()] },
        };
        self.known.output =
            Asked::Answer(OutputReport { blind: copy.blind.clone(), ..OutputReport::default() });
        (self.bundle(), copy)
    }

    fn bundle(self) -> Bundle {
        Bundle { evidence: known::evidence(self.known), rules: JobRules { requeue: self.requeue } }
    }
}

/// scontrol, as the configuration names it.
fn scontrol(site: &Site) -> Scontrol<'static> {
    let slurm = &site.config.slurm;
    let conf = slurm.conf.as_ref().map(|path| path.display().to_string());
    Scontrol {
        runner: &SystemRunner,
        program: slurm.scontrol.clone(),
        conf: conf.or_else(|| std::env::var("SLURM_CONF").ok()),
        deadline: slurm.command_deadline,
    }
}

fn reader(site: &Site) -> OutputReader<'static> {
    static ROOT: std::sync::LazyLock<Root> = std::sync::LazyLock::new(Root::default);
    let mut reader =
        OutputReader::of_this_program((&SystemRunner, &SystemClock, &ROOT), READ_OUTPUT, &site.config);
    // Nobody's job waits for a person's question.
    reader.limits.deadline = reader.limits.deadline.max(PATIENCE);
    reader
}

fn request(span: &JobSpan, job: &Asked<JobRecord>, args: &LiveArgs) -> Result<OutputRequest, String> {
    let mut outputs =
        args.outputs.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let told = outputs.next().map(|path| path.display().to_string());
    let empty = JobRecord::default();
    let record = match (job, &told) {
        (Asked::Answer(record), _) => record,
        (_, Some(_)) => &empty,
        (Asked::NoAnswer(why), None) => {
            return Err(format!(
                "output: where it is was not to be learnt ({why}): name the file with --output"
            ));
        }
        (Asked::NotAsked, None) => return Err("output: not read".to_owned()),
    };
    let mut request = OutputRequest::new(record, span);
    if let Some(stdout) = told {
        request.stdout = stdout;
        request.stderr = outputs.next().map(|path| path.display().to_string()).unwrap_or_default();
    } else if record.restarts > span.run.restart && !matches!(record.state.as_str(), "PENDING") {
        return Err(
            "output: a later run of the job has written to it since; name the file with --output".to_owned()
        );
    }
    Ok(request)
}

/// What the job's other nodes tell of themselves.
fn peers(site: &Site, span: &JobSpan) -> Asked<Vec<PeerEvidence>> {
    let others: Vec<NodeName> = span.nodes.iter().filter(|node| **node != span.node).cloned().collect();
    if others.is_empty() {
        return Asked::NotAsked;
    }
    match scontrol(site).nodes(&others) {
        Ok(records) => {
            let asked = records.iter().filter(|record| others.contains(&record.node));
            // What a node saw after the epilogs of the run is news of later.
            let in_time =
                |told: &PeerEvidence| span.end.is_none_or(|end| told.at <= end.plus_secs(facts::AT_ONCE_S));
            Asked::Answer(asked.filter_map(peer::read).filter(in_time).collect())
        }
        Err(error) => Asked::NoAnswer(error.to_string()),
    }
}

/// The name for `-o` that is taken when none is given.
pub(crate) fn folder_name(evidence: &triage_core::attribute::JobEvidence) -> String {
    let node = evidence.history_of.as_ref().map(|node| format!("-{node}")).unwrap_or_default();
    format!("incident-{}{node}", evidence.run.job)
}
