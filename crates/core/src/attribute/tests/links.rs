//! Links that went down.
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
    assert_eq!((found.class, found.culprits.clone()), (CauseClass::Hardware, culprit("n3", "nic:mlx5_0")));
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

#[test]
fn a_link_that_was_well_again_minutes_before_did_no_harm() {
    let mut job = Job::running(3);
    let up = crate::Event {
        class: CauseClass::None,
        ..playing(Role::Recovery, "mlx5.link_up", Resource::from("nic:mlx5_0"))
    };
    job.kernel(1, 200.0, down())
        .kernel(1, 209.0, up)
        .prints(400.0, exception(3))
        .dies(3, 400.5, ExitStatus::Exit(1))
        .prints(402.0, retry(4, "10.0.0.1"))
        .all_killed(404.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, drained(&found).len()), (CauseClass::Application, 0));
}

#[test]
fn a_link_that_no_job_uses_blames_nobody() {
    let mut job = Job::running(3);
    let own = crate::Event {
        resource: Resource::from("nic:eno1"),
        text: "igb eno1: NIC Link is Down".to_owned(),
        ..down()
    };
    job.kernel(1, 398.0, own).prints(424.0, retry(4, "10.0.0.1")).all_killed(426.0, 6);
    assert!(attribute(&job.evidence).culprits.is_empty());
}
