//! What a rule may ask for beyond a drain: the idle node booted again, the node set down.
mod support;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::fleet::Fleet;
use triage_core::pipeline::{Asked, Input, Output, Trigger, step};
use triage_core::policy::{Policy, Rule};
use triage_core::*;

fn asks_for(node: Intent) -> Policy {
    let mut policy = acting();
    policy.rules.insert(0, Rule { node, ..Rule::named("as-asked") });
    policy
}

fn lost<'a>(catalog: &'a Catalog, policy: &'a Policy) -> Input<'a> {
    let mut input = input(catalog, policy, Trigger::HealthCheck);
    input.observations.push(sweep(at(590), with(|gpu| gpu.lost = true)));
    input.node_record = Asked::Answer(node_record("MIXED", ""));
    input
}

fn kinds(output: &Output) -> Vec<&str> {
    output.actions.iter().map(Action::kind).collect()
}

fn held_by(output: &Output, intent: Intent) -> Option<&str> {
    let decision = output.decisions.iter().find(|decision| decision.intent == intent);
    decision.and_then(Decision::held_by).map(|gate| gate.name.as_str())
}

#[test]
fn a_rule_that_says_down_drains_first_and_ends_jobs_only_after_the_second_look() {
    let (catalog, policy) = (catalog(), asks_for(Intent::Down));
    let output = step(&lost(&catalog, &policy));
    assert_eq!(kinds(&output), ["drain", "confirm_drain", "down"]);
    let decided: Vec<(&str, Intent)> = output.decisions.iter().map(|d| (d.rule.as_str(), d.intent)).collect();
    assert_eq!(decided, [("as-asked", Intent::Drain), ("as-asked", Intent::Down)]);
    assert!(output.actions[2].takes_long(), "no hook waits for the second look");
}

#[test]
fn a_site_that_drains_but_does_not_set_down_drains() {
    let catalog = catalog();
    let mut policy = asks_for(Intent::Down);
    policy.mode.down = Some(Mode::Monitor);
    let output = step(&lost(&catalog, &policy));
    assert_eq!(
        (kinds(&output), held_by(&output, Intent::Down)),
        (vec!["drain", "confirm_drain"], Some("mode"))
    );
    policy.mode.default = Mode::Monitor;
    policy.mode.down = Some(Mode::Act);
    let output = step(&lost(&catalog, &policy));
    // A node that is not drained by us is not set down either: the action looks for our drain.
    assert_eq!(held_by(&output, Intent::Drain), Some("mode"));
    assert!(!kinds(&output).contains(&"down"), "{:?}", output.decisions);
}

