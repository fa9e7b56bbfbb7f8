//! One run of a job on this node.
use serde::Serialize;
use triage_core::{BootId, ExitStatus, JobAsk, JobSpan, NodeName, Stamp, Verdict};

/// One run of a job on this node.
#[derive(Debug, Serialize)]
pub(crate) struct JobView<'a> {
    /// As scontrol is told: `4711`, `4700_3` for a task of an array, the leader's id for a het job.
    pub(crate) job: String,
    /// `SLURM_JOB_ID`.
    pub(crate) job_id: u32,
    /// Restart count.
    pub(crate) restart: u32,
    /// `SLURM_CLUSTER_NAME`.
    pub(crate) cluster: &'a str,
    /// The node.
    pub(crate) node: &'a NodeName,
    /// The boot it ran in.
    pub(crate) boot: &'a BootId,
    /// The owner's name; may be empty.
    pub(crate) user: &'a str,
    /// The owner's uid.
    pub(crate) uid: u32,
    /// The partition; may be empty.
    pub(crate) partition: &'a str,
    /// All nodes of the job, batch host first.
    pub(crate) nodes: &'a [NodeName],
    /// GRES indices of its GPUs on this node.
    pub(crate) gpus: &'a [u32],
    /// What the job asked with `--triage=`.
    pub(crate) ask: JobAsk,
    /// The prolog's moment.
    pub(crate) started: Stamp,
    /// The epilog's moment; null while it is on the node.
    pub(crate) ended: Option<Stamp>,
    /// `{"exit": 1}` or `{"signal": 9}`; null where it is not known.
    pub(crate) exit: Option<ExitStatus>,
    /// Slurm's word for the job's state; may be empty.
    pub(crate) state: &'a str,
    /// Why it ended, where this node judged it.
    pub(crate) verdict: Option<VerdictBrief>,
}

/// A verdict in two words.
#[derive(Debug, Serialize)]
pub(crate) struct VerdictBrief {
    /// Kind of cause.
    pub(crate) class: &'static str,
    /// How sure.
    pub(crate) confidence: &'static str,
    /// Rests on a drill or a test.
    pub(crate) synthetic: bool,
}

impl<'a> JobView<'a> {
    /// The run, with the last of `verdicts` that is over it.
    pub(crate) fn new(span: &'a JobSpan, verdicts: &[Verdict]) -> Self {
        let verdict = verdicts.iter().rfind(|verdict| verdict.run == span.run);
        Self {
            job: span.run.scontrol_name(),
            job_id: span.run.job,
            restart: span.run.restart,
            cluster: &span.run.cluster,
            node: &span.node,
            boot: &span.boot,
            user: &span.user,
            uid: span.uid,
            partition: &span.partition,
            nodes: &span.nodes,
            gpus: &span.gpus,
            ask: span.ask,
            started: span.run.start,
            ended: span.end,
            exit: span.exit,
            state: &span.state,
            verdict: verdict.map(|verdict| VerdictBrief {
                class: verdict.class.word(),
                confidence: verdict.confidence.word(),
                synthetic: verdict.synthetic,
            }),
        }
    }

    /// The owner, by name where there is one.
    pub(crate) fn owner(&self) -> String {
        if self.user.is_empty() { format!("uid {}", self.uid) } else { self.user.to_owned() }
    }
}
