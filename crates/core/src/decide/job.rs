//! What to do about the run that just ended, on its batch host.
use super::again::{self, Again};
use super::{Decided, Draft, bounds, claims, gates};
use crate::pipeline::Input;
use crate::policy::Matched;
use crate::progress::Progress;
use crate::{
    Action, Case, Code, DecisionId, Gate, Intent, JobRecord, JobSpan, Mode, NodeName, Resource, RunId, Stamp,
    Subject, Verdict, reason,
};

pub(super) fn decide(input: &Input<'_>, cases: &[Case], verdict: &Verdict, decided: &mut Decided) {
    about(input, cases, verdict, None, decided);
}

/// The same about a run that still goes on, for a case of this node.
pub(super) fn decide_running(
    input: &Input<'_>,
    cases: &[Case],
    verdict: &Verdict,
    case: &Case,
    decided: &mut Decided,
) {
    about(input, cases, verdict, Some(case), decided);
}

fn about(
    input: &Input<'_>,
    cases: &[Case],
    verdict: &Verdict,
    running: Option<&Case>,
    decided: &mut Decided,
) {
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
    let what = if running.is_some() { "fault under the running job" } else { "cause" };
    let mut why = format!("{} {} {what}", verdict.confidence, verdict.class);
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
        case: running,
        // The verdict over a run is reached at its end.
        verdict: Some(verdict).filter(|_| running.is_none()),
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
            let run = named(input, span);
            if running.is_some() && input.policy.job.kill_steps_first {
                decided.actions.push(Action::KillSteps { run: run.clone(), decision: decision.clone() });
            }
            let what =
                format!("requeued{} (restart {})", if hold { ", held" } else { "" }, span.run.restart + 1);
            let line = owner_line(input, verdict, &code, &what);
            decided.actions.extend(line.map(|text| last_line(span, &run, (text, true), &decision)));
            put_back(run, nodes, (hold, not_before, input.how_far()), decision, decided);
        }
        Some(decision) if intent == Intent::Stop && mode == Mode::Act && gates::job_ask(span).passed => {
            let run = named(input, span);
            let line = owner_line(input, verdict, &code, "not run again");
            decided.actions.extend(line.map(|text| last_line(span, &run, (text, false), &decision)));
            explain(input, span, mode, &why, decided);
        }
        _ if running.is_some() => {}
        _ => explain(input, span, mode, &why, decided),
    }
}

/// What the owner reads at the end of the job's output, where the site wants that.
fn owner_line(input: &Input<'_>, verdict: &Verdict, code: &Code, what: &str) -> Option<String> {
    let nodes = culprits(verdict);
    let on = match nodes.as_slice() {
        [] => String::new(),
        [node] => format!(" on {node}"),
        [node, others @ ..] => format!(" on {node} and {} more", others.len()),
    };
    let said = format!("{}{code}{on}: this job was {what}", reason::PREFIX);
    input.policy.job.last_line.then_some(said)
}

fn last_line(span: &JobSpan, run: &RunId, (said, requeued): (String, bool), decision: &DecisionId) -> Action {
    Action::LastLine {
        run: run.clone(),
        uid: span.uid,
        user: span.user.clone(),
        text: format!("{said}; see slurm-triage why {}", run.scontrol_name()),
        requeued,
        decision: decision.clone(),
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
    (hold, not_before, progress): (bool, Option<Stamp>, Progress),
    decision: DecisionId,
    decided: &mut Decided,
) {
    decided.actions.push(Action::Requeue {
        run: run.clone(),
        exclude,
        hold,
        progress,
        decision: decision.clone(),
    });
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
