//! State checks from outside: facts in; events, cases and their ends out.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]
mod support;

use std::collections::BTreeMap;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::checks::*;
use triage_core::facts::host::{Answer, Mount, Mounts, Space};
use triage_core::facts::site::{SiteAnswer, SiteFacts, SiteStatus};
use triage_core::facts::{NodeFacts, Sheet};
use triage_core::pipeline::{Input, Output, Trigger, step};
use triage_core::policy::Policy;
use triage_core::*;

/// A node with its ledger, pass after pass.
struct Node {
    catalog: Catalog,
    policy: Policy,
    settings: CheckSettings,
    expect: Expect,
    cases: Vec<Case>,
    last: Vec<CheckState>,
    before: Option<NodeFacts>,
    boot: BootId,
}

impl Node {
    fn new() -> Self {
        Self {
            catalog: catalog(),
            policy: acting(),
            settings: CheckSettings::default(),
            expect: Expect {
                mounts: vec![ExpectMount { path: "/scratch".to_owned(), ..ExpectMount::default() }],
                ..Expect::default()
            },
            cases: Vec::new(),
            last: Vec::new(),
            before: None,
            boot: BootId::from("b1"),
        }
    }

    fn set(&mut self, name: &str, setting: CheckSetting) {
        self.settings.0.insert(name.to_owned(), setting);
    }

    /// One pass; what it wrote is what the next one finds.
    fn pass(&mut self, secs: i64, trigger: Trigger, facts: NodeFacts) -> Output {
        let facts = NodeFacts { at: at(secs), boot: self.boot.clone(), ..facts };
        let output = {
            let checking = Checking {
                made: true,
                facts: &facts,
                before: self.before.as_ref(),
                expect: &self.expect,
                baseline: None,
                settings: &self.settings,
                last: &self.last,
            };
            let mut input: Input<'_> = input(&self.catalog, &self.policy, trigger);
            input.now = at(secs);
            input.boot = self.boot.clone();
            input.cases = self.cases.clone();
            input.checks = Some(checking);
            input.node_record = triage_core::pipeline::Asked::Answer(node_record("IDLE", ""));
            if trigger == Trigger::Prolog {
                input.span = Some(span(&["n1"], None));
            }
            step(&input)
        };
        for case in &output.cases {
            self.cases.retain(|known| known.id != case.id);
            if case.is_open() {
                self.cases.push(case.clone());
            }
        }
        for state in &output.checks {
            self.last.retain(|known| known.name != state.name);
            self.last.push(state.clone());
        }
        if trigger == Trigger::HealthCheck {
            self.before = Some(facts);
        }
        output
    }

    fn state(&self, name: &str) -> &CheckState {
        self.last.iter().find(|state| state.name == name).unwrap()
    }
}

fn mount(path: &str, kind: &str, read_only: bool) -> Mount {
    let (path, kind) = (path.to_owned(), kind.to_owned());
    Mount { path, kind, source: "/dev/sda1".to_owned(), device: "8:1".to_owned(), read_only }
}

fn mounted(mounts: &[Mount]) -> NodeFacts {
    NodeFacts {
        mounts: Some(Sheet::read(Mounts { mounted: mounts.to_vec(), fstab: Vec::new() })),
        ..NodeFacts::default()
    }
}

fn well() -> NodeFacts {
    mounted(&[mount("/", "ext4", false), mount("/scratch", "lustre", false)])
}

fn without_scratch() -> NodeFacts {
    mounted(&[mount("/", "ext4", false)])
}

fn codes(output: &Output) -> Vec<&str> {
    output.events.iter().map(|event| event.code.as_str()).collect()
}

#[test]
fn a_healthy_node_has_results_and_nothing_else() {
    let mut node = Node::new();
    let output = node.pass(0, Trigger::HealthCheck, well());
    assert_eq!((codes(&output), &output.cases, &output.decisions), (vec![], &vec![], &vec![]));
    assert_eq!(node.state("mounts").state, CheckWord::Ok);
    assert_eq!(node.state("memory").state, CheckWord::Blind, "its area was not looked at");
}

