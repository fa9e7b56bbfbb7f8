//! A drill goes the way of a real fault, marked to the end, and acts only with leave.
mod support;

use support::*;
use triage_core::pipeline::{Asked, Output, Trigger, step};
use triage_core::{Action, Advice, Confidence, Observation, drill};

const XID: &str = "NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.";

fn pass(observation: Observation) -> Output {
    let (catalog, policy) = (catalog(), acting());
    let mut input = input(&catalog, &policy, Trigger::HealthCheck);
    input.observations = vec![observation];
    input.node_record = Asked::Answer(node_record("IDLE", ""));
    step(&input)
}

fn drill_line(act: bool) -> Observation {
    Observation { synthetic: true, stream: drill::stream(act).to_owned(), ..line(at(0), XID) }
}

#[test]
fn a_drill_without_leave_is_decided_about_and_held_even_where_policy_acts() {
    let output = pass(drill_line(false));
    assert_eq!(output.events[0].fields[drill::FIELD], "monitor");
    assert!(output.cases[0].synthetic && output.cases[0].stood_down);
    let held = output.decisions.iter().find_map(|decision| decision.held_by()).unwrap();
    assert_eq!(held.name, "stand_down");
    assert!(output.actions.is_empty(), "{:?}", output.actions);
}

#[test]
fn a_drill_with_leave_drains_and_says_what_it_is() {
    let output = pass(drill_line(true));
    assert!(output.cases[0].synthetic && !output.cases[0].stood_down);
    let Some(Action::Drain { reason, .. }) = output.actions.first() else { panic!("{:?}", output.actions) };
    assert!(reason.ends_with("(drill)"), "{reason}");
}

#[test]
fn a_stream_that_only_has_a_drills_name_is_a_real_fault() {
    let output = pass(Observation { synthetic: false, ..drill_line(false) });
    assert!(!output.events[0].fields.contains_key(drill::FIELD));
    assert!(!output.cases[0].synthetic && !output.cases[0].stood_down);
    assert!(output.actions.iter().any(|action| matches!(action, Action::Drain { .. })));
}

#[test]
fn a_drill_makes_no_real_case_surer() {
    let (catalog, policy) = (catalog(), acting());
    let mut real = pass(Observation { synthetic: false, stream: String::new(), ..drill_line(false) }).cases;
    (real[0].confidence, real[0].advice) = (Confidence::Suspected, Advice::Watch);
    for act in [false, true] {
        let mut input = input(&catalog, &policy, Trigger::HealthCheck);
        input.cases = real.clone();
        input.observations = vec![Observation { at: at(300), cursor: 7, ..drill_line(act) }];
        input.node_record = Asked::Answer(node_record("IDLE", ""));
        let output = step(&input);
        assert!(output.actions.is_empty(), "{:?}", output.actions);
        assert!(output.cases.iter().all(|case| case.synthetic || case.confidence == Confidence::Suspected));
    }
}
