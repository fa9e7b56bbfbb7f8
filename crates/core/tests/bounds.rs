//! Gates and brakes from outside: what holds an action back that every piece of evidence asks for.
mod support;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::fleet::{Fleet, Switch};
use triage_core::memory::{Memory, PastCase, PastCause, PastRun};
use triage_core::pipeline::{Asked, Input, Need, Output, Trigger, step};
use triage_core::policy::{Glob, Hosts, Policy, Repeats, Rule};
use triage_core::*;

fn lost<'a>(catalog: &'a Catalog, policy: &'a Policy) -> Input<'a> {
    let mut input = input(catalog, policy, Trigger::HealthCheck);
    input.observations.push(sweep(at(590), with(|gpu| gpu.lost = true)));
    input.node_record = Asked::Answer(node_record("IDLE", ""));
    input
}

fn held(output: &Output) -> Option<&str> {
    output.decisions.iter().find_map(|d| d.held_by()).map(|gate| gate.name.as_str())
}

fn drains(output: &Output) -> bool {
    output.actions.iter().any(|action| matches!(action, Action::Drain { .. }))
}

/// The next pass has what came of this one.
fn remember(input: &mut Input<'_>, output: &Output) {
    input.cases.clone_from(&output.cases);
    input.decided.clone_from(&output.decisions);
}

fn out(name: &str, at: Stamp) -> NodeRecord {
    NodeRecord {
        node: NodeName::from(name),
        state: vec!["DRAINED".to_owned()],
        reason: "slurm-triage: xid.79 gpu [case 0a0b0c0d]".to_owned(),
        reason_at: Some(at),
        partitions: vec!["p".to_owned()],
        ..NodeRecord::default()
    }
}

fn fleet(out_by_us: usize, when: Stamp) -> Fleet {
    let mut nodes: Vec<NodeRecord> = (0..out_by_us).map(|n| out(&format!("x{n}"), when)).collect();
    nodes.extend((0..100).map(|n| NodeRecord {
        node: NodeName::from(format!("n{n}").as_str()),
        state: vec!["IDLE".to_owned()],
        partitions: vec!["p".to_owned()],
        ..NodeRecord::default()
    }));
    Fleet { nodes, ..Fleet::default() }
}

#[test]
fn before_a_drain_the_others_are_counted_and_in_monitor_mode_nobody_is() {
    let (catalog, acting, monitor) = (catalog(), acting(), Policy::default());
    for (policy, expect) in [(&acting, vec![Need::Fleet]), (&monitor, vec![])] {
        let mut input = lost(&catalog, policy);
        input.fleet = Asked::NotAsked;
        let output = step(&input);
        assert_eq!((output.needs, output.actions), (expect, vec![]));
    }
}

#[test]
fn a_brake_holds_the_drain_and_says_how_many_are_out() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    input.fleet = Asked::Answer(fleet(4, at(500)));
    let output = step(&input);
    assert_eq!(held(&output), Some("brake"));
    let why = &output.decisions[0].held_by().unwrap().why;
    assert!(why.starts_with("4 nodes since") && why.ends_with("at most 4"), "{why}");
    assert!(!drains(&output));
    // An hour later the window has passed, and the next may go.
    input.fleet = Asked::Answer(fleet(4, at(-3_600)));
    assert!(drains(&step(&input)));
}

#[test]
fn a_brake_that_held_lets_the_drain_through_once_it_is_free() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    input.fleet = Asked::Answer(fleet(4, at(500)));
    let first = step(&input);
    remember(&mut input, &first);
    input.fleet = Asked::Answer(fleet(0, at(0)));
    input.now = at(1_260);
    let second = step(&input);
    assert!(drains(&second));
    assert_ne!(first.decisions[0].id, second.decisions[0].id, "a new decision, so that its intent is new");
}

#[test]
fn a_node_that_a_brake_keeps_in_service_refuses_no_jobs_either() {
    let (catalog, policy) = (catalog(), acting());
    let mut check = lost(&catalog, &policy);
    check.fleet = Asked::Answer(fleet(4, at(500)));
    let first = step(&check);
    let mut prolog = input(&catalog, &policy, Trigger::Prolog);
    prolog.span = Some(span(&["n1"], None));
    remember(&mut prolog, &first);
    prolog.fleet = Asked::NotAsked;
    for later in [0, 86_400] {
        prolog.now = check.now.plus_secs(later);
        assert_eq!(step(&prolog).actions, [], "it is neither refused nor drained: a prolog looks at nobody");
    }
}