#[test]
fn a_broken_check_opens_one_case_names_the_difference_and_its_passing_closes_it() {
    let mut node = Node::new();
    node.pass(0, Trigger::HealthCheck, well());
    let output = node.pass(60, Trigger::HealthCheck, without_scratch());
    let case = &output.cases[0];
    assert_eq!(
        (case.fault.as_str(), case.clears, case.advice),
        ("check.mounts", ClearedBy::CheckPasses, Advice::Watch)
    );
    assert_eq!(case.why, "/scratch: not mounted, expected by [expect]");
    assert_eq!((output.decisions[0].intent, output.actions.len()), (Intent::Note, 0));
    for secs in [120, 180] {
        let again = node.pass(secs, Trigger::HealthCheck, without_scratch());
        assert_eq!((codes(&again), again.cases.len()), (vec![], 0), "a level is no news");
    }
    assert_eq!(node.state("mounts").since, at(60));
    let output = node.pass(240, Trigger::HealthCheck, well());
    assert_eq!(output.cases[0].state, CaseState::Resolved);
    assert_eq!(output.cases[0].why, "check.mounts finds fs:/scratch good again");
    assert_eq!(node.cases, []);
}

#[test]
fn a_blind_check_neither_opens_nor_closes() {
    let mut node = Node::new();
    node.pass(0, Trigger::HealthCheck, without_scratch());
    let blind =
        || NodeFacts { mounts: Some(Sheet::blind("/proc/self/mountinfo: EIO")), ..NodeFacts::default() };
    let output = node.pass(60, Trigger::HealthCheck, blind());
    assert_eq!((output.cases.len(), node.cases.len()), (0, 1));
    assert_eq!(
        (node.state("mounts").state, node.state("mounts").text.as_str()),
        (CheckWord::Blind, "/proc/self/mountinfo: EIO")
    );
    assert_eq!(
        node.pass(120, Trigger::HealthCheck, without_scratch()).events,
        [],
        "it was bad before it was blind"
    );
    node.pass(180, Trigger::HealthCheck, blind());
    assert_eq!(node.pass(240, Trigger::HealthCheck, well()).cases[0].state, CaseState::Resolved);
}

#[test]
fn a_prolog_looks_only_where_it_was_told_to_and_writes_only_what_is_new() {
    let mut node = Node::new();
    node.pass(0, Trigger::HealthCheck, well());
    assert_eq!(node.pass(30, Trigger::Prolog, well()).checks, []);
    let output = node.pass(60, Trigger::Prolog, without_scratch());
    let names: Vec<&str> = output.checks.iter().map(|state| state.name.as_str()).collect();
    assert_eq!((names, codes(&output)), (vec!["mounts"], vec!["check.mounts"]));
    assert_eq!(output.actions, [], "a note refuses nobody");
}

#[test]
fn a_check_that_refuses_asks_for_nothing_until_a_job_comes() {
    let mut node = Node::new();
    node.set("mounts", CheckSetting { action: Some(CheckAction::Refuse), ..CheckSetting::default() });
    let output = node.pass(0, Trigger::HealthCheck, without_scratch());
    assert_eq!((output.cases[0].advice, output.actions), (Advice::Watch, vec![]));
    let output = node.pass(60, Trigger::Prolog, without_scratch());
    assert_eq!(output.cases[0].advice, Advice::Drain);
    assert!(
        output.actions.iter().any(|action| matches!(action, Action::RefuseJob { .. })),
        "{:?}",
        output.actions
    );
}

#[test]
fn a_check_in_monitor_is_written_down_and_held() {
    for held in [
        CheckSetting {
            mode: Some(Mode::Monitor),
            action: Some(CheckAction::Drain),
            ..CheckSetting::default()
        },
        CheckSetting { action: Some(CheckAction::Note), ..CheckSetting::default() },
    ] {
        let mut node = Node::new();
        node.set("mounts", CheckSetting { action: Some(CheckAction::Drain), ..CheckSetting::default() });
        let output = node.pass(0, Trigger::HealthCheck, without_scratch());
        assert!(
            output.actions.iter().any(|action| matches!(action, Action::Drain { .. })),
            "{:?}",
            output.decisions
        );
        node.set("mounts", held);
        let output = node.pass(60, Trigger::HealthCheck, without_scratch());
        assert_eq!(output.actions, []);
        assert_eq!(output.decisions[0].held_by().unwrap().name, "check");
        assert_eq!(node.pass(90, Trigger::Prolog, without_scratch()).actions, []);
    }
}

#[test]
fn what_flaps_stays_one_case_until_it_is_good_for_long_enough() {
    let mut node = Node::new();
    node.set("mounts", CheckSetting { good_for_s: Some(300), ..CheckSetting::default() });
    let first = node.pass(0, Trigger::HealthCheck, without_scratch()).cases[0].id.clone();
    for secs in [60, 180, 300] {
        node.pass(secs, Trigger::HealthCheck, well());
        assert_eq!(codes(&node.pass(secs + 60, Trigger::HealthCheck, without_scratch())), ["check.mounts"]);
        assert_eq!(node.cases.iter().map(|case| &case.id).collect::<Vec<_>>(), [&first]);
    }
    node.pass(420, Trigger::HealthCheck, well());
    node.pass(700, Trigger::HealthCheck, well());
    assert_eq!(node.cases.len(), 1, "280 s are not 300");
    node.pass(720, Trigger::HealthCheck, well());
    assert_eq!(node.cases, []);
}

