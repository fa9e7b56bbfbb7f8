//! The way back into service: what is done about a node that we took out, and above all what is not.
mod support;

use support::*;
use triage_core::pipeline::{Asked, Input, Output, Trigger, step};
use triage_core::policy::{Command, Policy, Step};
use triage_core::*;

const CASE: &str = "0a1b2c3d";

fn ours() -> String {
    format!("{}xid.95 {BAD_GPU} [case {CASE}]", reason::PREFIX)
}

fn case(state: CaseState, clears: ClearedBy) -> Case {
    Case {
        id: CaseId::from(CASE),
        fault: "gpu.memory".to_owned(),
        code: Code::from("xid.95"),
        class: CauseClass::Hardware,
        resource: Resource::from(BAD_GPU),
        part: None,
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
        state,
        confidence: Confidence::Confirmed,
        provenance: Provenance::Trusted,
        synthetic: false,
        advice: Advice::Reset,
        clears,
        opened_at: at(10),
        last_seen: at(10),
        closed_at: (!state.is_open()).then(|| at(500)),
        run: None,
        events: vec![EventId::from("e1")],
        why: "the row remap took place".to_owned(),
        stood_down: false,
    }
}

fn policy(change: impl FnOnce(&mut triage_core::policy::Repair)) -> Policy {
    let mut policy = acting();
    policy.repair.resume = Step::Act;
    change(&mut policy.repair);
    policy
}

fn command(name: &str) -> Command {
    Command {
        name: name.to_owned(),
        command: vec!["/bin/true".to_owned(), "{pci}".to_owned()],
        ..Command::default()
    }
}

/// A health check of the node `state` with our drain for `case` on it.
fn check<'a>(
    catalog: &'a triage_core::catalog::Catalog,
    policy: &'a Policy,
    case: &Case,
    state: &str,
    tries: Vec<Try>,
) -> Input<'a> {
    let mut input = input(catalog, policy, Trigger::HealthCheck);
    let mut record = node_record(state, &ours());
    record.state.push("DRAIN".to_owned());
    input.node_record = Asked::Answer(record);
    if case.is_open() {
        input.cases.push(case.clone());
    }
    input.out = vec![OutCase { case: case.clone(), drained_at: at(20), tries }];
    input
}

fn kinds(output: &Output) -> Vec<&str> {
    output.actions.iter().map(Action::kind).filter(|kind| !matches!(*kind, "drain" | "publish")).collect()
}

fn held(output: &Output) -> Vec<String> {
    output.decisions.iter().filter_map(|d| d.held_by()).map(|gate| gate.name.clone()).collect()
}

fn tried(action: Action, went_well: Option<bool>) -> Try {
    Try { action, went_well, at: at(300), answer: "said so".to_owned() }
}

fn reset() -> Action {
    Action::Reset {
        node: NodeName::from("n1"),
        case: CaseId::from(CASE),
        boot: BootId::from("b1"),
        command: command("reset"),
        decision: DecisionId::default(),
    }
}

fn verify(boot: &str) -> Action {
    Action::Verify {
        node: NodeName::from("n1"),
        case: CaseId::from(CASE),
        boot: BootId::from(boot),
        commands: vec![command("v")],
        decision: DecisionId::default(),
    }
}

#[test]
fn a_repaired_node_gets_our_own_drain_lifted() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let case = case(CaseState::Resolved, ClearedBy::RowRemap);
    let output = step(&check(&catalog, &policy, &case, "IDLE", Vec::new()));
    assert_eq!(kinds(&output), ["resume"]);
}

#[test]
fn a_word_that_a_person_put_behind_our_reason_takes_the_drain_over() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.reset = Step::Act));
    for state in [CaseState::Resolved, CaseState::Acted] {
        let case = case(state, ClearedBy::RowRemap);
        let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
        let mut record = node_record("IDLE", &format!("{} keep out until Monday, Ann", ours()));
        record.state.push("DRAIN".to_owned());
        input.node_record = Asked::Answer(record);
        let output = step(&input);
        assert_eq!(kinds(&output), [""; 0], "{state:?}");
        assert!(output.cases.iter().any(|told| told.id == case.id && told.stood_down), "{state:?}");
    }
}

#[test]
fn nothing_is_lifted_but_what_is_ours_and_for_this_case() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let case = case(CaseState::Resolved, ClearedBy::RowRemap);
    for reason in
        ["", "bad fan", "slurm-triage: xid.79 gpu:3 [case ffffffff]", "NHC: slurm-triage: x [case 0a1b2c3d]"]
    {
        let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
        let mut record = node_record("IDLE", reason);
        record.state.push("DRAIN".to_owned());
        input.node_record = Asked::Answer(record);
        assert!(kinds(&step(&input)).is_empty(), "{reason}");
    }
    // Without an answer of the controller nothing is known, and nothing is done.
    let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
    input.node_record = Asked::NoAnswer("away".to_owned());
    assert!(kinds(&step(&input)).is_empty());
}

