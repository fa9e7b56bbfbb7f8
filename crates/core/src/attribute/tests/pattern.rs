//! Only symptoms.
use super::*;

#[test]
fn a_rank_that_alone_did_not_come_is_told_but_not_blamed() {
    let mut job = Job::running(3);
    job.all_time_out(900.0, 600, &[5]).all_killed(905.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Unknown, "laggard_rank"));
    assert!(found.culprits.is_empty() && found.faults.is_empty());
    assert!(found.story.iter().any(|line| line.contains("rank 5 on n2")), "{:?}", found.story);
}

#[test]
fn ranks_in_different_collectives_are_the_programs_doing() {
    let mut job = Job::running(2);
    job.all_time_out(900.0, 600, &[5]);
    let other = with(
        timeout(5, 77, 600),
        &[("seq", "77"), ("op", "ALLGATHER"), ("numel_in", "9"), ("ran_ms", "600000")],
    );
    job.prints(900.1, other).all_killed(905.0, 6);
    assert_eq!(attribute(&job.evidence).rule, "mismatched_collectives");
}

#[test]
fn a_hot_gpu_on_one_node_explains_a_stall() {
    let mut job = Job::running(3);
    job.all_time_out(900.0, 600, &[]).all_killed(905.0, 6);
    job.nvml(1, 3, |gpu| gpu.throttle = Some(vec!["hw_thermal".to_owned()]));
    assert_eq!(attribute(&job.evidence).culprits, culprit("n2", "gpu:0000:13:00.0"));
    job.nvml(1, 3, |gpu| gpu.throttle = Some(vec!["sw_power_cap".to_owned()]));
    assert_eq!(attribute(&job.evidence).class, CauseClass::Unknown);
}

#[test]
fn a_world_that_is_larger_than_the_job_is_a_wrong_setting() {
    let mut job = Job::running(2);
    let waiting = with(
        line("torch.store_timeout", CauseClass::Unknown, Role::Symptom, Some(0)),
        &[("joined", "8"), ("wanted", "16")],
    );
    job.prints(610.0, waiting).all_killed(612.0, 15);
    assert_eq!(attribute(&job.evidence).rule, "not_all_joined");
}
