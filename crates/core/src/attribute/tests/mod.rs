//! The rules, each by its own scene.
mod device;
mod errors;
mod extremes;
mod history;
mod links;
mod memory;
mod nodes;
mod pattern;
mod teardown;

use super::build::{Job, at, broken, event, exception, gpu, line, playing, timeout, with};
use super::*;
use crate::{Advice, ExitStatus, Resource, Role};

const ABORT: ExitStatus = ExitStatus::Signal(6);

fn culprit(node: &str, resource: &str) -> Vec<Culprit> {
    let resource = (!resource.is_empty()).then(|| Resource::from(resource));
    vec![Culprit { node: node.into(), resource }]
}

fn drained(attribution: &Attribution) -> Vec<&str> {
    let out = attribution
        .faults
        .iter()
        .filter(|f| f.advice.wants_node_out() && f.confidence >= Confidence::Probable);
    out.map(|fault| fault.node.as_str()).collect()
}

#[test]
fn a_run_that_completed_gets_no_verdict() {
    let mut job = Job::running(2);
    job.state("COMPLETED").prints(400.0, exception(3)).prints(410.0, timeout(1, 3, 30));
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::None, "went_well"));
    assert!(found.evidence.is_empty() && found.culprits.is_empty());
}

#[test]
fn a_fault_under_a_run_that_completed_still_counts_against_its_node() {
    let mut job = Job::running(2);
    job.state("COMPLETED").kernel(1, 400.0, broken("xid.95", gpu(0)));
    let found = attribute(&job.evidence);
    assert_eq!((found.class, drained(&found)), (CauseClass::None, vec!["n2"]));
}

#[test]
fn with_nothing_to_go_by_the_answer_is_unknown() {
    let mut job = Job::running(2);
    job.all_killed(900.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.confidence), (CauseClass::Unknown, Confidence::Suspected));
    assert!(found.culprits.is_empty());
}

#[test]
fn a_story_is_short() {
    let mut job = Job::running(3);
    job.kernel(1, 400.0, broken("xid.79", gpu(2))).dies(6, 400.8, ABORT).all_time_out(1000.2, 600, &[6]);
    let story = attribute(&job.evidence).story;
    assert!(story.len() <= 10 && story.iter().all(|line| line.chars().count() <= 201), "{story:?}");
}

#[test]
fn nothing_at_all_is_no_panic() {
    let found = attribute(&JobEvidence::default());
    assert!(found.culprits.is_empty());
}