/// Another gate, or a person, may have held the drain since: that nobody looked does not make room.
#[test]
fn what_a_brake_holds_stays_held_while_something_else_holds_it_as_well() {
    let (catalog, policy) = (catalog(), acting());
    let mut check = lost(&catalog, &policy);
    check.fleet = Asked::Answer(fleet(4, at(500)));
    let first = step(&check);
    for by_person in [true, false] {
        // Before and after the next look is due.
        for later in [60, 3_600] {
            let mut second = input(&catalog, &policy, Trigger::HealthCheck);
            second.now = check.now.plus_secs(later);
            remember(&mut second, &first);
            second.fleet = Asked::NotAsked;
            let state = if by_person { "IDLE" } else { "MAINTENANCE" };
            second.node_record = Asked::Answer(node_record(state, ""));
            let hold = Hold {
                on: HoldOn::Node(NodeName::from("n1")),
                at: second.now,
                until: Some(second.now.plus_secs(30)),
                by: "ada".to_owned(),
                reason: "burn-in".to_owned(),
            };
            second.holds = if by_person { vec![hold] } else { Vec::new() };
            let held_again = step(&second);
            let by = if by_person { "operator_hold" } else { "reservation" };
            assert_eq!((held(&held_again), drains(&held_again)), (Some(by), false));
            let mut prolog = input(&catalog, &policy, Trigger::Prolog);
            prolog.now = second.now.plus_secs(40);
            prolog.span = Some(span(&["n1"], None));
            prolog.cases = first.cases.clone();
            prolog.decided = held_again.decisions.clone();
            prolog.fleet = Asked::NotAsked;
            assert_eq!(step(&prolog).actions, [], "{by}, {later} s later");
        }
    }
}

#[test]
fn a_look_by_a_clock_that_was_ahead_does_not_put_off_the_next_one() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    input.fleet = Asked::Answer(fleet(32, at(500)));
    input.now = at(400 * 86_400);
    let first = step(&input);
    assert_eq!(held(&first), Some("brake"));
    remember(&mut input, &first);
    // Set right again.
    input.now = at(3_600);
    input.fleet = Asked::NotAsked;
    assert_eq!(step(&input).needs, [Need::Fleet]);
    // The look is told, so that the wait for the next one begins with it.
    input.fleet = Asked::Answer(fleet(32, at(500)));
    let second = step(&input);
    assert_eq!((held(&second), second.decisions.len()), (Some("brake"), 1));
    input.decided = second.decisions.clone();
    input.now = at(3_660);
    input.fleet = Asked::NotAsked;
    assert!(step(&input).needs.is_empty());
}

/// Thousands of nodes may be held at once, and each look reads every node's record.
#[test]
fn a_node_that_a_brake_holds_looks_again_only_after_a_while() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    input.fleet = Asked::Answer(fleet(4, at(500)));
    let mut last = step(&input);
    remember(&mut input, &last);
    let begun = input.now;
    let mut looks = Vec::new();
    for minute in 1..=24 * 60 {
        input.now = begun.plus_secs(minute * 60);
        input.fleet = Asked::NotAsked;
        last = step(&input);
        assert!(!drains(&last));
        if last.needs.is_empty() {
            continue;
        }
        assert_eq!(last.needs, [Need::Fleet]);
        looks.push(minute);
        input.fleet = Asked::Answer(fleet(32, at(500)));
        last = step(&input);
        assert_eq!((held(&last), last.decisions.len()), (Some("brake"), 1), "each look is told");
        input.decided = last.decisions.clone();
    }
    let apart: Vec<i64> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((looks[0], apart[0]), (10, 10));
    assert!(apart.is_sorted(), "half as long as it has been held: {apart:?}");
    assert_eq!(apart.last(), Some(&30), "and at most half an hour");
    // Without an answer it stays as it is.
    input.now = begun.plus_secs(48 * 3_600);
    input.fleet = Asked::NoAnswer("away".to_owned());
    assert!(!drains(&step(&input)));
}

#[test]
fn a_site_that_has_every_health_check_look_is_not_told_of_each() {
    let (catalog, mut policy) = (catalog(), acting());
    policy.brake.look_again_s = 0;
    let mut input = lost(&catalog, &policy);
    input.fleet = Asked::Answer(fleet(4, at(500)));
    let first = step(&input);
    remember(&mut input, &first);
    input.now = at(660);
    assert!(step(&input).decisions.is_empty());
    input.fleet = Asked::NotAsked;
    assert_eq!(step(&input).needs, [Need::Fleet]);
}

