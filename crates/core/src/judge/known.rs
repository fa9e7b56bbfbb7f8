//! The evidence of a run for somebody who asks later, from what the ledger of one of its nodes kept.
use super::gather;
use crate::attribute::{JobEvidence, PastRun};
use crate::catalog::Catalog;
use crate::joblog::OutputReport;
use crate::pipeline::{Asked, Input, Past, Trigger};
use crate::policy::Policy;
use crate::reading::NvmlReading;
use crate::{
    Case, Event, JobRecord, JobSpan, Observation, Payload, PeerEvidence, Provenance, SourceKind, Stamp,
    TaskEdge,
};

/// What is known of a run when somebody asks.
#[derive(Debug)]
pub struct Known<'a> {
    /// The moment.
    pub now: Stamp,
    /// The run, as the node saw it.
    pub span: JobSpan,
    /// Its tasks on the node.
    pub tasks: Vec<(Stamp, TaskEdge)>,
    /// What the node's trusted sources said from its beginning until shortly after its end.
    pub events: Vec<Event>,
    /// Cases of the node, open or closed.
    pub cases: Vec<Case>,
    /// The NVML sweep made at its end.
    pub sweep: Option<NvmlReading>,
    /// An earlier sweep of the same boot.
    pub earlier_sweep: Option<NvmlReading>,
    /// The kernel's log was read up to its end.
    pub kernel_read: bool,
    /// Earlier runs that the node's ledger remembers.
    pub history: Vec<PastRun>,
    /// What it printed.
    pub output: Asked<OutputReport>,
    /// The job as Slurm has it.
    pub job: Asked<JobRecord>,
    /// What its other nodes told of themselves.
    pub peers: Asked<Vec<PeerEvidence>>,
    /// What events mean.
    pub catalog: &'a Catalog,
    /// What the site wants.
    pub policy: &'a Policy,
}

/// The evidence, put together as the epilog of the batch host does it.
pub fn evidence(known: Known<'_>) -> JobEvidence {
    let Known { span, events, cases, .. } = &known;
    let (span, events, cases) = (span.clone(), events.clone(), cases.clone());
    let runs = span.end.is_none();
    let input = input(known);
    let mut evidence = gather::evidence(&input, &span, &events, &cases);
    if runs {
        evidence.run.end = None;
        "RUNNING".clone_into(&mut evidence.run.state);
    }
    evidence
}

/// As the input of an epilog's pass.
fn input(known: Known<'_>) -> Input<'_> {
    let (node, boot, now) = (known.span.node.clone(), known.span.boot.clone(), known.now);
    let end = known.span.end.unwrap_or(now);
    let sweep = known.sweep.map(|reading| Observation {
        node: node.clone(),
        boot: boot.clone(),
        source: SourceKind::Nvml,
        stream: String::new(),
        cursor: 0,
        at: end,
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Nvml(Box::new(reading)),
    });
    Input {
        now,
        last_reading: known.earlier_sweep.map(|reading| (boot.clone(), reading)),
        node,
        boot,
        trigger: Trigger::Epilog,
        catalog: known.catalog,
        policy: known.policy,
        observations: sweep.into_iter().collect(),
        cases: Vec::new(),
        past: Past::default(),
        spans: Vec::new(),
        span: Some(known.span),
        tasks: known.tasks,
        run_events: Vec::new(),
        kernel_read: known.kernel_read,
        history: known.history,
        output: known.output,
        progress: Asked::NotAsked,
        running: Asked::NotAsked,
        decided: Vec::new(),
        out: Vec::new(),
        returns: Vec::new(),
        holds: Vec::new(),
        peers: known.peers,
        job: known.job,
        memory: Asked::NotAsked,
        fleet: Asked::NotAsked,
        node_record: Asked::NotAsked,
        checks: None,
    }
}
