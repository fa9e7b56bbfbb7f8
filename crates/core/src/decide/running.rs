//! A job that still runs on a node which we took out for a confirmed fault: where the site does not want to wait for its end
//! (`[job] requeue_running`), the health check of its batch host puts it back to work. Only what a trusted source saw under the
//! run, lately and on a part that the run has, ends a running job; and only once our drain for it stands, so that whatever
//! holds a drain - a brake, a person, somebody else's reason - holds this as well.
use super::{Decided, job};
use crate::pipeline::{Input, Running, Trigger};
use crate::{
    Case, CauseClass, Confidence, Culprit, Grounds, JobSpan, Provenance, Verdict, VerdictId, judge, reason,
};

/// Decides about each such job that the edge has asked about.
pub(super) fn decide(input: &Input<'_>, cases: &[Case], decided: &mut Decided) {
    if !is_of_interest(input, cases) {
        return;
    }
    for running in input.running.get().into_iter().flatten() {
        let runs = running.job.get().is_some_and(|job| job.state == "RUNNING" && !job.completing);
        let case = cases.iter().find(|case| ends(input, &running.span, case));
        if let Some(case) = case.filter(|_| runs) {
            let verdict = verdict(input, &running.span, case);
            job::decide_running(&as_its_own(input, running), cases, &verdict, case, decided);
        }
    }
}

/// Whether there may be such a job, so that the controller and the ledger have to be asked.
pub(crate) fn is_of_interest(input: &Input<'_>, cases: &[Case]) -> bool {
    input.trigger == Trigger::HealthCheck
        && input.policy.job.requeue_running
        && input.spans.iter().any(|span| cases.iter().any(|case| ends(input, span, case)))
}

/// Whether the site would end this run for this case.
fn ends(input: &Input<'_>, span: &JobSpan, case: &Case) -> bool {
    let claim = case.provenance == Provenance::Trusted
        && case.confidence == Confidence::Confirmed
        && matches!(case.class, CauseClass::Hardware | CauseClass::System)
        && case.advice.wants_node_out();
    span.end.is_none()
        && span.is_batch_host()
        && case.is_open()
        && !case.stood_down
        && claim
        && judge::hurts(input, span, case)
        && is_out_for(input, case)
}

/// The node is out, and by our drain for this very case.
fn is_out_for(input: &Input<'_>, case: &Case) -> bool {
    let of_case = |reason: &str| reason::case_of(reason).as_ref() == Some(&case.id);
    input.node_record.get().is_some_and(|record| record.is_out() && of_case(&record.reason))
}

/// The input as the pass of this one run would have it.
fn as_its_own<'i>(input: &Input<'i>, running: &Running) -> Input<'i> {
    Input {
        span: Some(running.span.clone()),
        job: running.job.clone(),
        memory: running.memory.clone(),
        decided: running.decided.clone(),
        ..input.clone()
    }
}

/// What is to blame so far. It is no verdict over the run's end, which the epilog reaches, and is not kept.
fn verdict(input: &Input<'_>, span: &JobSpan, case: &Case) -> Verdict {
    Verdict {
        id: VerdictId::of(&format!("running {:?}", span.run), input.now),
        run: span.run.clone(),
        at: input.now,
        class: case.class,
        confidence: case.confidence,
        culprits: vec![Culprit { node: case.node.clone(), resource: Some(case.resource.clone()) }],
        victims: Vec::new(),
        cases: vec![case.id.clone()],
        evidence: case.events.clone(),
        synthetic: case.synthetic,
        story: Vec::new(),
        grounds: Grounds {
            rule: "running".to_owned(),
            code: case.code.clone(),
            resource: Some(case.resource.clone()),
            trusted: true,
            ..Grounds::default()
        },
    }
}