#[test]
fn an_open_case_is_never_brought_back() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    for state in [CaseState::Open, CaseState::Acted] {
        let output = step(&check(&catalog, &policy, &case(state, ClearedBy::Ack), "IDLE", Vec::new()));
        assert!(kinds(&output).is_empty(), "{state}");
    }
}

#[test]
fn another_open_case_keeps_the_node_out() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let mut input =
        check(&catalog, &policy, &case(CaseState::Resolved, ClearedBy::RowRemap), "IDLE", Vec::new());
    let mut other = case(CaseState::Open, ClearedBy::Ack);
    other.id = CaseId::from("11111111");
    other.resource = Resource::from("gpu:0000:11:00.0");
    input.cases.push(other);
    let output = step(&input);
    assert!(!kinds(&output).contains(&"resume"));
    assert!(held(&output).contains(&"other_case".to_owned()));
}

/// The node has room for one reason, and it goes on naming the case that was repaired first.
#[test]
fn a_second_broken_gpu_is_mended_under_the_drain_for_the_first() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.reset = Step::Act));
    let first = case(CaseState::Resolved, ClearedBy::RowRemap);
    let mut second = case(CaseState::Acted, ClearedBy::GpuReset);
    second.id = CaseId::from("11111111");
    second.resource = Resource::from("gpu:0000:11:00.0");
    let mut input = check(&catalog, &policy, &first, "IDLE", Vec::new());
    input.cases.push(second.clone());
    input.out.push(OutCase { case: second.clone(), drained_at: at(20), tries: Vec::new() });
    let output = step(&input);
    let resets: Vec<_> = output.actions.iter().filter(|action| action.kind() == "reset").collect();
    assert_eq!(resets.len(), 1, "{:?}", output.decisions);
    assert_eq!(resets[0].case(), Some(&second.id));
}

#[test]
fn a_node_that_still_ends_a_job_is_left_alone() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.reset = Step::Act));
    for state in ["MIXED", "ALLOCATED", "COMPLETING"] {
        for case in
            [case(CaseState::Resolved, ClearedBy::RowRemap), case(CaseState::Acted, ClearedBy::GpuReset)]
        {
            let output = step(&check(&catalog, &policy, &case, state, Vec::new()));
            assert!(kinds(&output).is_empty(), "{state}");
            assert!(held(&output).contains(&"idle".to_owned()), "{state}");
        }
    }
}

#[test]
fn tests_come_before_the_return_and_a_failed_one_prevents_it() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.verify = vec![command("v")]));
    let case = case(CaseState::Resolved, ClearedBy::RowRemap);
    let with = |tries| step(&check(&catalog, &policy, &case, "IDLE", tries));
    assert_eq!(kinds(&with(Vec::new())), ["verify"]);
    assert_eq!(kinds(&with(vec![tried(verify("b0"), Some(true))])), ["verify"], "of another boot");
    assert!(kinds(&with(vec![tried(verify("b1"), None)])).is_empty(), "not over");
    assert!(kinds(&with(vec![tried(verify("b1"), Some(false))])).is_empty(), "failed");
    assert_eq!(kinds(&with(vec![tried(verify("b1"), Some(true))])), ["resume"]);
}

#[test]
fn a_test_for_other_faults_is_not_waited_for() {
    let glob = triage_core::policy::Glob::new("gpu.nvlink");
    let only_links = Command { fault: vec![glob], ..command("links") };
    let (catalog, policy) = (catalog(), policy(|repair| repair.verify = vec![only_links]));
    let output =
        step(&check(&catalog, &policy, &case(CaseState::Resolved, ClearedBy::RowRemap), "IDLE", Vec::new()));
    assert_eq!(kinds(&output), ["resume"]);
}

#[test]
fn a_node_that_comes_and_goes_is_left_to_a_person() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let case = case(CaseState::Resolved, ClearedBy::RowRemap);
    let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
    input.returns = vec![at(-8 * 86_400), at(-86_400)];
    assert_eq!(kinds(&step(&input)), ["resume"], "one of them is too long ago to count");
    input.returns.push(at(-3_600));
    let output = step(&input);
    assert!(kinds(&output).is_empty());
    assert_eq!(held(&output), ["flapping"]);
}

