//! What the processes said before they ended.
use super::*;

#[test]
fn the_first_error_is_the_cause_and_closed_connections_are_echoes() {
    let mut job = Job::running(3);
    job.prints(400.0, exception(7)).dies(7, 401.0, ExitStatus::Exit(1));
    for rank in 0..12 {
        job.prints(401.5, line("nccl.peer_closed", CauseClass::Unknown, Role::Symptom, Some(rank)));
        job.prints(402.0, exception(rank));
    }
    job.all_killed(403.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.confidence), (CauseClass::Application, Confidence::Probable));
    assert!(found.culprits.is_empty());
}

#[test]
fn an_error_that_the_job_survived_did_not_end_it() {
    let mut job = Job::running(3);
    job.prints(100.0, OutputEvent { survived: true, ..exception(7) }).dies(7, 401.0, ABORT);
    assert_eq!(attribute(&job.evidence).class, CauseClass::Unknown);
}

#[test]
fn a_job_that_calls_a_gpu_broken_is_not_believed_against_the_kernel_and_nvml() {
    let mut job = Job::running(2);
    job.prints(398.0, line("cuda.ecc", CauseClass::Hardware, Role::Root, Some(3)))
        .prints(400.0, exception(3))
        .dies(3, 400.8, ExitStatus::Exit(1))
        .all_killed(402.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.culprits.len()), (CauseClass::Application, 0));
    assert!(found.discounted.iter().any(|d| d.evidence.code.as_str() == "cuda.ecc"));
}

#[test]
fn where_nobody_could_know_better_the_jobs_word_makes_a_node_suspect_and_no_more() {
    let mut job = Job::running(2);
    job.evidence.nodes[0].kernel_read = false;
    job.evidence.nodes[0].blind.push("the kernel log could not be read".to_owned());
    job.prints(400.0, line("cuda.ecc", CauseClass::Hardware, Role::Root, Some(3))).dies(3, 400.8, ABORT);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.confidence), (CauseClass::Hardware, Confidence::Suspected));
    assert_eq!(found.culprits, culprit("n1", ""));
    assert!(found.faults.is_empty(), "user evidence never makes a fault");
    assert_eq!(found.blind.len(), 1);
}

#[test]
fn what_all_ranks_of_one_node_alone_cannot_do_is_that_nodes_setup() {
    let mut job = Job::running(3);
    for rank in 4..8 {
        job.prints(10.0, line("python.import_error", CauseClass::Application, Role::Root, Some(rank)));
        job.dies(rank, 10.5, ExitStatus::Exit(1));
    }
    job.all_killed(14.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.confidence), (CauseClass::System, Confidence::Suspected));
    assert_eq!(found.culprits, culprit("n2", ""));
}

#[test]
fn what_all_ranks_cannot_do_is_the_programs() {
    let mut job = Job::running(3);
    for rank in 0..12 {
        job.prints(10.0, line("python.import_error", CauseClass::Application, Role::Root, Some(rank)));
        job.dies(rank, 10.5, ExitStatus::Exit(1));
    }
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.culprits.len()), (CauseClass::Application, 0));
}

#[test]
fn an_assertion_explains_the_launch_failure_of_the_same_moment() {
    let mut job = Job::running(2);
    job.prints(400.0, line("cuda.launch_failure", CauseClass::Unknown, Role::Root, Some(2)))
        .prints(400.2, line("cuda.device_assert", CauseClass::Application, Role::Root, Some(2)))
        .dies(2, 401.0, ABORT);
    assert_eq!(attribute(&job.evidence).class, CauseClass::Application);
}

#[test]
fn on_a_single_node_a_driver_mismatch_may_be_the_containers() {
    let mut job = Job::running(1);
    let refused = event("nvidia.version_mismatch", Resource::Host, CauseClass::System, Advice::Watch);
    job.kernel(0, 9.0, crate::Event { confidence: Confidence::Suspected, ..refused })
        .prints(10.0, line("cuda.driver_mismatch", CauseClass::System, Role::Root, None))
        .all_killed(12.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.culprits.len(), drained(&found).len()), (CauseClass::System, 0, 0));
}

#[test]
fn on_one_node_of_several_it_is_the_nodes_when_its_kernel_agrees() {
    let mut job = Job::running(3);
    let refused = event("nvidia.version_mismatch", Resource::Host, CauseClass::System, Advice::Watch);
    job.kernel(1, 9.0, crate::Event { confidence: Confidence::Suspected, ..refused });
    for rank in 4..8 {
        job.prints(10.0, line("cuda.driver_mismatch", CauseClass::System, Role::Root, Some(rank)));
        job.dies(rank, 10.5, ExitStatus::Exit(1));
    }
    job.all_killed(15.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.culprits.clone(), drained(&found)), (culprit("n2", ""), vec!["n2"]));
}
