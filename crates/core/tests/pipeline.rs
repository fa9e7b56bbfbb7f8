//! The pipeline from outside: one pass in, what it found and wants out.
mod support;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::joblog::OutputReport;
use triage_core::pipeline::{Asked, Input, Need, Output, Trigger, step};
use triage_core::policy::Policy;
use triage_core::*;

fn lost() -> Observation {
    sweep(at(590), with(|gpu| gpu.lost = true))
}

fn answered<'a>(mut input: Input<'a>, node: NodeRecord) -> Input<'a> {
    input.node_record = Asked::Answer(node);
    input
}

/// A pass over a lost GPU with the node in service.
fn lost_gpu_pass<'a>(catalog: &'a Catalog, policy: &'a Policy, trigger: Trigger) -> Input<'a> {
    let mut input = answered(input(catalog, policy, trigger), node_record("IDLE", ""));
    input.observations.push(lost());
    input
}

/// The input of the pass after `output`, with what a ledger would have kept.
fn after<'a>(mut input: Input<'a>, output: &Output) -> Input<'a> {
    for case in &output.cases {
        input.cases.retain(|c| c.id != case.id);
        if case.is_open() {
            input.cases.push(case.clone());
        }
    }
    input.decided.extend(output.decisions.iter().cloned());
    input
}

#[test]
fn a_healthy_sweep_gives_nothing_and_asks_nothing() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = input(&catalog, &policy, Trigger::HealthCheck);
    input.observations.push(sweep(at(590), healthy()));
    assert_eq!(step(&input), Output::default());
}

#[test]
fn a_lost_gpu_in_act_mode_is_drained_with_our_reason() {
    let (catalog, policy) = (catalog(), acting());
    let output = step(&lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck));
    let case = &output.cases[0];
    assert_eq!((case.fault.as_str(), case.confidence), ("gpu.off_bus", Confidence::Confirmed));
    match &output.actions[..] {
        [Action::Drain { node, reason, .. }, Action::ConfirmDrain { .. }] => {
            assert_eq!(node.as_str(), "n1");
            assert_eq!(*reason, format!("slurm-triage: nvml.gpu_lost {BAD_GPU} [case {}]", case.id));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn monitor_mode_decides_the_same_and_does_nothing() {
    let (catalog, policy) = (catalog(), Policy::default());
    let output = step(&lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck));
    assert_eq!(output.actions, []);
    let decision = &output.decisions[0];
    assert_eq!((decision.intent, decision.held_by().unwrap().name.as_str()), (Intent::Drain, "mode"));
}

#[test]
fn before_deciding_about_a_bad_node_its_record_is_asked_for() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    input.node_record = Asked::NotAsked;
    let output = step(&input);
    assert_eq!((output.needs, output.actions), (vec![Need::Node], vec![]));
}

#[test]
fn a_controller_that_does_not_answer_does_not_stop_the_drain_from_being_wanted() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    input.node_record = Asked::NoAnswer("timed out".to_owned());
    assert!(matches!(step(&input).actions[0], Action::Drain { .. }));
}

#[test]
fn a_foreign_drain_reason_holds_ours() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    input.node_record = Asked::Answer(node_record("DRAIN", "bad PSU, ticket 7"));
    let output = step(&input);
    assert_eq!(output.actions, []);
    assert_eq!(output.decisions[0].held_by().unwrap().name, "foreign_reason");
}

#[test]
fn the_same_pass_again_gives_byte_identical_output() {
    let (catalog, policy) = (catalog(), acting());
    let input = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    assert_eq!(format!("{:?}", step(&input)), format!("{:?}", step(&input)));
}

#[test]
fn a_sick_gpu_is_news_once_and_not_once_a_sweep() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.last_reading = Some((BootId::from("b1"), with(|gpu| gpu.lost = true)));
    second.observations = vec![sweep(at(650), with(|gpu| gpu.lost = true))];
    second.now = at(660);
    let again = step(&second);
    assert_eq!((again.events, again.cases, again.decisions), (vec![], vec![], vec![]));
    assert_eq!(again.actions.len(), 2, "the wanted state stays wanted; its intent knows that it was done");
    assert_eq!(again.actions[0].key(), output.actions[0].key());
}

#[test]
fn silence_does_not_close_a_case() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.observations.clear();
    assert_eq!(step(&second).cases, []);
}

#[test]
fn a_healthy_reading_in_the_same_boot_does_not_close_a_lost_gpu() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.observations = vec![sweep(at(700), healthy())];
    assert_eq!(step(&second).cases, []);
}

#[test]
fn a_reboot_and_a_healthy_reading_resolve_the_case() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.boot = BootId::from("b2");
    let mut reading = sweep(at(900), healthy());
    reading.boot = BootId::from("b2");
    second.observations = vec![reading];
    let closed = step(&second);
    assert_eq!(closed.cases[0].state, CaseState::Resolved);
    assert!(closed.cases[0].why.contains("booted again"), "{}", closed.cases[0].why);
}

