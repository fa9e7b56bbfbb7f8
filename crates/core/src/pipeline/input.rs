//! Everything one pass knows. Immutable, "now" included: the same input always gives the same output.
use crate::attribute::PastRun;
use crate::catalog::Catalog;
use crate::fleet::Fleet;
use crate::joblog::OutputReport;
use crate::memory::Memory;
use crate::policy::Policy;
use crate::progress::Progress;
use crate::reading::NvmlReading;
use crate::{
    BootId, Case, Decision, Event, Hold, JobRecord, JobSpan, NodeName, NodeRecord, Observation, OutCase,
    PeerEvidence, Stamp, TaskEdge,
};

/// Which program runs the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// slurmd, before a job.
    Prolog,
    /// slurmd, after a job.
    Epilog,
    /// slurmd's `HealthCheckProgram`.
    HealthCheck,
}

/// The input of [`super::step`].
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// The moment of the pass.
    pub now: Stamp,
    /// This node.
    pub node: NodeName,
    /// This boot.
    pub boot: BootId,
    /// Which program runs.
    pub trigger: Trigger,
    /// What events mean.
    pub catalog: &'a Catalog,
    /// What the site wants.
    pub policy: &'a Policy,
    /// What the sources said since the last pass.
    pub observations: Vec<Observation>,
    /// Open cases of this node.
    pub cases: Vec<Case>,
    /// What earlier passes left besides.
    pub past: super::Past,
    /// The last NVML sweep before this pass, with the boot it was made in.
    pub last_reading: Option<(BootId, NvmlReading)>,
    /// Runs that are on the node or left it lately, the current one not among them.
    pub spans: Vec<JobSpan>,
    /// The run this prolog or epilog is for.
    pub span: Option<JobSpan>,
    /// Task records of that run on this node.
    pub tasks: Vec<(Stamp, TaskEdge)>,
    /// Events of earlier passes that fall into that run.
    pub run_events: Vec<Event>,
    /// The kernel's log was read to its end in this pass.
    pub kernel_read: bool,
    /// Earlier runs that this node's ledger remembers; for an epilog.
    pub history: Vec<PastRun>,
    /// What the run printed, once asked for.
    pub output: Asked<OutputReport>,
    /// How far the run got, once asked for: where its output is not read for its cause.
    pub progress: Asked<Progress>,
    /// Runs that are on the node now and whose batch host it is, once asked for.
    pub running: Asked<Vec<Running>>,
    /// The latest decision for each open case and for the run.
    pub decided: Vec<Decision>,
    /// Cases for which we took this node out and it is not known to be back, with what was done about them since.
    pub out: Vec<OutCase>,
    /// When our drains of this node were lifted by us, the last times.
    pub returns: Vec<Stamp>,
    /// What people have put on hold.
    pub holds: Vec<Hold>,
    /// What the other nodes of the run say, once asked for.
    pub peers: Asked<Vec<PeerEvidence>>,
    /// The job as Slurm has it, once asked for.
    pub job: Asked<JobRecord>,
    /// What the ledger remembers, once asked for.
    pub memory: Asked<Memory>,
    /// Every node as Slurm has it, once asked for.
    pub fleet: Asked<Fleet>,
    /// This node as Slurm has it, once asked for.
    pub node_record: Asked<NodeRecord>,
    /// What the state checks look at; `None`: this pass makes none.
    pub checks: Option<crate::checks::Checking<'a>>,
}

/// A run that goes on, with what is known of it.
#[derive(Debug, Clone)]
pub struct Running {
    /// The run.
    pub span: JobSpan,
    /// The job as Slurm has it.
    pub job: Asked<JobRecord>,
    /// What the ledger remembers of its earlier runs.
    pub memory: Asked<Memory>,
    /// The latest decision about it.
    pub decided: Vec<Decision>,
}

impl<'a> Input<'a> {
    /// What a pass knows that has looked at nothing yet: when and where it is.
    pub fn new(
        (now, node, boot): (Stamp, NodeName, BootId),
        trigger: Trigger,
        catalog: &'a Catalog,
        policy: &'a Policy,
    ) -> Self {
        Self {
            now,
            node,
            boot,
            trigger,
            catalog,
            policy,
            observations: Vec::new(),
            cases: Vec::new(),
            past: super::Past::default(),
            last_reading: None,
            spans: Vec::new(),
            span: None,
            tasks: Vec::new(),
            run_events: Vec::new(),
            kernel_read: false,
            history: Vec::new(),
            output: Asked::NotAsked,
            progress: Asked::NotAsked,
            running: Asked::NotAsked,
            decided: Vec::new(),
            out: Vec::new(),
            returns: Vec::new(),
            holds: Vec::new(),
            peers: Asked::NotAsked,
            job: Asked::NotAsked,
            memory: Asked::NotAsked,
            fleet: Asked::NotAsked,
            node_record: Asked::NotAsked,
            checks: None,
        }
    }
}

impl Input<'_> {
    /// How far the run that just ended got: by its output where that was read whole, else by the end of it.
    pub(crate) fn how_far(&self) -> Progress {
        let whole = self.output.get().map(|report| report.progress);
        whole.or_else(|| self.progress.get().copied()).unwrap_or_default()
    }
}

/// An answer of the controller. The healthy path asks nothing, so most passes end with `NotAsked`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Asked<T> {
    /// Nobody asked; the pass says in its output whether it needs the answer.
    #[default]
    NotAsked,
    /// Asked, and this came.
    Answer(T),
    /// Asked, and nothing came: the reason in one line.
    NoAnswer(String),
}

impl<T> Asked<T> {
    /// The answer, where there is one.
    pub const fn get(&self) -> Option<&T> {
        match self {
            Self::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether it is still worth asking.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::NotAsked)
    }
}
