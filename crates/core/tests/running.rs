//! Jobs that still run on a node which is out: whether they are put back to work before their end, and by which gates.
mod support;

use support::*;
use triage_core::memory::Memory;
use triage_core::pipeline::{Asked, Input, Need, Output, Running, Trigger, step};
use triage_core::policy::Policy;
use triage_core::*;

/// A policy that ends running jobs.
fn policy() -> Policy {
    let mut policy = acting();
    (policy.job.requeue_running, policy.job.kill_steps_first) = (true, true);
    policy
}

/// The run of [`span`] as it still goes on.
fn running() -> JobSpan {
    let mut span = span(&["n1", "n2"], None);
    span.gpus = (0..8).collect();
    span
}

fn about(job: JobRecord) -> Running {
    Running {
        span: running(),
        job: Asked::Answer(job),
        memory: Asked::Answer(Memory::default()),
        decided: Vec::new(),
    }
}

fn runs() -> JobRecord {
    JobRecord { state: "RUNNING".to_owned(), ..job_record() }
}

/// A health check that finds GPU 3 lost; first the one that drains, then the one that finds our drain standing.
fn health_check(policy: &Policy, change: impl FnOnce(&mut Input<'_>)) -> Output {
    let catalog = catalog();
    let mut first = input(&catalog, policy, Trigger::HealthCheck);
    first.spans = vec![running()];
    first.observations.push(sweep(at(590), with(|gpu| gpu.lost = true)));
    first.node_record = Asked::Answer(node_record("MIXED", ""));
    first.fleet = Asked::Answer(triage_core::fleet::Fleet::default());
    let cases = step(&first).cases;
    let found = cases.iter().find(|case| case.advice.wants_node_out());
    let case = found.unwrap_or_else(|| panic!("no case: {cases:?}")).clone();
    let mut second = input(&catalog, policy, Trigger::HealthCheck);
    second.now = at(660);
    second.spans = vec![running()];
    second.observations.push(sweep(at(650), with(|gpu| gpu.lost = true)));
    second.node_record = Asked::Answer(node_record("DRAINING", &reason::for_case(&case)));
    second.cases = vec![case];
    second.last_reading = Some((BootId::from("b1"), with(|gpu| gpu.lost = true)));
    second.running = Asked::Answer(vec![about(runs())]);
    change(&mut second);
    step(&second)
}

fn kinds(output: &Output) -> Vec<&'static str> {
    output.actions.iter().map(Action::kind).filter(|kind| !matches!(*kind, "drain" | "publish")).collect()
}

#[test]
fn a_running_job_is_ended_only_where_the_policy_says_so() {
    assert_eq!(kinds(&health_check(&policy(), |_| {})), ["kill_steps", "requeue", "clear_begin_time"]);
    let mut gently = policy();
    gently.job.kill_steps_first = false;
    assert_eq!(kinds(&health_check(&gently, |_| {})), ["requeue", "clear_begin_time"]);
    assert_eq!(kinds(&health_check(&acting(), |_| {})), [""; 0]);
    let asked = health_check(&policy(), |pass| pass.running = Asked::NotAsked);
    assert_eq!(asked.needs, [Need::Running]);
    let asked = health_check(&acting(), |pass| pass.running = Asked::NotAsked);
    assert_eq!(asked.needs, [], "as shipped nobody is asked");
}

#[test]
fn a_decision_about_a_running_job_names_its_case_and_is_told_once() {
    let output = health_check(&policy(), |_| {});
    let decision = output.decisions.iter().find(|d| d.intent == Intent::Requeue).expect("a decision").clone();
    assert!(decision.case.is_some() && decision.verdict.is_none() && output.verdicts.is_empty());
    let again = health_check(&policy(), |pass| {
        let mut running = about(runs());
        running.decided = vec![decision];
        pass.running = Asked::Answer(vec![running]);
    });
    assert!(again.decisions.iter().all(|d| d.intent != Intent::Requeue), "{:?}", again.decisions);
}

#[test]
fn what_holds_a_drain_or_a_requeue_leaves_a_running_job_alone() {
    let left_alone = |why: &str, change: &mut dyn FnMut(&mut Input<'_>)| {
        let output = health_check(&policy(), |pass| change(pass));
        assert!(!kinds(&output).contains(&"requeue"), "{why}: {:?}", output.actions);
    };
    left_alone("our drain does not stand", &mut |pass| {
        pass.node_record = Asked::Answer(node_record("MIXED", ""));
        pass.fleet = Asked::Answer(triage_core::fleet::Fleet::default());
    });
    left_alone("somebody else's drain", &mut |pass| {
        pass.node_record = Asked::Answer(node_record("DRAINING", "bad fan"));
    });
    left_alone("another case's drain", &mut |pass| {
        let other = "slurm-triage: xid.48 gpu:0000:62:00.0 [case ffffffff]";
        pass.node_record = Asked::Answer(node_record("DRAINING", other));
    });
    left_alone("only probable", &mut |pass| {
        pass.cases[0].confidence = Confidence::Probable;
        pass.observations.clear();
    });
    left_alone("a user's word", &mut |pass| {
        pass.cases[0].provenance = Provenance::User;
        pass.observations.clear();
    });
    left_alone("long ago, and the job runs on", &mut |pass| {
        pass.now = at(590 + 3 * 3_600);
        pass.observations.clear();
    });
    left_alone("it ends by itself", &mut |pass| {
        pass.running = Asked::Answer(vec![about(JobRecord { completing: true, ..runs() })]);
    });
    left_alone("no batch job", &mut |pass| {
        pass.running = Asked::Answer(vec![about(JobRecord { batch: false, ..runs() })]);
    });
    left_alone("its GPUs are others", &mut |pass| {
        let mut running = about(runs());
        running.span.gpus = vec![0, 1];
        pass.running = Asked::Answer(vec![running]);
    });
    left_alone("the job objects", &mut |pass| {
        let mut running = about(runs());
        running.span.ask = JobAsk::Monitor;
        pass.running = Asked::Answer(vec![running]);
    });
    left_alone("another node is its batch host", &mut |pass| {
        let mut running = about(runs());
        running.span.nodes.reverse();
        pass.running = Asked::Answer(vec![running]);
    });
}