#[test]
fn a_reboot_without_a_reading_resolves_nothing() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.boot = BootId::from("b2");
    second.observations.clear();
    assert_eq!(step(&second).cases, []);
}

#[test]
fn after_a_person_resumed_the_node_we_stand_down() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.cases[0].state = CaseState::Acted;
    second.observations.clear();
    second.node_record = Asked::Answer(node_record("IDLE", ""));
    let output = step(&second);
    assert!(output.cases[0].stood_down);
    assert!(output.actions.iter().all(|action| action.kind() == "publish"), "{:?}", output.actions);
    let third = after(second, &output);
    assert_eq!(step(&third).actions, [], "nothing is done again for this case");
}

#[test]
fn a_drain_still_standing_is_not_taken_for_undone() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.cases[0].state = CaseState::Acted;
    second.observations.clear();
    second.node_record = Asked::Answer(node_record("DRAINED", "slurm-triage: nvml.gpu_lost x [case 0]"));
    assert_eq!(step(&second).cases, []);
}

#[test]
fn one_source_alone_is_probable_and_drains_nothing_two_confirm() {
    let (catalog, policy) = (catalog(), acting());
    let mut input = answered(input(&catalog, &policy, Trigger::HealthCheck), node_record("IDLE", ""));
    input.observations.push(sweep(at(590), with(|gpu| gpu.ecc_uncorrected = Some(2))));
    let output = step(&input);
    assert_eq!(output.cases[0].confidence, Confidence::Probable);
    assert_eq!(output.actions, []);
}

#[test]
fn the_prolog_refuses_a_job_while_a_confirmed_case_is_open() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = lost_gpu_pass(&catalog, &policy, Trigger::Prolog);
    pass.node_record = Asked::NotAsked;
    pass.span = Some(span(&["n1", "n2"], None));
    let output = step(&pass);
    assert_eq!(output.needs, [], "a prolog asks the controller nothing");
    assert!(output.actions.iter().any(|action| matches!(action, Action::RefuseJob { .. })));
}

#[test]
fn the_prolog_lets_the_job_in_under_monitor_and_says_that_it_would_not() {
    let (catalog, policy) = (catalog(), Policy::default());
    let mut pass = lost_gpu_pass(&catalog, &policy, Trigger::Prolog);
    pass.span = Some(span(&["n1"], None));
    let output = step(&pass);
    assert_eq!(output.actions, []);
    assert!(output.decisions.iter().any(|d| d.intent == Intent::RefuseJob && !d.allowed()));
}

fn epilog<'a>(catalog: &'a Catalog, policy: &'a Policy, exit: ExitStatus) -> Input<'a> {
    let mut pass = lost_gpu_pass(catalog, policy, Trigger::Epilog);
    pass.span = Some(span(&["n1", "n2"], Some(exit)));
    pass.peers = Asked::Answer(Vec::new());
    pass.job = Asked::Answer(job_record());
    pass.output = Asked::Answer(OutputReport::default());
    pass
}

fn requeue_of(output: &Output) -> Option<(&RunId, &[NodeName])> {
    output.actions.iter().find_map(|action| match action {
        Action::Requeue { run, exclude, .. } => Some((run, exclude.as_slice())),
        _ => None,
    })
}

#[test]
fn a_job_that_died_on_a_bad_gpu_runs_again_elsewhere() {
    let (catalog, policy) = (catalog(), acting());
    let output = step(&epilog(&catalog, &policy, ExitStatus::Exit(1)));
    let verdict = &output.verdicts[0];
    assert_eq!((verdict.class, verdict.confidence), (CauseClass::Hardware, Confidence::Confirmed));
    assert_eq!(verdict.victims, [NodeName::from("n2")]);
    let (_, exclude) = requeue_of(&output).expect("a requeue");
    assert_eq!(exclude, [NodeName::from("n1")]);
    let kinds: Vec<&str> = output.actions.iter().map(Action::kind).collect();
    assert!(
        kinds.iter().position(|k| *k == "drain") < kinds.iter().position(|k| *k == "requeue"),
        "drain first, else the job may come back to the same node: {kinds:?}"
    );
}