#[test]
fn what_must_be_bad_for_a_while_is_not_news_before() {
    let mut node = Node::new();
    node.set("mounts", CheckSetting { bad_for_s: Some(100), ..CheckSetting::default() });
    assert_eq!(codes(&node.pass(0, Trigger::HealthCheck, without_scratch())), [""; 0]);
    assert_eq!(node.state("mounts").state, CheckWord::Ok);
    assert!(node.state("mounts").text.contains("not yet"), "{:?}", node.state("mounts"));
    assert_eq!(codes(&node.pass(60, Trigger::HealthCheck, without_scratch())), [""; 0]);
    assert_eq!(codes(&node.pass(120, Trigger::HealthCheck, without_scratch())), ["check.mounts"]);
}

#[test]
fn a_case_that_a_person_acquitted_is_not_opened_again_while_nothing_changes() {
    let mut node = Node::new();
    node.pass(0, Trigger::HealthCheck, without_scratch());
    node.cases.clear();
    assert_eq!(node.pass(60, Trigger::HealthCheck, without_scratch()).cases, []);
    node.pass(120, Trigger::HealthCheck, well());
    assert_eq!(node.pass(180, Trigger::HealthCheck, without_scratch()).cases.len(), 1);
}

#[test]
fn what_is_still_bad_after_a_boot_is_news_of_that_boot() {
    let mut node = Node::new();
    let id = node.pass(0, Trigger::HealthCheck, without_scratch()).cases[0].id.clone();
    node.boot = BootId::from("b2");
    let output = node.pass(600, Trigger::HealthCheck, without_scratch());
    assert_eq!(
        (codes(&output), &output.cases[0].id, output.cases[0].boot.as_str()),
        (vec!["check.mounts"], &id, "b2")
    );
}

#[test]
fn a_check_that_is_switched_off_says_so_once_and_finds_nothing() {
    let mut node = Node::new();
    node.set("mounts", CheckSetting { enabled: Some(false), ..CheckSetting::default() });
    let output = node.pass(0, Trigger::HealthCheck, without_scratch());
    assert_eq!((codes(&output), node.state("mounts").state), (vec![], CheckWord::Disabled));
    let again = node.pass(60, Trigger::HealthCheck, without_scratch());
    assert!(again.checks.iter().all(|state| state.name != "mounts"));
}

#[test]
fn a_local_disk_that_turns_read_only_is_drained_and_a_servers_is_noted() {
    let turned = |path: &str, kind: &str, source: &str, read_only: bool| {
        mounted(&[Mount { source: source.to_owned(), ..mount(path, kind, read_only) }])
    };
    for (kind, source, drained) in [("xfs", "/dev/nvme0n1p2", true), ("nfs4", "srv:/home", false)] {
        let mut node = Node::new();
        node.expect = Expect::default();
        node.pass(0, Trigger::HealthCheck, turned("/local", kind, source, false));
        let output = node.pass(60, Trigger::HealthCheck, turned("/local", kind, source, true));
        assert_eq!(output.cases[0].code.as_str(), "check.mount_readonly");
        assert!(
            output.cases[0].why.starts_with("/local: read-only, it was rw earlier"),
            "{}",
            output.cases[0].why
        );
        assert_eq!(output.actions.iter().any(|a| matches!(a, Action::Drain { .. })), drained, "{kind}");
        let still = node.pass(120, Trigger::HealthCheck, turned("/local", kind, source, true));
        assert_eq!(
            (still.events.len(), node.cases.len()),
            (0, 1),
            "the pass before saw it read-only already"
        );
    }
    let mut node = Node::new();
    let always = || turned("/images", "ext4", "/dev/loop0", true);
    node.expect = Expect::default();
    node.pass(0, Trigger::HealthCheck, always());
    assert_eq!(node.pass(60, Trigger::HealthCheck, always()).cases, [], "it never was anything else");
}

