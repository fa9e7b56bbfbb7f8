//! The rules, each by its own scene.
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

mod device {
    use super::*;

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
}

mod teardown {
    use super::*;

    #[test]
    fn gpu_errors_of_a_dying_job_are_discounted() {
        let mut job = Job::running(2);
        let segfault =
            event("process.segfault", Resource::Process(5006), CauseClass::Application, Advice::None);
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
}

mod links {
    use super::*;

    fn down() -> crate::Event {
        let role = Role::Either;
        crate::Event {
            role,
            ..event("mlx5.link_down", Resource::from("nic:mlx5_0"), CauseClass::Network, Advice::None)
        }
    }

    fn retry(rank: u32, peer: &str) -> OutputEvent {
        with(line("nccl.ib_retry", CauseClass::Network, Role::Root, Some(rank)), &[("peer", peer)])
    }

    #[test]
    fn the_one_node_that_lost_its_link_is_at_fault_not_those_that_complain_of_it() {
        let mut job = Job::running(4);
        job.kernel(2, 400.0, down())
            .port(2, 0, |port| {
                port.state = "down".to_owned();
                port.link_downed = Some(1);
            })
            .prints(424.0, retry(4, "10.0.0.3"))
            .prints(424.1, retry(12, "10.0.0.3"))
            .all_killed(426.0, 6);
        let found = attribute(&job.evidence);
        assert_eq!(
            (found.class, found.culprits.clone()),
            (CauseClass::Hardware, culprit("n3", "nic:mlx5_0"))
        );
        assert_eq!(drained(&found), ["n3"]);
        assert_eq!(found.confidence, Confidence::Confirmed);
    }

    #[test]
    fn nodes_that_lose_their_links_together_share_a_switch() {
        let mut job = Job::running(6);
        for node in 2..6 {
            job.kernel(node, 400.0 + 0.1 * node as f64, down());
        }
        job.prints(424.0, retry(4, "10.0.0.3")).all_killed(426.0, 6);
        let found = attribute(&job.evidence);
        assert_eq!((found.class, found.rule), (CauseClass::Network, "group_lost_links"));
        assert!(found.culprits.is_empty() && drained(&found).is_empty());
    }

    #[test]
    fn a_port_nobody_cabled_means_nothing() {
        let mut job = Job::running(3);
        for node in 0..3 {
            job.port(node, 1, |port| port.state = "down".to_owned());
        }
        job.prints(424.0, retry(4, "10.0.0.3")).all_killed(426.0, 6);
        let found = attribute(&job.evidence);
        assert_eq!((found.class, found.rule), (CauseClass::Network, "network_errors"));
        assert!(found.culprits.is_empty());
    }

    #[test]
    fn a_flap_hours_before_that_healed_is_not_the_cause() {
        let mut job = Job::running(3);
        job.evidence.run.start = at(-20_000.0);
        job.kernel(1, -10_000.0, down()).prints(399.0, exception(3)).dies(3, 400.0, ExitStatus::Exit(1));
        let found = attribute(&job.evidence);
        assert_eq!((found.class, drained(&found).len()), (CauseClass::Application, 0));
    }

    #[test]
    fn the_port_that_counts_errors_is_at_fault_when_retries_over_it_run_out() {
        let mut job = Job::running(3);
        job.port(1, 0, |port| port.symbol_errors = Some(52_000))
            .prints(424.0, retry(8, "10.0.0.2"))
            .all_killed(426.0, 6);
        assert_eq!(attribute(&job.evidence).culprits, culprit("n2", "nic:mlx5_0"));
    }

    #[test]
    fn retries_to_a_rank_that_died_before_are_no_network_trouble() {
        let mut job = Job::running(3);
        job.dies(9, 400.0, ExitStatus::Signal(9)).prints(421.0, retry(4, "10.0.0.3")).all_killed(426.0, 6);
        assert_eq!(attribute(&job.evidence).class, CauseClass::Unknown);
    }
}

mod memory {
    use super::*;

    fn kill(pid: u32, cgroup: bool, by_owner: &[(u32, u64)]) -> OomKill {
        OomKill {
            at: at(400.0),
            pid,
            uid: Some(7001),
            cgroup,
            by_owner: by_owner.to_vec(),
            text: "oom-kill".to_owned(),
            ..OomKill::default()
        }
    }

    fn scene_with(kill: OomKill) -> Attribution {
        let mut job = Job::running(2);
        job.evidence.nodes[1].oom.push(kill);
        job.dies(5, 400.4, ExitStatus::Signal(9)).all_killed(404.0, 15);
        attribute(&job.evidence)
    }

    #[test]
    fn a_job_that_meets_its_own_limit_is_its_own_doing() {
        let found = scene_with(kill(5005, true, &[]));
        assert_eq!((found.class, found.rule), (CauseClass::Application, "out_of_memory"));
        assert!(found.culprits.is_empty());
    }