#[test]
fn a_job_is_not_run_again_for_a_gpu_beside_its_own() {
    let (catalog, policy) = (catalog(), acting());
    let with_gpus = |gpus: &[u32]| {
        let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
        pass.observations = vec![sweep(at(590), with(|gpu| gpu.remap_failed = Some(true)))];
        pass.span.as_mut().unwrap().gpus = gpus.to_vec();
        step(&pass)
    };
    assert!(requeue_of(&with_gpus(&[3])).is_some(), "the bad GPU is the job's");
    assert!(requeue_of(&with_gpus(&[])).is_some(), "nobody knows which GPUs the job had");
    let beside = with_gpus(&[0, 1]);
    assert_eq!(requeue_of(&beside), None);
    assert_eq!(beside.verdicts[0].confidence, Confidence::Suspected);
    assert!(
        beside.verdicts[0].story.iter().any(|line| line.contains("a GPU the job did not have")),
        "{:?}",
        beside.verdicts[0].story
    );
    assert!(beside.actions.iter().any(|a| matches!(a, Action::Drain { .. })), "the node is bad all the same");
}

#[test]
fn a_gpu_off_the_bus_can_end_every_job_of_its_node() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
    pass.span.as_mut().unwrap().gpus = vec![0, 1];
    assert!(requeue_of(&step(&pass)).is_some());
}

#[test]
fn a_job_that_went_well_gets_no_verdict_even_on_a_bad_node() {
    let (catalog, policy) = (catalog(), acting());
    let output = step(&epilog(&catalog, &policy, ExitStatus::Exit(0)));
    assert_eq!(output.verdicts, []);
    assert_eq!(requeue_of(&output), None);
}

#[test]
fn only_the_batch_host_decides_about_the_job() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
    pass.span.as_mut().unwrap().nodes.reverse();
    let output = step(&pass);
    assert_eq!(requeue_of(&output), None);
    assert!(
        output.actions.iter().any(|a| matches!(a, Action::Publish { .. })),
        "it tells the batch host instead"
    );
}

#[test]
fn the_batch_host_believes_a_peer_and_avoids_it() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
    pass.observations.clear();
    pass.peers = Asked::Answer(vec![PeerEvidence {
        node: NodeName::from("n2"),
        case: CaseId::from("deadbeef"),
        code: Code::from("xid.79"),
        resource: Resource::from(BAD_GPU),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        at: at(500),
        synthetic: false,
        job: Some(42),
    }]);
    let output = step(&pass);
    assert_eq!(requeue_of(&output).expect("a requeue").1, [NodeName::from("n2")]);
    assert!(!output.actions.iter().any(|a| matches!(a, Action::Drain { .. })), "n2 drains itself");
}

#[test]
fn a_peer_of_another_job_or_time_explains_nothing() {
    let (catalog, policy) = (catalog(), acting());
    let peer = |job, when, node: &str| PeerEvidence {
        node: NodeName::from(node),
        case: CaseId::from("deadbeef"),
        code: Code::from("xid.79"),
        resource: Resource::from(BAD_GPU),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        at: when,
        synthetic: false,
        job,
    };
    for bad in [peer(Some(41), at(500), "n2"), peer(None, at(-5000), "n2"), peer(None, at(500), "n9")] {
        let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
        pass.observations.clear();
        pass.peers = Asked::Answer(vec![bad.clone()]);
        let output = step(&pass);
        assert_eq!(output.verdicts[0].class, CauseClass::Unknown, "{bad:?}");
        assert_eq!(requeue_of(&output), None);
    }
}

#[test]
fn an_unexplained_failure_is_unknown_and_nothing_is_done() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, ExitStatus::Signal(6));
    pass.observations.clear();
    let output = step(&pass);
    assert_eq!(output.verdicts[0].class, CauseClass::Unknown);
    assert_eq!(output.actions, []);
}

#[test]
fn each_gate_of_a_requeue_holds_on_its_own() {
    type Change = (&'static str, fn(&mut Input<'_>));
    let changes: [Change; 9] = [
        ("job_ask", |i| i.span.as_mut().unwrap().ask = JobAsk::Off),
        ("job_ask", |i| i.span.as_mut().unwrap().ask = JobAsk::Monitor),
        ("requeue_allowed", |i| i.job = Asked::Answer(JobRecord { requeue: false, ..job_record() })),
        ("requeue_allowed", |i| i.job = Asked::Answer(JobRecord { batch: false, ..job_record() })),
        ("job_state", |i| i.job = Asked::Answer(JobRecord { state: "CANCELLED".into(), ..job_record() })),
        ("job_state", |i| i.job = Asked::Answer(JobRecord { state: "TIMEOUT".into(), ..job_record() })),
        ("job_state", |i| i.job = Asked::Answer(JobRecord { state: "PREEMPTED".into(), ..job_record() })),
        ("restart_budget", |i| i.span.as_mut().unwrap().run.restart = 3),
        ("exit_code", |i| i.span.as_mut().unwrap().exit = Some(ExitStatus::Exit(93))),
    ];
    let (catalog, policy) = (catalog(), acting());
    for (name, change) in changes {
        let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
        change(&mut pass);
        let output = step(&pass);
        assert_eq!(requeue_of(&output), None, "{name}");
        let requeue =
            output.decisions.iter().find(|d| d.intent == Intent::Requeue).expect("a decision is kept");
        assert_eq!(requeue.held_by().unwrap().name, name);
        assert!(
            output.actions.iter().any(|a| a.kind() == "drain"),
            "the node is drained all the same: {name}"
        );
    }
}

