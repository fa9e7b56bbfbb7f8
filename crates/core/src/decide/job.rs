//! What to do about the run that just ended, on its batch host.
use super::again::{self, Again};
use super::{Decided, Draft, bounds, claims, gates};
use crate::pipeline::Input;
use crate::policy::Matched;
use crate::{
    Action, Case, Code, DecisionId, Gate, Intent, JobRecord, JobSpan, Mode, NodeName, Resource, RunId, Stamp,
    Subject, Verdict,
};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], verdict: &Verdict, decided: &mut Decided) {
    let Some(span) = &input.span else { return };
    let (code, resource) = lead(input, cases, verdict);
    let nodes = culprits(verdict);
    let own = cases.iter().find(|case| verdict.cases.contains(&case.id));
    let repeats = own.and_then(|case| claims::repeats(input, case));
    let claim = claims::of_verdict(input, span, verdict, (&code, &resource), (&nodes, repeats.as_deref()));
    let matched = input.policy.rule_for(&claim);
    let mut intent = matched.job;
    if intent == Intent::None {
        return;
    }
    let mut why = format!("{} {} cause", verdict.confidence, verdict.class);
    let mut gates = Vec::new();
    let mut not_before = None;
    if is_requeue(intent) {
        let again = again::judge(input, span, verdict, &code);
        not_before = again.not_before;
        if let Some(stop) = &again.stop {
            intent = Intent::Stop;
            why = format!("{why}, not run again: {stop}");
        } else {
            gates = requeue(input, cases, verdict, (span, &matched, again));
        }
    }
    let mode = matched.mode_for(&input.policy.mode, intent);
    if is_requeue(intent) {
        gates.push(gates::mode(mode));
    }
    let draft = Draft {
        subject: Subject::Run(span.run.clone()),
        intent,
        rule: matched.name,
        mode,
        gates,
        case: None,
        verdict: Some(verdict),
        synthetic: verdict.synthetic,
        why,
    };
    let held = draft.gates.iter().find(|gate| !gate.passed).map(|gate| gate.why.clone());
    let why = format!(
        "{}; not run again: {}",
        draft.why,
        held.as_deref().unwrap_or("the policy does not ask for it")
    );
    match decided.push(input, draft) {
        Some(decision) if is_requeue(intent) => {
            let hold = intent == Intent::RequeueHold;
            put_back(named(input, span), nodes, (hold, not_before), decision, decided);
        }
        _ => explain(input, span, mode, &why, decided),
    }
}

/// A job that Slurm will put back held, because it asked for an expedited requeue and no epilog fails, is told why
/// nobody runs it again. Only where we may act for the job: the word is written into its record.
fn explain(input: &Input<'_>, span: &JobSpan, mode: Mode, why: &str, decided: &mut Decided) {
    let expedited = |job: &JobRecord| job.fields.get("ExpeditedRequeue").is_some_and(|word| word == "Yes");
    let may = mode == Mode::Act && gates::job_ask(span).passed && input.job.get().is_some_and(expedited);
    let made =
        decided.decisions.iter().rev().find(|decision| decision.subject == Subject::Run(span.run.clone()));
    if let Some(decision) = made.map(|decision| decision.id.clone()).filter(|_| may) {
        let run = named(input, span);
        let text =
            format!("held by Slurm, no epilog failed; {why}; slurm-triage why {}", run.scontrol_name());
        decided.actions.push(Action::Explain { run, text, decision });
    }
}

const fn is_requeue(intent: Intent) -> bool {
    matches!(intent, Intent::Requeue | Intent::RequeueHold)
}

fn requeue(
    input: &Input<'_>,
    cases: &[Case],
    verdict: &Verdict,
    (span, matched, again): (&JobSpan, &Matched<'_>, Again),
) -> Vec<Gate> {
    let limits = &input.policy.job;
    let mut gates = vec![
        gates::culprit_named(verdict),
        gates::job_ask(span),
        gates::requeue_allowed(&input.job),
        gates::job_state(&input.job),
        gates::exit_code(span, &limits.no_requeue_exit_codes),
        bounds::confidence(verdict.confidence, limits.min_confidence),
        bounds::excepted_job(span, &input.job, &input.policy.except),
        bounds::suspect_nodes(verdict, limits.suspect_nodes),
    ];
    gates.extend(again.gates);
    gates.extend(bounds::doubt(matched));
    gates.extend(gates::drill(verdict, cases));
    gates
}

fn put_back(
    run: RunId,
    exclude: Vec<NodeName>,
    (hold, not_before): (bool, Option<Stamp>),
    decision: DecisionId,
    decided: &mut Decided,
) {
    decided.actions.push(Action::Requeue { run: run.clone(), exclude, hold, decision: decision.clone() });
    if !hold {
        decided.actions.push(Action::ClearBeginTime { run, not_before, decision });
    }
}

fn culprits(verdict: &Verdict) -> Vec<NodeName> {
    let mut nodes: Vec<NodeName> = verdict.culprits.iter().map(|culprit| culprit.node.clone()).collect();
    nodes.dedup();
    nodes
}

/// The run with the array and het ids that Slurm has for the job: the spool may not have told them.
fn named(input: &Input<'_>, span: &JobSpan) -> RunId {
    let mut run = span.run.clone();
    if let Some(job) = input.job.get() {
        run.array = run.array.or(job.array);
        run.het = run.het.or(job.het);
    }
    run
}

/// The code and resource that speak for the verdict.
fn lead(input: &Input<'_>, cases: &[Case], verdict: &Verdict) -> (Code, Resource) {
    if !verdict.grounds.code.as_str().is_empty() {
        return (verdict.grounds.code.clone(), verdict.grounds.resource.clone().unwrap_or(Resource::Job));
    }
    let own = cases.iter().find(|case| verdict.cases.contains(&case.id));
    let peer =
        input.peers.get().and_then(|peers| peers.iter().find(|peer| verdict.cases.contains(&peer.case)));
    match (own, peer) {
        (Some(case), _) => (case.code.clone(), case.resource.clone()),
        (None, Some(peer)) => (peer.code.clone(), peer.resource.clone()),
        (None, None) => (Code::from("unknown"), Resource::Job),
    }
}
