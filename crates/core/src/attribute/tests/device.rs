//! A part of a node broke.
use super::*;
use crate::{Event, SourceKind};

#[test]
fn a_gpu_that_broke_when_the_stall_began_is_named_and_the_timeouts_are_symptoms() {
    let mut job = Job::running(3);
    job.kernel(1, 400.0, broken("xid.79", gpu(2)))
        .dies(6, 400.8, ABORT)
        .all_time_out(1000.2, 600, &[6])
        .all_killed(1001.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Hardware, "node_fault"));
    assert_eq!(found.culprits, culprit("n2", "gpu:0000:12:00.0"));
    assert_eq!(found.victims.len(), 2);
    assert!(found.faults[0].ended_run);
}

#[test]
fn a_clock_that_is_ten_minutes_ahead_does_not_hide_the_fault() {
    let mut job = Job::new(3);
    for (node, ahead) in [(0, 0.0), (1, 600.0), (2, 0.0)] {
        for local in 0..4 {
            let task = build::rank_of(node, local);
            job.start(node, 1 + ahead as i64);
            job.dies(task, 500.0 + ahead, ABORT);
        }
    }
    job.kernel(1, 1099.0, broken("xid.79", gpu(0)));
    assert_eq!(attribute(&job.evidence).culprits, culprit("n2", "gpu:0000:10:00.0"));
}

#[test]
fn a_fault_on_a_gpu_the_job_does_not_have_drains_but_explains_nothing() {
    let mut job = Job::running(2);
    job.kernel(0, 400.0, broken("xid.79", Resource::from("gpu:0000:77:00.0")))
        .prints(400.5, exception(5))
        .dies(5, 400.9, ExitStatus::Exit(1))
        .all_killed(402.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!(found.class, CauseClass::Application);
    assert_eq!(drained(&found), ["n1"]);
    assert!(!found.faults[0].ended_run);
}

#[test]
fn a_fault_after_the_first_death_did_not_cause_it() {
    let mut job = Job::running(2);
    job.prints(399.0, exception(1)).dies(1, 400.0, ExitStatus::Exit(1)).all_killed(410.0, 15).kernel(
        1,
        420.0,
        broken("xid.95", gpu(1)),
    );
    let found = attribute(&job.evidence);
    assert_eq!(found.class, CauseClass::Application);
    assert_eq!(drained(&found), ["n2"], "the fault still counts against the node");
}

/// Nothing that came after the end ended the run, whoever says so; that the node is broken now stands.
#[test]
fn a_fault_first_seen_after_the_end_is_no_cause_of_it() {
    for source in [SourceKind::Nvml, SourceKind::KernelFile] {
        for (tasks, late, is_cause) in [
            (true, 1.0, true),
            (true, 9.0, false),
            (true, 47.0, false),
            (false, 1.0, true),
            (false, 9.0, false),
        ] {
            let mut job = if tasks { Job::running(1) } else { Job::new(1) };
            if tasks {
                job.dies(0, 999.0, ExitStatus::Exit(1));
            }
            job.evidence.history_of = Some("n1".into());
            job.evidence.nodes[0].nvml = None;
            job.kernel(0, 1000.0 + late, Event { source, ..broken("nvml.gpu_lost", gpu(1)) });
            let found = attribute(&job.evidence);
            let told = (source, tasks, late);
            assert_eq!(found.class == CauseClass::Hardware, is_cause, "{told:?}: {:?}", found.story);
            assert_eq!(drained(&found), ["n1"], "{told:?}");
            let said = found.discounted.iter().any(|one| one.why.contains("after the run had ended"));
            assert_eq!(said, !is_cause, "{told:?}: {:?}", found.discounted);
        }
    }
}

/// The sweep made at the end says that it was so at the end.
#[test]
fn a_gpu_that_the_last_sweep_of_the_run_found_lost_is_its_cause() {
    let mut job = Job::running(1);
    job.dies(0, 999.0, ExitStatus::Exit(1)).nvml(0, 1, |gpu| gpu.lost = true);
    job.kernel(0, 1009.0, Event { source: SourceKind::Nvml, ..broken("nvml.gpu_lost", gpu(1)) });
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Hardware, "node_fault"), "{:?}", found.story);
}

#[test]
fn a_run_that_was_put_back_into_the_queue_failed_of_nothing() {
    let mut job = Job::running(2);
    job.evidence.run.exit = None;
    job.state("REQUEUED").all_killed(1000.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Unknown, "ended_from_outside"));
}

#[test]
fn what_an_earlier_boot_said_is_history() {
    let mut job = Job::running(2);
    job.kernel(1, -150_000.0, broken("xid.79", gpu(0))).prints(399.0, exception(1)).dies(
        1,
        400.0,
        ExitStatus::Exit(1),
    );
    let found = attribute(&job.evidence);
    assert_eq!(found.class, CauseClass::Application);
    assert!(found.faults.is_empty());
    assert!(found.discounted.iter().any(|d| d.why.contains("earlier boot")), "{:?}", found.discounted);
}

#[test]
fn a_fault_before_the_run_that_nvml_no_longer_shows_is_repaired() {
    let mut job = Job::running(2);
    job.kernel(1, -500.0, broken("xid.79", gpu(0))).dies(1, 400.0, ABORT);
    let found = attribute(&job.evidence);
    assert_eq!(found.class, CauseClass::Unknown);
    assert!(found.faults.is_empty());
}