#[test]
fn a_gpu_is_reset_once_a_boot_and_then_the_node_booted_once() {
    let (catalog, policy) = (
        catalog(),
        policy(|repair| {
            repair.reset = Step::Act;
            repair.reboot = Step::Act;
            repair.reset_command = command("reset");
        }),
    );
    let case = case(CaseState::Acted, ClearedBy::GpuReset);
    let with = |tries, swept: bool| {
        let mut input = check(&catalog, &policy, &case, "IDLE", tries);
        if swept {
            input
                .observations
                .push(sweep(at(590), with(|gpu| gpu.recovery_action = Some("gpu_reset".into()))));
        }
        step(&input)
    };
    let first = with(Vec::new(), false);
    assert_eq!(kinds(&first), ["reset"]);
    let Some(Action::Reset { command, .. }) = first.actions.iter().find(|a| a.kind() == "reset") else {
        panic!()
    };
    assert_eq!(command.command, ["/bin/true", "0000:13:00.0"]);
    assert!(kinds(&with(vec![tried(reset(), None)], true)).is_empty(), "not over");
    assert!(kinds(&with(vec![tried(reset(), Some(true))], false)).is_empty(), "no sweep has looked yet");
    assert_eq!(kinds(&with(vec![tried(reset(), Some(true))], true)), ["reboot"]);
    assert_eq!(kinds(&with(vec![tried(reset(), Some(false))], false)), ["reboot"]);
    let reboot = Action::Reboot {
        node: NodeName::from("n1"),
        case: CaseId::from(CASE),
        boot: BootId::from("b0"),
        reason: ours(),
        decision: DecisionId::default(),
    };
    let both = vec![tried(reset(), Some(false)), tried(reboot, Some(true))];
    assert!(kinds(&with(both, true)).is_empty(), "what a reboot did not mend is a person's");
}

#[test]
fn our_own_reset_and_a_healthy_sweep_after_it_are_proof() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.reset = Step::Act));
    let case = case(CaseState::Acted, ClearedBy::GpuReset);
    let closed = |tries: Vec<Try>, reading, when| {
        let mut input = check(&catalog, &policy, &case, "IDLE", tries);
        input.observations.push(sweep(when, reading));
        step(&input).cases.iter().any(|case| case.state == CaseState::Resolved)
    };
    let done = || vec![tried(reset(), Some(true))];
    assert!(closed(done(), healthy(), at(590)));
    assert!(!closed(done(), healthy(), at(299)), "a sweep before the reset proves nothing");
    assert!(!closed(vec![tried(reset(), Some(false))], healthy(), at(590)));
    assert!(!closed(Vec::new(), healthy(), at(590)), "silence proves nothing");
    assert!(!closed(done(), with(|gpu| gpu.remap_failed = Some(true)), at(590)));
}

#[test]
fn monitor_and_off_carry_out_nothing() {
    let catalog = catalog();
    let resolved = case(CaseState::Resolved, ClearedBy::RowRemap);
    for (step_of, site) in [
        (Step::Off, Mode::Act),
        (Step::Monitor, Mode::Act),
        (Step::Act, Mode::Monitor),
        (Step::Off, Mode::Monitor),
    ] {
        let mut policy = policy(|repair| {
            repair.resume = step_of;
            repair.reset = step_of;
            repair.reboot = step_of;
            repair.verify = vec![command("v")];
        });
        policy.mode.default = site;
        for case in [&resolved, &case(CaseState::Acted, ClearedBy::GpuReset)] {
            let output = step(&check(&catalog, &policy, case, "IDLE", Vec::new()));
            assert!(kinds(&output).is_empty(), "{step_of:?} {site}");
        }
    }
    assert_eq!(Policy::default().repair.reset, Step::Off);
    assert_eq!(Policy::default().repair.reboot, Step::Off);
    assert_eq!(Policy::default().repair.resume, Step::Monitor);
}

#[test]
fn once_somebody_brought_it_back_nobody_is_asked_again() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let case = case(CaseState::Resolved, ClearedBy::RowRemap);
    let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
    input.node_record = Asked::NotAsked;
    assert_eq!(step(&input).needs, [triage_core::pipeline::Need::Node]);
    input.node_record = Asked::Answer(node_record("IDLE", ""));
    let output = step(&input);
    assert!(kinds(&output).is_empty());
    assert!(output.cases.iter().any(|c| c.id == case.id && c.stood_down), "the case is let go");
}

#[test]
fn only_the_health_check_walks_the_way_back() {
    let (catalog, policy) = (catalog(), policy(|repair| repair.reset = Step::Act));
    for trigger in [Trigger::Prolog, Trigger::Epilog] {
        for case in
            [case(CaseState::Resolved, ClearedBy::RowRemap), case(CaseState::Acted, ClearedBy::GpuReset)]
        {
            let mut input = check(&catalog, &policy, &case, "IDLE", Vec::new());
            input.trigger = trigger;
            assert!(kinds(&step(&input)).is_empty(), "{trigger:?}");
        }
    }
}