    #[test]
    fn a_machine_filled_by_somebody_else_is_the_machines_trouble() {
        let found = scene_with(kill(5005, false, &[(0, 900), (7001, 30)]));
        assert_eq!((found.class, found.culprits.clone()), (CauseClass::System, culprit("n2", "")));
        let found = scene_with(kill(5005, false, &[(7001, 900), (0, 30)]));
        assert_eq!(found.class, CauseClass::Application);
    }

    #[test]
    fn a_kill_in_another_jobs_cgroup_is_none_of_ours() {
        let other = OomKill { task_memcg: "/slurm/job_999/step_0".to_owned(), ..kill(31, true, &[]) };
        assert_ne!(scene_with(other).rule, "out_of_memory");
    }

    #[test]
    fn slurms_word_is_enough() {
        let mut job = Job::running(2);
        job.state("OUT_OF_MEMORY").dies(5, 400.4, ExitStatus::Signal(9)).all_killed(404.0, 15);
        assert_eq!(attribute(&job.evidence).class, CauseClass::Application);
    }
}

mod errors {
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
}

mod nodes {
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
        let forged =
            with(line("slurm.node_failure", CauseClass::Hardware, Role::Root, None), &[("node", "n2")]);
        job.prints(300.0, forged)
            .prints(400.0, exception(1))
            .dies(1, 401.0, ExitStatus::Exit(1))
            .all_killed(402.0, 15);
        let found = attribute(&job.evidence);
        assert_eq!((found.class, drained(&found).len()), (CauseClass::Application, 0));
    }
}

mod pattern {
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
}

mod history {
    use super::*;

    fn past(user: &str, nodes: &[&str], signature: &str, culprit: Option<(&str, Resource)>) -> PastRun {
        PastRun {
            job: "600".to_owned(),
            user: user.to_owned(),
            at: at(-86_400.0),
            nodes: nodes.iter().map(|n| NodeName::from(*n)).collect(),
            class: "unknown".to_owned(),
            signature: signature.to_owned(),
            culprits: culprit
                .into_iter()
                .map(|(node, resource)| PastCulprit { node: node.into(), resource: Some(resource) })
                .collect(),
        }
    }

    fn one_gpu_exception() -> Job {
        let mut job = Job::running(2);
        job.kernel(1, 400.0, event("xid.13", gpu(1), CauseClass::Application, Advice::None))
            .prints(400.1, line("cuda.illegal_access", CauseClass::Application, Role::Root, Some(5)))
            .dies(5, 401.0, ABORT)
            .all_killed(403.0, 15);
        job
    }

    #[test]
    fn one_gpu_exception_alone_is_the_programs() {
        assert_eq!(attribute(&one_gpu_exception().evidence).class, CauseClass::Application);
    }

    #[test]
    fn the_same_gpu_in_the_jobs_of_several_users_is_hardware() {
        let mut job = one_gpu_exception();
        job.evidence.history = vec![
            past("bob", &["n2"], "xid.13", Some(("n2", gpu(1)))),
            past("eve", &["n2", "n9"], "xid.13", Some(("n2", gpu(1)))),
        ];
        let found = attribute(&job.evidence);
        assert_eq!(
            (found.class, found.culprits.clone()),
            (CauseClass::Hardware, culprit("n2", "gpu:0000:11:00.0"))
        );
        assert_eq!(drained(&found), ["n2"]);
        job.evidence.history.iter_mut().for_each(|past| past.user = "bob".to_owned());
        assert_eq!(attribute(&job.evidence).class, CauseClass::Application, "one other user proves nothing");
    }

    #[test]
    fn the_same_failure_of_the_same_user_elsewhere_is_the_program() {
        let mut job = Job::running(2);
        job.all_time_out(900.0, 600, &[]).all_killed(905.0, 6);
        job.evidence.history = vec![
            past("ann", &["n7", "n8"], "nccl.watchdog_timeout", None),
            past("ann", &["n5", "n6"], "nccl.watchdog_timeout", None),
        ];
        assert_eq!(attribute(&job.evidence).rule, "same_failure_elsewhere");
    }

    #[test]
    fn a_node_in_failed_jobs_of_several_users_is_suspect_when_nothing_else_speaks() {
        let mut job = Job::running(3);
        job.all_time_out(900.0, 600, &[]).all_killed(905.0, 6);
        for (user, other) in [("bob", "n7"), ("eve", "n8"), ("joe", "n9")] {
            job.evidence.history.push(past(user, &["n2", other], "nccl.watchdog_timeout", None));
        }
        assert_eq!(attribute(&job.evidence).culprits, culprit("n2", ""));
    }
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