#[test]
fn a_gpu_lost_before_the_run_explains_what_its_node_did_first() {
    let mut job = Job::running(2);
    job.kernel(1, -500.0, broken("xid.79", gpu(0)))
        .nvml(1, 0, |gpu| gpu.lost = true)
        .prints(5.0, line("cuda.unknown", CauseClass::Unknown, Role::Root, Some(4)))
        .dies(4, 6.0, ExitStatus::Exit(1))
        .all_killed(9.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!(
        (found.class, found.culprits.clone()),
        (CauseClass::Hardware, culprit("n2", "gpu:0000:10:00.0"))
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn many_nodes_with_one_code_are_software() {
    let mut job = Job::running(4);
    for node in 0..4 {
        job.kernel(node, 300.0 + node as f64, broken("xid.119", gpu(1)));
    }
    job.all_killed(360.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.culprits.len()), (CauseClass::System, 0));
    assert!(drained(&found).is_empty(), "a bad driver must not empty the cluster");
}

#[test]
fn nvlink_errors_after_a_forced_kill_are_its_aftermath() {
    let mut job = Job::running(2);
    job.state("CANCELLED").all_killed(400.0, 9).kernel(0, 404.0, broken("xid.74", gpu(3)));
    let found = attribute(&job.evidence);
    assert!(found.faults.is_empty());
    assert!(found.discounted[0].why.contains("SIGKILL"), "{:?}", found.discounted);
}

#[test]
fn of_several_gpus_behind_one_switch_the_switch_is_named() {
    let mut job = Job::running(2);
    let switch = Resource::from("nvswitch:0000:05:00.0");
    job.kernel(1, 400.0, broken("xid.74", gpu(0)))
        .kernel(1, 400.1, broken("xid.74", gpu(1)))
        .kernel(1, 400.2, broken("sxid.20034", switch))
        .dies(4, 401.0, ABORT);
    assert_eq!(attribute(&job.evidence).culprits, culprit("n2", "nvswitch:0000:05:00.0"));
}

#[test]
fn a_port_complains_for_the_gpu_behind_it() {
    let mut job = Job::running(2);
    job.kernel(1, 396.0, broken("pcie.fatal", Resource::from("pci:0000:00:03.0")))
        .kernel(1, 400.0, broken("xid.79", gpu(0)))
        .dies(4, 401.0, ABORT);
    assert_eq!(attribute(&job.evidence).culprits, culprit("n2", "gpu:0000:10:00.0"));
}

#[test]
fn an_uncorrectable_error_with_a_row_to_remap_takes_the_node_out() {
    let mut job = Job::running(2);
    let contained = event("xid.94", gpu(1), CauseClass::Hardware, Advice::Requeue);
    let remap = event("xid.63", gpu(1), CauseClass::Hardware, Advice::Watch);
    job.kernel(0, 400.0, contained.clone()).dies(1, 400.4, ABORT).all_killed(402.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!(found.culprits, culprit("n1", "gpu:0000:11:00.0"));
    assert!(drained(&found).is_empty());
    job.kernel(0, 400.1, remap);
    assert_eq!(drained(&attribute(&job.evidence)), ["n1"]);
}

#[test]
fn a_service_that_failed_long_ago_does_not_explain_an_exception() {
    let mut job = Job::running(2);
    let service = crate::Event {
        confidence: Confidence::Probable,
        ..event("service.failed", Resource::from("service:nvidia-dcgm"), CauseClass::System, Advice::Drain)
    };
    job.kernel(1, -3000.0, service.clone())
        .prints(399.5, exception(5))
        .dies(5, 400.0, ExitStatus::Exit(1))
        .all_killed(402.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!(
        (found.class, drained(&found).len()),
        (CauseClass::Application, 1),
        "probable, and not what ended it"
    );
    assert!(!found.faults[0].ended_run && found.faults[0].confidence < Confidence::Confirmed);
    // While the job runs it is no better a reason for time-outs that began elsewhere.
    let mut job = Job::running(2);
    job.kernel(1, 300.0, service).all_time_out(1000.0, 600, &[]).all_killed(1001.0, 6);
    assert_eq!(attribute(&job.evidence).class, CauseClass::Unknown);
}

#[test]
fn a_fault_long_before_the_stall_with_the_job_running_on_did_not_cause_it() {
    let mut job = Job::running(2);
    job.evidence.run.end = Some(at(4000.0));
    job.kernel(1, 1000.0, broken("xid.94", gpu(1))).all_time_out(3600.0, 600, &[]).all_killed(3602.0, 6);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, drained(&found)), (CauseClass::Unknown, vec!["n2"]));
}

#[test]
fn old_news_of_this_boot_drains_nobody_unless_nvml_still_shows_it() {
    let mut job = Job::running(2);
    job.kernel(0, -90_000.0, broken("kernel.oops", Resource::Host))
        .kernel(1, -90_000.0, broken("xid.79", gpu(0)))
        .prints(399.5, exception(5))
        .dies(5, 400.0, ExitStatus::Exit(1))
        .all_killed(402.0, 15);
    job.evidence.nodes[1].nvml = None;
    assert!(attribute(&job.evidence).faults.iter().all(|fault| fault.confidence < Confidence::Confirmed));
    let mut job = Job::running(2);
    job.kernel(1, -90_000.0, broken("xid.79", gpu(0)))
        .nvml(1, 0, |gpu| gpu.lost = true)
        .dies(5, 400.0, ABORT);
    assert_eq!(drained(&attribute(&job.evidence)), ["n2"]);
}
