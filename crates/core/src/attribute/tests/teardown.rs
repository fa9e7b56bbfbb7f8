//! What a dying job throws off.
use super::*;

#[test]
fn gpu_errors_of_a_dying_job_are_discounted() {
    let mut job = Job::running(2);
    let segfault = event("process.segfault", Resource::Process(5006), CauseClass::Application, Advice::None);
    job.kernel(1, 400.0, segfault).dies(6, 400.9, ExitStatus::Signal(11)).all_killed(402.0, 9);
    for number in 0..4 {
        job.kernel(0, 402.4, playing(Role::Teardown, "xid.45", gpu(number)));
        job.kernel(1, 402.4, playing(Role::Symptom, "xid.43", gpu(number)));
    }
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Application, "first_error"));
    assert!(found.faults.is_empty());
    let counts: Vec<u64> = found.discounted.iter().map(|d| d.count).collect();
    assert_eq!(counts, [4, 4]);
}

#[test]
fn what_is_printed_while_slurm_takes_the_job_down_did_not_end_it() {
    for state in ["PREEMPTED", "CANCELLED by 1000", "TIMEOUT"] {
        let mut job = Job::running(2);
        job.state(state).all_killed(990.0, 15).prints(991.0, exception(3));
        let found = attribute(&job.evidence);
        assert_eq!(found.rule, "ended_from_outside", "{state}");
        assert!(found.culprits.is_empty() && found.faults.is_empty());
        assert_eq!(found.discounted.len(), 1);
    }
}

#[test]
fn a_gpu_that_broke_before_the_time_limit_is_still_the_cause() {
    let mut job = Job::running(2);
    job.state("TIMEOUT").kernel(0, 500.0, broken("xid.119", gpu(0))).all_killed(995.0, 15);
    assert_eq!(attribute(&job.evidence).culprits, culprit("n1", "gpu:0000:10:00.0"));
}

#[test]
fn an_error_long_before_the_cancel_is_the_cause() {
    let mut job = Job::running(2);
    job.state("CANCELLED")
        .prints(399.0, exception(3))
        .dies(3, 400.0, ExitStatus::Exit(1))
        .all_killed(990.0, 15);
    assert_eq!(attribute(&job.evidence).class, CauseClass::Application);
}

#[test]
fn a_run_that_stood_still_for_hours_before_its_time_limit_did_so_since_its_gpu_broke() {
    let mut job = Job::running(2);
    job.evidence.run.end = Some(at(20_000.0));
    job.state("TIMEOUT").kernel(0, 500.0, broken("xid.119", gpu(0))).all_killed(19_990.0, 15);
    assert_eq!(attribute(&job.evidence).culprits, culprit("n1", "gpu:0000:10:00.0"));
}