/// A change to what a pass knows.
type Change<'a> = &'a dyn Fn(&mut Input<'_>);

#[test]
fn what_holds_a_drain_holds_a_down() {
    let (catalog, policy) = (catalog(), asks_for(Intent::Down));
    let holds: [(&str, Change<'_>); 3] = [
        ("foreign_reason", &|input| {
            let mut record = node_record("MIXED", "changing a fan");
            record.state.push("DRAIN".to_owned());
            input.node_record = Asked::Answer(record);
        }),
        ("reservation", &|input| input.node_record = Asked::Answer(node_record("MAINTENANCE", ""))),
        ("brake", &|input| {
            let out = |n: i64| NodeRecord {
                node: NodeName::from(format!("x{n}").as_str()),
                reason_at: Some(at(500)),
                ..node_record("DRAINED", "slurm-triage: xid.79 gpu [case 0a0b0c0d]")
            };
            input.fleet = Asked::Answer(Fleet { nodes: (0..4).map(out).collect(), ..Fleet::default() });
        }),
    ];
    for (gate, hold) in holds {
        let mut input = lost(&catalog, &policy);
        hold(&mut input);
        let output = step(&input);
        assert_eq!((held_by(&output, Intent::Down), kinds(&output)), (Some(gate), vec![]), "{gate}");
    }
}

#[test]
fn no_job_is_ended_on_a_guess_and_none_from_a_prolog() {
    let (catalog, policy) = (catalog(), asks_for(Intent::Down));
    let mut away = lost(&catalog, &policy);
    away.node_record = Asked::NoAnswer("the controller is away".to_owned());
    let output = step(&away);
    assert_eq!(held_by(&output, Intent::Down), Some("node_record"));
    assert!(kinds(&output).contains(&"drain") && !kinds(&output).contains(&"down"));
    let mut prolog = lost(&catalog, &policy);
    prolog.trigger = Trigger::Prolog;
    prolog.node_record = Asked::NotAsked;
    prolog.span = Some(span(&["n1"], None));
    assert!(!kinds(&step(&prolog)).contains(&"down"));
}

#[test]
fn a_node_that_is_down_is_not_set_down_again() {
    let (catalog, policy) = (catalog(), asks_for(Intent::Down));
    let mut input = lost(&catalog, &policy);
    let mut record = node_record("DOWN", "slurm-triage: xid.79 gpu [case 0a0b0c0d]");
    record.state.push("DRAIN".to_owned());
    input.node_record = Asked::Answer(record);
    assert!(!kinds(&step(&input)).contains(&"down"));
}

#[test]
fn a_rule_over_evidence_that_asks_for_no_drain_gives_a_note() {
    let catalog = catalog();
    for intent in [Intent::Down, Intent::RebootWhenIdle] {
        let policy = asks_for(intent);
        let mut input = input(&catalog, &policy, Trigger::HealthCheck);
        let xid_13 = "NVRM: Xid (PCI:0000:13:00): 13, pid=1, name=python3, Graphics Exception";
        input.observations.push(line(at(590), xid_13));
        input.node_record = Asked::Answer(node_record("MIXED", ""));
        assert_eq!(step(&input).actions, [], "{intent}");
    }
}

/// A health check of a node that is out by our drain for the lost GPU's case.
fn after_the_drain<'a>(catalog: &'a Catalog, policy: &'a Policy, state: &str, tries: Vec<Try>) -> Input<'a> {
    let first = step(&lost(catalog, policy));
    let case = Case { state: CaseState::Acted, ..first.cases[0].clone() };
    let mut input = input(catalog, policy, Trigger::HealthCheck);
    let mut record = node_record(state, &reason::for_case(&case));
    record.state.push("DRAIN".to_owned());
    input.node_record = Asked::Answer(record);
    input.decided = first.decisions;
    input.out = vec![OutCase { case: case.clone(), drained_at: at(600), tries }];
    input.cases = vec![case];
    input.now = at(660);
    input
}

#[test]
fn a_rule_that_says_reboot_when_idle_drains_and_boots_the_node_once_it_is_idle() {
    let (catalog, policy) = (catalog(), asks_for(Intent::RebootWhenIdle));
    assert_eq!(kinds(&step(&lost(&catalog, &policy))), ["drain", "confirm_drain"]);
    let busy = step(&after_the_drain(&catalog, &policy, "MIXED", Vec::new()));
    assert_eq!(held_by(&busy, Intent::Reboot), Some("idle"));
    assert!(!kinds(&busy).contains(&"reboot"));
    let idle = step(&after_the_drain(&catalog, &policy, "IDLE", Vec::new()));
    assert!(kinds(&idle).contains(&"reboot"), "{:?}", idle.decisions);
    let decision = idle.decisions.iter().find(|d| d.intent == Intent::Reboot).unwrap();
    assert_eq!(decision.rule, "as-asked");
    let tries = idle.actions.iter().filter(|action| action.kind() == "reboot").map(|action| Try {
        action: action.clone(),
        went_well: Some(true),
        at: at(661),
        answer: String::new(),
    });
    let again = step(&after_the_drain(&catalog, &policy, "IDLE", tries.collect()));
    assert!(!kinds(&again).contains(&"reboot"), "once for a case");
}

#[test]
fn a_rule_in_monitor_mode_boots_nobody() {
    let (catalog, mut policy) = (catalog(), asks_for(Intent::RebootWhenIdle));
    let input = after_the_drain(&catalog, &policy, "IDLE", Vec::new());
    let (decided, cases, out, record) = (input.decided, input.cases, input.out, input.node_record);
    policy.rules[0].mode = Some(Mode::Monitor);
    let output = step(&Input {
        decided,
        cases,
        out,
        node_record: record,
        now: at(660),
        ..support::input(&catalog, &policy, Trigger::HealthCheck)
    });
    assert_eq!(held_by(&output, Intent::Reboot), Some("mode"));
    assert!(!kinds(&output).contains(&"reboot"));
}
