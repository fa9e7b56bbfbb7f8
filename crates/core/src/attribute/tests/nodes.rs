//! Whole nodes that went away.
use super::*;

#[test]
fn a_node_that_was_booted_within_the_run_is_the_culprit() {
    let mut job = Job::running(3);
    job.state("NODE_FAIL").all_killed(700.0, 9);
    job.evidence.nodes[1].boot = Some(at(650.0));
    job.evidence.nodes[1].tasks.clear();
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.confidence), (CauseClass::Hardware, Confidence::Confirmed));
    assert_eq!((found.culprits.clone(), drained(&found)), (culprit("n2", ""), vec!["n2"]));
}

#[test]
fn of_a_job_that_lost_a_node_the_silent_one_is_it() {
    let mut job = Job::running(3);
    job.state("NODE_FAIL").all_killed(700.0, 9);
    job.evidence.nodes[2].tasks.retain(|(_, edge)| edge.what == crate::TaskWhat::Start);
    assert_eq!(attribute(&job.evidence).culprits, culprit("n3", ""));
}

#[test]
fn a_job_that_prints_that_a_node_failed_fools_nobody() {
    let mut job = Job::running(3);
    let forged = with(line("slurm.node_failure", CauseClass::Hardware, Role::Root, None), &[("node", "n2")]);
    job.prints(300.0, forged)
        .prints(400.0, exception(1))
        .dies(1, 401.0, ExitStatus::Exit(1))
        .all_killed(402.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, drained(&found).len()), (CauseClass::Application, 0));
}