#[test]
fn some_nodes_of_a_job_hold_by_its_brake_and_not_by_a_partition_they_are_only_a_part_of() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    let names = ["n1", "x0", "x1"];
    input.spans = vec![span(&names, None)];
    input.fleet = Asked::Answer(Fleet { few: true, ..fleet(2, at(500)) });
    let why = step(&input).decisions[0].held_by().map(|gate| gate.why.clone());
    assert!(why.as_ref().is_some_and(|why| why.contains("nodes of job 42")), "{why:?}");
    input.spans.clear();
    assert!(drains(&step(&input)));
}

#[test]
fn a_run_that_has_ended_still_holds_the_drains_of_its_nodes() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    let names = ["n1", "x0", "x1"];
    input.spans = vec![JobSpan { end: Some(at(595)), ..span(&names, Some(ExitStatus::Exit(1))) }];
    input.fleet = Asked::Answer(fleet(2, at(500)));
    let why = step(&input).decisions[0].held_by().map(|gate| gate.why.clone());
    assert!(why.as_ref().is_some_and(|why| why.contains("nodes of job 42")), "{why:?}");
    input.spans[0].end = Some(at(100));
    assert!(drains(&step(&input)), "a run that had left before the fault has nothing to do with it");
}

#[test]
fn a_switch_whose_nodes_all_go_at_once_is_suspected_before_they_are() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost(&catalog, &policy);
    let mut fleet = fleet(4, at(-90_000));
    let nodes = fleet.nodes.iter().take(4).map(|record| record.node.clone()).collect();
    fleet.switch = Some(Switch { name: "leaf7".to_owned(), nodes });
    input.fleet = Asked::Answer(fleet);
    let why = step(&input).decisions[0].held_by().unwrap().why.clone();
    assert!(why.contains("switch leaf7"), "{why}");
}

#[test]
fn a_node_that_somebody_works_on_is_left_alone() {
    let (catalog, policy) = (catalog(), acting());
    for state in ["MAINTENANCE", "RESERVED", "POWERED_DOWN", "REBOOT_ISSUED"] {
        let mut input = lost(&catalog, &policy);
        input.node_record = Asked::Answer(node_record(state, ""));
        let output = step(&input);
        assert_eq!((held(&output), drains(&output)), (Some("reservation"), false), "{state}");
    }
}

#[test]
fn nodes_and_partitions_on_the_list_of_exceptions_are_left_alone() {
    let catalog = catalog();
    let mut policy = acting();
    policy.except.nodes = vec![Hosts::parse("n[1-2]").unwrap()];
    assert_eq!(held(&step(&lost(&catalog, &policy))), Some("exception"));
    let mut policy = acting();
    policy.except.partitions = vec![Glob::new("debug")];
    let mut input = lost(&catalog, &policy);
    assert!(drains(&step(&input)));
    let mut record = node_record("IDLE", "");
    record.partitions = vec!["gpu".to_owned(), "debug".to_owned()];
    input.node_record = Asked::Answer(record);
    assert_eq!(held(&step(&input)), Some("exception"));
    input.node_record = Asked::NoAnswer("away".to_owned());
    assert_eq!(held(&step(&input)), Some("exception"), "what is not known may be on the list");
}

#[test]
fn a_rule_for_a_partition_that_is_not_known_does_not_let_a_wider_one_act() {
    let catalog = catalog();
    let mut policy = acting();
    let debug = Rule { partition: vec![Glob::new("debug")], ..Rule::named("debug-is-never-drained") };
    policy.rules.insert(0, debug);
    let mut input = lost(&catalog, &policy);
    assert_eq!(held(&step(&input)), Some("facts"));
    let mut record = node_record("IDLE", "");
    record.partitions = vec!["gpu".to_owned()];
    input.node_record = Asked::Answer(record);
    assert!(drains(&step(&input)));
}

#[test]
fn a_fault_that_came_often_enough_matches_a_rule_over_repeats() {
    let catalog = catalog();
    let mut policy = acting();
    let often = Rule { repeats: Some(Repeats { count: 3, days: 7 }), ..Rule::named("often") };
    policy.rules.insert(0, often);
    let mut input = lost(&catalog, &policy);
    input.memory = Asked::NotAsked;
    assert_eq!(step(&input).needs, [Need::Memory]);
    let rule = |opened: &[i64]| {
        let mut input = lost(&catalog, &policy);
        let cases = opened
            .iter()
            .map(|days| PastCase {
                fault: "gpu.off_bus".to_owned(),
                resource: BAD_GPU.to_owned(),
                opened_at: at(days * 86_400),
            })
            .collect();
        input.memory = Asked::Answer(Memory { cases, runs: Vec::new() });
        step(&input).decisions[0].rule.clone()
    };
    assert_eq!(rule(&[-1, -2]), "often");
    assert_eq!(rule(&[-1]), "hardware-confirmed");
    assert_eq!(rule(&[-1, -8]), "hardware-confirmed");
}