#[test]
fn a_filesystem_that_hangs_is_named_and_a_node_is_not_drained_for_it() {
    let mut node = Node::new();
    let hung = Answer { hung: true, wchan: Some("rpc_wait_bit_killable".to_owned()), ..Answer::default() };
    let facts = || NodeFacts {
        space: Some(Sheet::read(Space {
            of: BTreeMap::from([("/scratch".to_owned(), hung.clone())]),
            deadline_ms: 3000,
            ..Space::default()
        })),
        ..well()
    };
    let output = node.pass(0, Trigger::HealthCheck, facts());
    let case = &output.cases[0];
    assert_eq!(case.why, "/scratch: no answer within 3000 ms (in rpc_wait_bit_killable)");
    assert_eq!(output.actions, []);
    assert_eq!(node.state("space").state, CheckWord::Blind, "how full it is cannot be told");
}

#[test]
fn a_sites_own_check_is_judged_like_ours_and_one_that_cannot_be_asked_is_blind() {
    let answer = |status, resource: Option<&str>| NodeFacts {
        site: Some(Sheet::read(SiteFacts {
            answers: vec![SiteAnswer {
                name: "nhc".to_owned(),
                status,
                text: "fan 3".to_owned(),
                resource: resource.map(str::to_owned),
                cost_us: 5,
            }],
        })),
        ..well()
    };
    let mut node = Node::new();
    node.set(
        "site.nhc",
        CheckSetting { action: Some(CheckAction::Drain), good_for_s: Some(0), ..CheckSetting::default() },
    );
    let output = node.pass(0, Trigger::HealthCheck, answer(SiteStatus::Critical, Some("gpu:0000:61:00.0")));
    assert_eq!(
        (output.cases[0].code.as_str(), output.cases[0].resource.to_string()),
        ("site.nhc", "gpu:0000:61:00.0".to_owned())
    );
    assert!(output.actions.iter().any(|a| matches!(a, Action::Drain { .. })));
    let output = node.pass(60, Trigger::HealthCheck, answer(SiteStatus::Unknown, None));
    assert_eq!((node.state("site.nhc").state, output.cases.len()), (CheckWord::Blind, 0));
    assert_eq!(
        node.pass(120, Trigger::HealthCheck, answer(SiteStatus::Ok, None)).cases[0].state,
        CaseState::Resolved
    );
    let output = node.pass(180, Trigger::HealthCheck, answer(SiteStatus::Warning, None));
    assert_eq!(
        (output.cases[0].confidence, output.actions.len()),
        (Confidence::Suspected, 0),
        "a warning is no proof"
    );
}

fn answers(status: Option<SiteStatus>) -> NodeFacts {
    let answer = |status| SiteAnswer {
        name: "nhc".to_owned(),
        status,
        text: "fan 3".to_owned(),
        resource: None,
        cost_us: 5,
    };
    let answers = status.map(answer).into_iter().collect();
    NodeFacts { site: Some(Sheet::read(SiteFacts { answers })), ..well() }
}

/// Whether the node is taken out, or a job kept off it, in a pass with these facts.
fn acts(node: &mut Node, secs: i64, trigger: Trigger, facts: NodeFacts) -> bool {
    let output = node.pass(secs, trigger, facts);
    output.actions.iter().any(|action| matches!(action, Action::Drain { .. } | Action::RefuseJob { .. }))
}

#[test]
fn a_sites_check_that_was_deleted_leaves_a_case_that_is_shown_and_asks_for_nothing() {
    let draining = CheckSetting { action: Some(CheckAction::Drain), ..CheckSetting::default() };
    let mut node = Node::new();
    node.set("site.nhc", draining);
    assert!(acts(&mut node, 0, Trigger::HealthCheck, answers(Some(SiteStatus::Critical))));
    assert!(acts(&mut node, 30, Trigger::Prolog, well()), "as long as the check is there");
    // The folder could not be read: nothing is known of the file.
    node.pass(40, Trigger::HealthCheck, NodeFacts { site: Some(Sheet::blind("EIO")), ..well() });
    assert_ne!(node.state("site.nhc").state, CheckWord::Disabled);
    node.pass(60, Trigger::HealthCheck, answers(None));
    assert_eq!(node.state("site.nhc").state, CheckWord::Disabled);
    let output = node.pass(90, Trigger::Prolog, well());
    assert_eq!((output.actions, node.cases.len()), (vec![], 1), "silence clears nothing, and refuses nobody");
    let gate = output.decisions[0].held_by().unwrap();
    assert_eq!(gate.name, "check");
    assert!(gate.why.contains("its file is not in checks.d any more"), "{}", gate.why);
    assert!(gate.why.contains("slurm-triage ack"), "{}", gate.why);
    let output = node.pass(120, Trigger::HealthCheck, answers(None));
    assert!(output.checks.iter().all(|state| state.name != "site.nhc"), "told once");
    let gone = gone::behind(&node.cases[0], &node.settings, &node.last).unwrap();
    assert_eq!((gone.check.as_str(), gone.since), ("site.nhc", Some(at(60))));
    node.pass(180, Trigger::HealthCheck, answers(Some(SiteStatus::Critical)));
    assert!(acts(&mut node, 190, Trigger::Prolog, well()), "it is back, and says the same");
    assert_eq!((node.cases.len(), gone::behind(&node.cases[0], &node.settings, &node.last)), (1, None));
    node.pass(240, Trigger::HealthCheck, answers(None));
    node.pass(300, Trigger::HealthCheck, answers(Some(SiteStatus::Ok)));
    assert_eq!(node.cases, [], "back, and content");
}

