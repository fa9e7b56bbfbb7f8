//! What people put on hold is decided about as ever, and not done.
mod support;

use support::*;
use triage_core::pipeline::{Asked, Trigger, step};
use triage_core::*;

fn hold(on: HoldOn, until: Option<Stamp>) -> Hold {
    Hold { on, at: at(0), until, by: "ada".to_owned(), reason: "burn-in".to_owned() }
}

fn lost() -> Observation {
    sweep(at(590), with(|gpu| gpu.lost = true))
}

/// What a pass over a lost GPU under a failed job wants, with these holds.
fn pass(trigger: Trigger, holds: Vec<Hold>) -> pipeline::Output {
    let (catalog, policy) = (catalog(), acting());
    let mut input = input(&catalog, &policy, trigger);
    input.node_record = Asked::Answer(node_record("IDLE", ""));
    input.job = Asked::Answer(job_record());
    input.span = Some(span(&["n1"], (trigger == Trigger::Epilog).then_some(ExitStatus::Exit(1))));
    input.observations.push(lost());
    input.holds = holds;
    step(&input)
}

/// What is done. The second look after a drain is of no interest here.
fn kinds(output: &pipeline::Output) -> Vec<&'static str> {
    output.actions.iter().map(Action::kind).filter(|kind| *kind != "confirm_drain").collect()
}

#[test]
fn a_node_on_hold_is_neither_drained_nor_does_it_refuse_or_requeue() {
    let on = || vec![hold(HoldOn::Node(NodeName::from("n1")), None)];
    assert_eq!(kinds(&pass(Trigger::Epilog, vec![])), ["drain", "requeue", "clear_begin_time"]);
    assert_eq!(pass(Trigger::Epilog, on()).actions, []);
    assert_eq!(pass(Trigger::Prolog, on()).actions, []);
    let output = pass(Trigger::Epilog, on());
    for decision in output.decisions.iter().filter(|decision| decision.intent != Intent::Note) {
        let gate = decision.held_by().unwrap();
        assert_eq!(gate.name, "operator_hold", "{}", decision.intent);
        assert!(gate.why.contains("ada") && gate.why.contains("burn-in"), "{}", gate.why);
    }
}

#[test]
fn a_held_job_is_not_requeued_and_its_node_is_drained_all_the_same() {
    let job = HoldOn::Job(JobName { job: 42, task: None });
    assert_eq!(kinds(&pass(Trigger::Epilog, vec![hold(job, None)])), ["drain"]);
}

#[test]
fn a_held_case_moves_neither_its_node_nor_the_job_that_died_of_it() {
    let case = pass(Trigger::Epilog, vec![]).cases[0].id.clone();
    assert_eq!(pass(Trigger::Epilog, vec![hold(HoldOn::Case(case), None)]).actions, []);
}

#[test]
fn a_hold_that_has_run_out_or_is_on_something_else_holds_nothing() {
    for other in [
        hold(HoldOn::Node(NodeName::from("n1")), Some(at(600))),
        hold(HoldOn::Node(NodeName::from("n2")), None),
        hold(HoldOn::Case(CaseId::from("00000000")), None),
        hold(HoldOn::Job(JobName { job: 43, task: None }), None),
    ] {
        let wanted = kinds(&pass(Trigger::Epilog, vec![other.clone()]));
        assert_eq!(wanted, ["drain", "requeue", "clear_begin_time"], "{other:?}");
    }
}