#[test]
fn what_a_user_can_write_drains_nothing() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    for observation in &mut pass.observations {
        observation.provenance = Provenance::User;
    }
    let output = step(&pass);
    assert_eq!((output.cases, output.actions), (vec![], vec![]));
}

#[test]
fn a_blind_source_is_an_event_and_neither_health_nor_fault() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = input(&catalog, &policy, Trigger::HealthCheck);
    let blind = Payload::Blind { reason: "no answer within 20 s".to_owned(), hung: true };
    pass.observations.push(observe("b1", at(590), SourceKind::Nvml, blind));
    let output = step(&pass);
    assert_eq!(output.events[0].code.as_str(), "triage.source_hung");
    assert_eq!((output.cases, output.actions, output.needs), (vec![], vec![], vec![]));
}

#[test]
fn the_peers_are_only_waited_for_when_this_node_has_nothing_to_say() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, ExitStatus::Exit(1));
    pass.peers = Asked::NotAsked;
    assert_eq!(step(&pass).needs, [], "a fault of its own explains the job");
    pass.observations.clear();
    assert_eq!(step(&pass).needs, [Need::Peers]);
}

fn memory_pass<'a>(catalog: &'a Catalog, policy: &'a Policy) -> Input<'a> {
    let mut pass = answered(input(catalog, policy, Trigger::HealthCheck), node_record("IDLE", ""));
    pass.observations.push(sweep(at(590), with(|gpu| gpu.ecc_uncorrected = Some(2))));
    pass
}

#[test]
fn error_counters_back_at_zero_prove_a_reset() {
    let (catalog, policy) = (catalog(), acting());
    let first = memory_pass(&catalog, &policy);
    let output = step(&first);
    let mut second = after(first, &output);
    second.last_reading = Some((BootId::from("b1"), with(|gpu| gpu.ecc_uncorrected = Some(2))));
    second.observations = vec![sweep(at(700), healthy())];
    assert_eq!(step(&second).cases[0].state, CaseState::Resolved);
}

#[test]
fn error_counters_that_were_never_anything_but_zero_prove_nothing() {
    let (catalog, policy) = (catalog(), acting());
    let first = memory_pass(&catalog, &policy);
    let output = step(&first);
    let mut second = after(first, &output);
    second.last_reading = Some((BootId::from("b1"), healthy()));
    second.observations = vec![sweep(at(700), healthy())];
    assert_eq!(step(&second).cases, []);
}

#[test]
fn what_was_told_is_taken_back_when_we_stand_down() {
    let (catalog, policy) = (catalog(), acting());
    let first = lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck);
    let output = step(&first);
    let mut second = after(first, &output);
    second.cases[0].state = CaseState::Acted;
    second.observations.clear();
    let output = step(&second);
    assert!(
        output.actions.iter().any(|a| matches!(a, Action::Publish { body, .. } if body.is_empty())),
        "{:?}",
        output.actions
    );
    let third = after(second, &output);
    assert_eq!(step(&third).actions, [], "once");
}

/// A prolog loads no more than a glance of the ledger where that shows nothing to do.
#[test]
fn an_uneventful_prolog_is_so_whatever_else_the_ledger_holds() {
    let (catalog, policy) = (catalog(), acting());
    let benign =
        ["usb 1-1: new high-speed USB device number 2 using xhci_hcd", "EXT4-fs (sda1): mounted filesystem"];
    let mut glance = input(&catalog, &policy, Trigger::Prolog);
    glance.span = Some(span(&["n1"], None));
    glance.observations.extend(benign.iter().map(|text| line(at(500), text)));
    let mut whole = glance.clone();
    let health_check = step(&lost_gpu_pass(&catalog, &policy, Trigger::HealthCheck));
    whole.decided = health_check.decisions;
    whole.last_reading = Some((BootId::from("b1"), healthy()));
    whole.spans = vec![JobSpan { run: RunId { job: 7, ..span(&[], None).run }, ..span(&["n1"], None) }];
    whole.returns = vec![at(0)];
    whole.past.since = Some(at(-1_000_000));
    whole.past.closed = vec![triage_core::pipeline::Closed {
        fault: "gpu.off_bus".to_owned(),
        resource: Resource::from(BAD_GPU),
        at: at(10),
        acquitted: false,
    }];
    assert!(step(&glance).is_uneventful());
    assert_eq!(step(&glance), step(&whole));

    glance.observations.push(line(at(510), "NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus."));
    assert!(!step(&glance).is_uneventful(), "what may matter is looked at with everything the ledger has");
}