#[test]
fn on_probation_a_probable_fault_counts_as_a_confirmed_one() {
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let drained = |returns: Vec<Stamp>, confidence| {
        let mut input = input(&catalog, &policy, Trigger::HealthCheck);
        input.node_record = Asked::Answer(node_record("IDLE", ""));
        input.returns = returns;
        input.cases.push(Case { confidence, ..case(CaseState::Open, ClearedBy::Ack) });
        let output = step(&input);
        output.decisions.iter().any(|d| d.intent == Intent::Drain)
    };
    assert!(drained(vec![at(-86_400)], Confidence::Probable));
    assert!(!drained(Vec::new(), Confidence::Probable));
    assert!(!drained(vec![at(-15 * 86_400)], Confidence::Probable), "two weeks are over");
    assert!(!drained(vec![at(-86_400)], Confidence::Suspected), "a suspicion stays one");
    assert!(!drained(vec![at(20)], Confidence::Probable), "what came before the return is no relapse");
}

#[test]
fn root_runs_what_the_policy_says_and_not_what_a_ledger_holds() {
    let policy = policy(|repair| {
        repair.reset = Step::Act;
        repair.reset_command =
            Command { command: vec!["/bin/reset".into(), "--id={pci}".into()], ..command("reset") };
        repair.verify = vec![command("v"), command("w")];
    });
    let run = |words: &[&str]| {
        let command =
            Command { command: words.iter().map(|word| (*word).to_owned()).collect(), ..command("x") };
        let (node, case, boot) = (NodeName::from("n1"), CaseId::from(CASE), BootId::from("b1"));
        policy.repair.allows(&Action::Reset { node, case, boot, command, decision: DecisionId::default() })
    };
    assert!(run(&["/bin/reset", "--id=0000:13:00.0"]));
    for words in [
        &["/bin/sh", "--id=0000:13:00.0"][..],
        &["/bin/reset", "--id=0000:13:00.0; rm"],
        &["/bin/reset", "--id=13:00.0"],
        &["/bin/reset", "--id="],
        &["/bin/reset"],
        &["/bin/reset", "--id=0000:13:00.0", "x"],
        &[],
    ] {
        assert!(!run(words), "{words:?}");
    }
    let verify = |commands: Vec<Command>| {
        let (node, case, boot) = (NodeName::from("n1"), CaseId::from(CASE), BootId::from("b1"));
        policy.repair.allows(&Action::Verify { node, case, boot, commands, decision: DecisionId::default() })
    };
    assert!(verify(vec![command("w")]));
    assert!(!verify(vec![command("v"), Command { command: vec!["/tmp/evil".into()], ..command("w") }]));
    assert!(!Policy::default().repair.allows(&reset()), "switched off since it was wanted");
}

#[test]
fn a_check_that_may_only_note_keeps_no_node_out_and_one_that_drains_does() {
    use triage_core::checks::{CheckAction, CheckSetting, CheckSettings, Checking, Expect};
    use triage_core::facts::NodeFacts;
    let (catalog, policy) = (catalog(), policy(|_| ()));
    let closed = case(CaseState::Resolved, ClearedBy::RowRemap);
    let other = Case {
        id: CaseId::from("ffffffff"),
        fault: "check.mounts".to_owned(),
        code: Code::from("check.mounts"),
        resource: Resource::Fs("/scratch".to_owned()),
        advice: Advice::Drain,
        ..case(CaseState::Open, ClearedBy::CheckPasses)
    };
    let (facts, expect) = (NodeFacts::default(), Expect::default());
    let kinds = |setting: CheckSetting| {
        let settings = CheckSettings([("mounts".to_owned(), setting)].into());
        let mut input = check(&catalog, &policy, &closed, "IDLE", Vec::new());
        input.cases.push(other.clone());
        input.checks = Some(Checking {
            made: false,
            facts: &facts,
            before: None,
            expect: &expect,
            baseline: None,
            settings: &settings,
            last: &[],
        });
        let output = step(&input);
        let gates: Vec<(bool, String)> = output
            .decisions
            .iter()
            .filter(|decision| decision.intent == Intent::Resume)
            .flat_map(|decision| decision.gates.iter().filter(|gate| gate.name == "other_case"))
            .map(|gate| (gate.passed, gate.why.clone()))
            .collect();
        (output.actions.iter().any(|action| action.kind() == "resume"), gates[0].0)
    };
    let drains = CheckSetting { action: Some(CheckAction::Drain), ..CheckSetting::default() };
    assert_eq!(kinds(drains.clone()), (false, false));
    assert_eq!(kinds(CheckSetting { mode: Some(Mode::Monitor), ..drains }), (true, true));
    let notes = CheckSetting { action: Some(CheckAction::Note), ..CheckSetting::default() };
    assert_eq!(kinds(notes), (true, true));
}