/// The epilog of a job of two nodes that failed on a lost GPU of its batch host.
fn failed_job<'a>(catalog: &'a Catalog, policy: &'a Policy, restart: u32) -> Input<'a> {
    let mut input = lost(catalog, policy);
    input.trigger = Trigger::Epilog;
    let mut span = span(&["n1", "n2"], Some(ExitStatus::Exit(1)));
    span.run.restart = restart;
    input.span = Some(span);
    input.peers = Asked::Answer(Vec::new());
    input.job = Asked::Answer(JobRecord { restarts: restart, ..job_record() });
    input.output = Asked::NoAnswer("none".to_owned());
    input
}

fn about_job(output: &Output) -> &Decision {
    let about = output.decisions.iter().find(|decision| matches!(decision.subject, Subject::Run(_)));
    about.unwrap_or_else(|| panic!("nothing is decided about the job: {output:?}"))
}

fn past(restart: u32, node: &str) -> PastRun {
    PastRun {
        restart,
        start: at(-5_000),
        end: Some(at(-4_990)),
        cause: Some(PastCause {
            class: Some(CauseClass::Hardware),
            kinds: vec!["gpu".to_owned()],
            nodes: vec![NodeName::from(node)],
            ..PastCause::default()
        }),
        requeued_at: Some(at(-4_980)),
        progress: triage_core::progress::Progress::default(),
    }
}

#[test]
fn a_job_that_dies_at_once_after_each_restart_is_stopped_with_the_reason() {
    let (catalog, mut policy) = (catalog(), acting());
    policy.job.progress_s = 3_600;
    let mut input = failed_job(&catalog, &policy, 2);
    input.memory = Asked::Answer(Memory { cases: Vec::new(), runs: vec![past(1, "n1")] });
    let output = step(&input);
    let decision = about_job(&output);
    assert_eq!(decision.intent, Intent::Stop, "{decision:?}");
    assert!(decision.why.contains("count double"), "{}", decision.why);
    assert!(!output.actions.iter().any(|action| matches!(action, Action::Requeue { .. })));
}

#[test]
fn a_fault_that_follows_the_job_from_node_to_node_is_the_jobs() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = failed_job(&catalog, &policy, 2);
    input.memory = Asked::Answer(Memory { cases: Vec::new(), runs: vec![past(0, "n7"), past(1, "n8")] });
    let output = step(&input);
    let decision = about_job(&output);
    assert_eq!(decision.intent, Intent::Stop, "{decision:?}");
    assert!(decision.why.contains("comes with the job"), "{}", decision.why);
    assert!(drains(&output), "the node is judged by its own evidence");
}

#[test]
fn a_job_requeued_a_moment_ago_waits_before_it_runs_again() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = failed_job(&catalog, &policy, 1);
    let mut run = past(0, "n1");
    run.requeued_at = Some(at(590));
    input.memory = Asked::Answer(Memory { cases: Vec::new(), runs: vec![run] });
    let output = step(&input);
    let begin = output.actions.iter().find_map(|action| match action {
        Action::ClearBeginTime { not_before, .. } => Some(*not_before),
        _ => None,
    });
    assert_eq!(begin, Some(Some(at(650))));
    input.memory = Asked::Answer(Memory::default());
    let mut first = failed_job(&catalog, &policy, 0);
    first.memory = Asked::Answer(Memory::default());
    assert!(
        step(&first)
            .actions
            .iter()
            .any(|action| matches!(action, Action::ClearBeginTime { not_before: None, .. }))
    );
}

#[test]
fn jobs_of_excepted_users_and_accounts_are_left_alone() {
    let catalog = catalog();
    for (users, accounts) in [(vec![Glob::new("u")], vec![]), (vec![], vec![Glob::new("phys*")])] {
        let mut policy = acting();
        (policy.except.users, policy.except.accounts) = (users, accounts);
        let mut input = failed_job(&catalog, &policy, 0);
        let mut job = job_record();
        job.fields.insert("Account".to_owned(), "physics".to_owned());
        input.job = Asked::Answer(job);
        let output = step(&input);
        assert_eq!(about_job(&output).held_by().unwrap().name, "exception");
    }
}
