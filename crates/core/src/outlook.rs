//! What the policy would do about an attributed run in act mode, found by the very gates that decide on a node: for
//! whoever looks at a run from elsewhere, with the faults of all its nodes at hand.
use crate::attribute::{Attribution, Fault, RunFacts};
use crate::catalog::Catalog;
use crate::pipeline::{Asked, Input, Trigger};
use crate::policy::{Modes, Policy};
use crate::still::Looks;
use crate::{
    Action, BootId, Case, CaseId, CaseState, CauseClass, ClearedBy, EventId, Grounds, Intent, JobAsk,
    JobRecord, JobSpan, Mode, NodeName, NodeRecord, Provenance, RunId, Stamp, Verdict, VerdictId, decide,
};

/// What would be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Nodes that would be drained, in the job's order.
    pub drain: Vec<NodeName>,
    /// What would be done with the job: `requeue`, `requeue_hold`, `stop`; `None`: nothing.
    pub job: Option<Intent>,
}

/// A run as its batch host's epilog would see it.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// The run by Slurm's word.
    pub run: &'a RunFacts,
    /// Its nodes, the batch host first.
    pub nodes: &'a [NodeName],
    /// Slurm may requeue it; `None`: not known.
    pub requeue: Option<bool>,
}

/// What `policy` would do in act mode.
pub fn outlook(found: &Attribution, ended: Ended<'_>, catalog: &Catalog, policy: &Policy) -> Outlook {
    let policy = Policy { mode: Modes { default: Mode::Act, ..Modes::default() }, ..policy.clone() };
    let drain = ended
        .nodes
        .iter()
        .filter(|node| is_drained(found, node, ended, (catalog, &policy)))
        .cloned()
        .collect();
    Outlook { drain, job: about_job(found, ended, (catalog, &policy)) }
}

fn input<'a>(node: &NodeName, ended: Ended<'_>, (catalog, policy): (&'a Catalog, &'a Policy)) -> Input<'a> {
    let now = ended.run.end.unwrap_or(ended.run.start);
    let mut input = Input::new((now, node.clone(), BootId::default()), Trigger::Epilog, catalog, policy);
    let in_service =
        NodeRecord { node: node.clone(), state: vec!["IDLE".to_owned()], ..NodeRecord::default() };
    input.node_record = Asked::Answer(in_service);
    input
}

fn is_drained(found: &Attribution, node: &NodeName, ended: Ended<'_>, with: (&Catalog, &Policy)) -> bool {
    let cases: Vec<Case> = found.faults.iter().filter(|fault| fault.node == *node).map(case).collect();
    if cases.is_empty() {
        return false;
    }
    let decided = decide::decide(&input(node, ended, with), &cases, None, &Looks::default());
    decided.actions.iter().any(|action| matches!(action, Action::Drain { .. }))
}

/// The case a node would have opened for the fault.
fn case(fault: &Fault) -> Case {
    let text = fault.resource.to_string();
    Case {
        id: CaseId::of(&fault.node, fault.code.as_str(), &text, &EventId::default()),
        fault: fault.code.to_string(),
        code: fault.code.clone(),
        class: fault.class,
        resource: fault.resource.clone(),
        node: fault.node.clone(),
        boot: BootId::default(),
        state: CaseState::Open,
        confidence: fault.confidence,
        provenance: Provenance::Trusted,
        synthetic: false,
        advice: fault.advice,
        clears: ClearedBy::None,
        opened_at: fault.at,
        last_seen: fault.at,
        closed_at: None,
        run: None,
        events: Vec::new(),
        why: fault.why.clone(),
        stood_down: false,
        part: None,
    }
}

fn about_job(found: &Attribution, ended: Ended<'_>, with: (&Catalog, &Policy)) -> Option<Intent> {
    let node = ended.nodes.first()?;
    let word = ended.run.state.split_whitespace().next().unwrap_or_default().trim_end_matches('+');
    if found.class == CauseClass::None || matches!(word, "RUNNING" | "PENDING" | "SUSPENDED") {
        return None;
    }
    let mut input = input(node, ended, with);
    let span = span(node, ended);
    input.job = Asked::Answer(JobRecord {
        job: span.run.job,
        state: word.to_owned(),
        restarts: ended.run.restart,
        requeue: ended.requeue != Some(false),
        batch: true,
        nodes: ended.nodes.to_vec(),
        ..JobRecord::default()
    });
    let verdict = verdict(found, &span.run, input.now);
    input.span = Some(span);
    let decided = decide::decide(&input, &[], Some(&verdict), &Looks::default());
    let wanted =
        decided.decisions.iter().find(|decision| decision.verdict.is_some() && decision.allowed())?;
    matches!(wanted.intent, Intent::Requeue | Intent::RequeueHold | Intent::Stop).then_some(wanted.intent)
}

fn span(node: &NodeName, ended: Ended<'_>) -> JobSpan {
    JobSpan {
        run: RunId {
            cluster: String::new(),
            job: ended.run.job.parse().unwrap_or_default(),
            array: None,
            het: None,
            restart: ended.run.restart,
            start: ended.run.start,
        },
        node: node.clone(),
        boot: BootId::default(),
        uid: 0,
        user: ended.run.user.clone(),
        partition: String::new(),
        nodes: ended.nodes.to_vec(),
        gpus: Vec::new(),
        ask: JobAsk::Default,
        end: ended.run.end,
        exit: ended.run.exit,
        state: String::new(),
    }
}

fn verdict(found: &Attribution, run: &RunId, at: Stamp) -> Verdict {
    let (code, resource) = found.lead();
    Verdict {
        id: VerdictId::of(&run.to_string(), at),
        run: run.clone(),
        at,
        class: found.class,
        confidence: found.confidence,
        culprits: found.culprits.clone(),
        victims: found.victims.clone(),
        cases: Vec::new(),
        evidence: Vec::new(),
        synthetic: false,
        story: Vec::new(),
        grounds: Grounds { code, resource: Some(resource), trusted: found.trusted, ..Grounds::default() },
    }
}