#[test]
fn a_check_that_was_switched_off_asks_for_nothing_any_more_until_it_is_on_again() {
    let draining = CheckSetting { action: Some(CheckAction::Drain), ..CheckSetting::default() };
    let mut node = Node::new();
    node.set("mounts", draining.clone());
    assert!(acts(&mut node, 0, Trigger::HealthCheck, without_scratch()));
    node.set("mounts", CheckSetting { enabled: Some(false), ..draining.clone() });
    assert!(!acts(&mut node, 60, Trigger::HealthCheck, without_scratch()));
    assert!(!acts(&mut node, 90, Trigger::Prolog, without_scratch()));
    assert_eq!(node.cases.len(), 1);
    assert!(
        gone::behind(&node.cases[0], &node.settings, &node.last).unwrap().sentence().contains("switched off")
    );
    node.set("mounts", draining);
    assert!(acts(&mut node, 120, Trigger::HealthCheck, without_scratch()));
    assert_eq!(node.cases.len(), 1);
}

#[test]
fn a_case_of_a_check_that_this_version_does_not_have_asks_for_nothing() {
    let draining = CheckSetting { action: Some(CheckAction::Drain), ..CheckSetting::default() };
    let mut node = Node::new();
    node.set("mounts", draining.clone());
    node.set("gone_by", draining);
    node.pass(0, Trigger::HealthCheck, without_scratch());
    node.cases[0].code = Code::new("check.gone_by".to_owned());
    node.cases[0].fault = "check.gone_by".to_owned();
    assert!(!acts(&mut node, 60, Trigger::Prolog, well()));
    let gone = gone::behind(&node.cases[0], &node.settings, &node.last).unwrap();
    assert_eq!((gone.why.as_str(), gone.since), ("this version has no such check", None));
}

#[test]
fn a_clock_that_was_set_back_keeps_no_case_open_for_ever() {
    let mut node = Node::new();
    node.set("mounts", CheckSetting { good_for_s: Some(300), ..CheckSetting::default() });
    node.pass(100_000, Trigger::HealthCheck, without_scratch());
    node.pass(100_060, Trigger::HealthCheck, well());
    node.pass(0, Trigger::HealthCheck, well());
    node.pass(301, Trigger::HealthCheck, well());
    assert_eq!(node.cases, []);
}

#[test]
fn names_are_unique_and_read_in_codes() {
    let mut seen = std::collections::BTreeSet::new();
    for check in ALL {
        assert!(seen.insert(check.name), "{} twice", check.name);
        assert!(
            check.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{}",
            check.name
        );
        assert_eq!(name_of(&check.code()), Some(check.name));
        assert!(!check.finds.is_empty() && !check.reads.is_empty() && !check.at.is_empty(), "{}", check.name);
    }
    assert_eq!(name_of("site.nhc"), Some("site.nhc"));
    assert_eq!(name_of("xid.79"), None);
}

#[test]
fn what_was_bad_before_a_reboot_has_not_been_bad_ever_since() {
    let mut node = Node::new();
    let wait = CheckSetting { bad_for_s: Some(60), ..CheckSetting::default() };
    node.set("mounts", wait);
    node.pass(0, Trigger::HealthCheck, well());
    assert!(codes(&node.pass(60, Trigger::HealthCheck, without_scratch())).is_empty());
    node.boot = BootId::from("b2");
    // The first look at a node that is still coming up.
    let output = node.pass(600, Trigger::HealthCheck, without_scratch());
    assert_eq!(codes(&output), [""; 0], "it has to be bad for a while in this boot");
    assert_eq!(codes(&node.pass(670, Trigger::HealthCheck, without_scratch())), ["check.mounts"]);
}
