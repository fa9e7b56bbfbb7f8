//! A fault and a job made up for trying a policy out.
use triage_core::pipeline::{Asked, Input};
use triage_core::{
    Advice, BootId, Case, CaseId, CaseState, CauseClass, ClearedBy, Code, Confidence, Culprit, EventId,
    ExitStatus, Grounds, JobAsk, JobRecord, JobSpan, NodeName, NodeRecord, Provenance, Resource, RunId,
    Stamp, Verdict, VerdictId,
};

use super::TestArgs;

/// A fault of a node.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) node: NodeName,
    pub(super) code: Code,
    pub(super) class: CauseClass,
    pub(super) confidence: Confidence,
    pub(super) advice: Advice,
    pub(super) resource: Resource,
    pub(super) provenance: Provenance,
}

impl Fault {
    /// The case that it opens.
    pub(super) fn case(&self, fault: String, at: Stamp) -> Case {
        let opened_by = EventId::from("policy-test");
        let is_of_a_check = triage_core::checks::name_of(self.code.as_str()).is_some();
        Case {
            id: CaseId::of(&self.node, &fault, &self.resource.to_string(), &opened_by),
            fault,
            code: self.code.clone(),
            class: self.class,
            resource: self.resource.clone(),
            part: None,
            node: self.node.clone(),
            boot: boot(),
            state: CaseState::Open,
            confidence: self.confidence,
            provenance: self.provenance,
            synthetic: false,
            advice: self.advice,
            clears: if is_of_a_check { ClearedBy::CheckPasses } else { ClearedBy::None },
            opened_at: at,
            last_seen: at,
            closed_at: None,
            run: None,
            events: vec![opened_by],
            why: "made up for a test of the policy".to_owned(),
            stood_down: false,
        }
    }
}

fn boot() -> BootId {
    BootId::from("policy-test")
}

/// What ended a run.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) class: CauseClass,
    pub(super) confidence: Confidence,
    pub(super) code: Code,
    pub(super) resource: Resource,
    pub(super) culprits: Vec<Culprit>,
    pub(super) trusted: bool,
}

impl Cause {
    /// The verdict that says so.
    pub(super) fn verdict(&self, run: &RunId, at: Stamp) -> Verdict {
        Verdict {
            id: VerdictId::of("policy-test", at),
            run: run.clone(),
            at,
            class: self.class,
            confidence: self.confidence,
            culprits: self.culprits.clone(),
            victims: Vec::new(),
            cases: Vec::new(),
            evidence: Vec::new(),
            synthetic: false,
            story: Vec::new(),
            grounds: Grounds {
                code: self.code.clone(),
                resource: Some(self.resource.clone()),
                trusted: self.trusted,
                ..Grounds::default()
            },
        }
    }
}

/// A run of an hour that ends now, on these nodes.
pub(super) fn span(args: &TestArgs, node: &NodeName, nodes: Vec<NodeName>, at: Stamp) -> JobSpan {
    let start = at.plus_secs(-3_600);
    JobSpan {
        run: RunId { cluster: String::new(), job: 0, array: None, het: None, restart: args.restarts, start },
        node: node.clone(),
        boot: boot(),
        uid: 0,
        user: args.user.clone(),
        partition: args.partition.clone(),
        nodes,
        gpus: Vec::new(),
        ask: JobAsk::Default,
        end: Some(at),
        exit: Some(ExitStatus::Exit(args.exit)),
        state: "FAILED".to_owned(),
    }
}

/// The node in service and the job as one that may be requeued: what stands in a policy's way is to be its own.
pub(super) fn at_their_best(input: &mut Input<'_>, args: &TestArgs) {
    let partitions = Some(args.partition.clone()).filter(|name| !name.is_empty());
    input.node_record = Asked::Answer(NodeRecord {
        node: input.node.clone(),
        state: vec!["IDLE".to_owned()],
        partitions: partitions.into_iter().collect(),
        ..NodeRecord::default()
    });
    let mut job = JobRecord {
        state: "FAILED".to_owned(),
        batch: true,
        requeue: true,
        restarts: args.restarts,
        ..JobRecord::default()
    };
    for (field, value) in [("Account", &args.account), ("QOS", &args.qos)] {
        job.fields.extend(value.clone().map(|value| (field.to_owned(), value)));
    }
    input.job = Asked::Answer(job);
    input.memory = Asked::Answer(triage_core::memory::Memory::default());
    input.fleet = Asked::Answer(triage_core::fleet::Fleet::default());
}
