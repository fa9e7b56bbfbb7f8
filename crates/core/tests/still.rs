//! What a sensor still reads as bad, or does not read as bad any more, whatever the cases say: a word of a person, a brake
//! that held for a while.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]
mod support;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::checks::*;
use triage_core::facts::driver::DriverFacts;
use triage_core::facts::host::{Mount, Mounts};
use triage_core::facts::{NodeFacts, Sheet};
use triage_core::fleet::Fleet;
use triage_core::pipeline::{Asked, Closed, Input, Output, Trigger, step};
use triage_core::policy::{Policy, Step};
use triage_core::reading::NvmlReading;
use triage_core::*;

/// A node with its ledger, health check after health check.
struct Node {
    catalog: Catalog,
    policy: Policy,
    settings: CheckSettings,
    cases: Vec<Case>,
    closed: Vec<Closed>,
    out: Vec<OutCase>,
    last: Vec<CheckState>,
    before: Option<NodeFacts>,
    reading: Option<NvmlReading>,
    decided: Vec<Decision>,
    fleet: Fleet,
    reason: String,
}

impl Node {
    fn new() -> Self {
        let mut policy = acting();
        policy.repair.resume = Step::Act;
        Self {
            catalog: catalog(),
            policy,
            settings: CheckSettings::default(),
            cases: Vec::new(),
            closed: Vec::new(),
            out: Vec::new(),
            last: Vec::new(),
            before: None,
            reading: None,
            decided: Vec::new(),
            fleet: Fleet::default(),
            reason: String::new(),
        }
    }

    /// A health check that sweeps and reads the mounts; without a reading the probe hangs.
    fn pass(&mut self, secs: i64, reading: Option<NvmlReading>, mounts: &[Mount]) -> Output {
        let facts = NodeFacts {
            mounts: Some(Sheet::read(Mounts { mounted: mounts.to_vec(), fstab: Vec::new() })),
            driver: Some(Sheet::read(DriverFacts {
                modules: vec!["nvidia".to_owned()],
                ..DriverFacts::default()
            })),
            ..NodeFacts::new(at(secs), BootId::from("b1"))
        };
        let expect = Expect::default();
        let output = {
            let mut input: Input<'_> = input(&self.catalog, &self.policy, Trigger::HealthCheck);
            input.now = at(secs);
            input.cases.clone_from(&self.cases);
            input.past.closed.clone_from(&self.closed);
            input.past.since = Some(at(-86_400));
            input.out.clone_from(&self.out);
            input.decided.clone_from(&self.decided);
            input.fleet = Asked::Answer(self.fleet.clone());
            input.last_reading = self.reading.clone().map(|reading| (BootId::from("b1"), reading));
            let mut record = node_record("IDLE", &self.reason);
            record.partitions = vec!["p".to_owned()];
            if !self.reason.is_empty() {
                record.state.push("DRAIN".to_owned());
            }
            input.node_record = Asked::Answer(record);
            let blind = Payload::Blind { reason: "no answer".to_owned(), hung: true };
            let seen = reading.clone().map_or(blind, |reading| Payload::Nvml(Box::new(reading)));
            input.observations.push(observe("b1", at(secs), SourceKind::Nvml, seen));
            input.checks = Some(Checking {
                made: true,
                facts: &facts,
                before: self.before.as_ref(),
                expect: &expect,
                baseline: None,
                settings: &self.settings,
                last: &self.last,
            });
            step(&input)
        };
        self.keep(&output);
        self.before = Some(facts);
        self.reading = reading.or(self.reading.take());
        output
    }

    fn keep(&mut self, output: &Output) {
        for case in &output.cases {
            self.cases.retain(|known| known.id != case.id);
            self.out.iter_mut().filter(|out| out.case.id == case.id).for_each(|out| out.case = case.clone());
            if case.is_open() {
                self.cases.push(case.clone());
            } else {
                self.note_closed(case);
            }
        }
        for state in &output.checks {
            self.last.retain(|known| known.name != state.name);
            self.last.push(state.clone());
        }
        for action in &output.actions {
            if let Action::Drain { case, reason, .. } = action {
                self.drained(case, reason);
            }
        }
        self.decided.extend(output.decisions.iter().cloned());
    }

    fn drained(&mut self, id: &CaseId, reason: &str) {
        if self.reason.is_empty() {
            reason.clone_into(&mut self.reason);
        }
        let case = self.cases.iter_mut().find(|case| case.id == *id).unwrap();
        case.state = CaseState::Acted;
        self.out.retain(|out| out.case.id != *id);
        self.out.push(OutCase { case: case.clone(), drained_at: at(0), tries: Vec::new() });
    }

    fn note_closed(&mut self, case: &Case) {
        self.closed.push(Closed {
            fault: case.fault.clone(),
            resource: case.resource.clone(),
            at: case.closed_at.unwrap(),
            acquitted: case.state == CaseState::Acquitted,
        });
    }

    /// A person closes the only open case.
    fn says(&mut self, state: CaseState, secs: i64) -> CaseId {
        assert_eq!(self.cases.len(), 1, "{:#?}", self.cases);
        let case = Case { state, closed_at: Some(at(secs)), ..self.cases.remove(0) };
        self.out.iter_mut().filter(|out| out.case.id == case.id).for_each(|out| out.case = case.clone());
        self.note_closed(&case);
        case.id
    }
}

/// GPU 3 is lost: it tells no address any more.
fn lost() -> NvmlReading {
    with(|gpu| {
        gpu.lost = true;
        gpu.pci = None;
        gpu.uuid = None;
    })
}

fn remap_failed() -> NvmlReading {
    with(|gpu| gpu.remap_failed = Some(true))
}

fn asks_for_a_reset() -> NvmlReading {
    with(|gpu| gpu.recovery_action = Some("gpu_reset".to_owned()))
}

fn scratch(read_only: bool) -> Mount {
    Mount {
        path: "/scratch".to_owned(),
        kind: "xfs".to_owned(),
        source: "/dev/sda1".to_owned(),
        device: "8:1".to_owned(),
        read_only,
    }
}

fn resumes(output: &Output) -> bool {
    output.actions.iter().any(|action| matches!(action, Action::Resume { .. }))
}

fn drains(output: &Output) -> bool {
    output.actions.iter().any(|action| matches!(action, Action::Drain { .. }))
}

fn held(output: &Output, intent: Intent) -> Vec<(String, String)> {
    let of = output.decisions.iter().filter(|decision| decision.intent == intent);
    of.filter_map(|decision| decision.held_by()).map(|gate| (gate.name.clone(), gate.why.clone())).collect()
}

#[test]
fn a_gpu_that_is_still_bad_after_it_was_called_repaired_opens_a_case_again_and_stays_out() {
    for bad in [lost, remap_failed, asks_for_a_reset] {
        let mut node = Node::new();
        node.pass(0, Some(healthy()), &[]);
        assert!(drains(&node.pass(60, Some(bad()), &[])));
        let first = node.says(CaseState::Resolved, 90);
        let output = node.pass(120, Some(bad()), &[]);
        assert!(!resumes(&output), "{:?}", output.actions);
        assert_eq!(held(&output, Intent::Resume)[0].0, "other_case");
        assert_eq!(node.cases.len(), 1, "{:#?}", node.cases);
        assert_ne!(node.cases[0].id, first);
        assert_eq!(node.cases[0].resource.to_string(), BAD_GPU, "it is known by its address still");
        assert_eq!(
            node.pass(180, Some(bad()), &[]).events,
            [],
            "a level is no news while a case stands for it"
        );
    }
}

#[test]
fn two_gpus_that_are_still_lost_are_both_told_again() {
    let both = || {
        let mut reading = healthy();
        for gpu in &mut reading.gpus[3..5] {
            gpu.lost = true;
            gpu.pci = None;
        }
        reading
    };
    let mut node = Node::new();
    node.pass(0, Some(healthy()), &[]);
    node.pass(60, Some(lost()), &[]);
    node.pass(120, Some(both()), &[]);
    for case in std::mem::take(&mut node.cases) {
        node.cases.push(case);
        node.says(CaseState::Resolved, 150);
    }
    assert!(!resumes(&node.pass(180, Some(both()), &[])));
    assert_eq!(node.cases.len(), 2, "{:#?}", node.cases);
}

#[test]
fn a_gpu_that_was_acquitted_is_left_alone_until_it_was_good_in_between_and_our_drain_is_not_lifted() {
    for bad in [lost, remap_failed, asks_for_a_reset] {
        let mut node = Node::new();
        node.pass(0, Some(healthy()), &[]);
        node.pass(60, Some(bad()), &[]);
        node.says(CaseState::Acquitted, 90);
        let output = node.pass(120, Some(bad()), &[]);
        assert_eq!((output.events.len(), node.cases.len(), resumes(&output)), (0, 0, false));
        let (gate, why) = held(&output, Intent::Resume).remove(0);
        assert_eq!(gate, "sensor");
        assert!(why.contains("GPU 3"), "{why}");
        let hung = node.pass(180, None, &[]);
        assert!(!resumes(&hung), "nobody has looked since");
        assert!(resumes(&node.pass(240, Some(healthy()), &[])));
        node.pass(300, Some(bad()), &[]);
        assert_eq!(node.cases.len(), 1, "it was good in between");
    }
}

#[test]
fn what_a_probe_could_not_read_after_a_word_keeps_the_node_out() {
    let mut node = Node::new();
    node.pass(0, Some(healthy()), &[]);
    node.pass(60, Some(lost()), &[]);
    node.says(CaseState::Resolved, 90);
    let output = node.pass(120, None, &[]);
    assert!(!resumes(&output));
    let (gate, why) = held(&output, Intent::Resume).remove(0);
    assert!(gate == "sensor" && why.contains("before it went blind"), "{gate}: {why}");
    assert!(resumes(&node.pass(180, Some(healthy()), &[])), "it was repaired indeed");
}

#[test]
fn what_a_check_still_finds_bad_after_a_word_is_as_it_is_with_a_sweep() {
    for (word, opens, gate) in [(CaseState::Resolved, 1, "other_case"), (CaseState::Acquitted, 0, "sensor")] {
        let mut node = Node::new();
        node.pass(0, Some(healthy()), &[scratch(false)]);
        assert!(drains(&node.pass(60, Some(healthy()), &[scratch(true)])));
        node.says(word, 90);
        let output = node.pass(120, Some(healthy()), &[scratch(true)]);
        assert_eq!((node.cases.len(), resumes(&output)), (opens, false), "{word}");
        assert_eq!(held(&output, Intent::Resume)[0].0, gate);
        assert_eq!(node.pass(180, Some(healthy()), &[scratch(true)]).events, []);
    }
}

#[test]
fn a_check_that_the_site_lets_only_note_keeps_no_drain_of_its_own_case() {
    let mut node = Node::new();
    node.pass(0, Some(healthy()), &[scratch(false)]);
    node.pass(60, Some(healthy()), &[scratch(true)]);
    node.says(CaseState::Acquitted, 90);
    let notes = CheckSetting { action: Some(CheckAction::Note), ..CheckSetting::default() };
    node.settings.0.insert("mount_readonly".to_owned(), notes);
    assert!(resumes(&node.pass(120, Some(healthy()), &[scratch(true)])));
}

#[test]
fn a_word_on_what_is_well_again_brings_the_node_back() {
    let mut node = Node::new();
    node.pass(0, Some(healthy()), &[]);
    node.pass(60, Some(lost()), &[]);
    node.says(CaseState::Resolved, 90);
    let output = node.pass(120, Some(healthy()), &[]);
    assert_eq!((output.events.len(), resumes(&output)), (0, true), "{:?}", output.decisions);
}

/// A brake holds: as many are out by us as may be.
fn full() -> Fleet {
    let out = |n: usize| NodeRecord {
        node: NodeName::from(format!("x{n}").as_str()),
        state: vec!["DRAINED".to_owned()],
        reason: "slurm-triage: xid.79 gpu [case 0a0b0c0d]".to_owned(),
        reason_at: Some(at(0)),
        partitions: vec!["p".to_owned()],
        ..NodeRecord::default()
    };
    Fleet { nodes: (0..50).map(out).collect(), ..Fleet::default() }
}

/// Held by a brake over a filesystem that turned read-only.
fn braked() -> Node {
    let mut node = Node::new();
    node.policy.brake.look_again_s = 0;
    node.fleet = full();
    node.pass(0, Some(healthy()), &[scratch(false)]);
    let output = node.pass(60, Some(healthy()), &[scratch(true)]);
    assert_eq!(held(&output, Intent::Drain)[0].0, "brake", "{:?}", output.decisions);
    node.fleet = Fleet::default();
    node
}

#[test]
fn a_drain_that_a_brake_held_is_not_done_once_the_check_finds_the_thing_good() {
    let mut node = braked();
    let output = node.pass(120, Some(healthy()), &[scratch(false)]);
    assert!(!drains(&output));
    let (gate, why) = held(&output, Intent::Drain).remove(0);
    assert!(gate == "check" && why.contains("good since"), "{gate}: {why}");
    assert_eq!(node.cases.len(), 1, "it must stay good before the case is closed");
    assert!(drains(&node.pass(180, Some(healthy()), &[scratch(true)])), "bad again");
    let mut node = braked();
    assert!(drains(&node.pass(120, Some(healthy()), &[scratch(true)])), "the brake has room");
}

#[test]
fn a_drain_that_a_brake_held_is_not_done_for_a_thing_that_is_gone_nor_is_that_good() {
    let mut node = braked();
    for secs in [120, 600, 1200] {
        let output = node.pass(secs, Some(healthy()), &[]);
        assert!(!drains(&output), "{secs}");
        assert_eq!(node.cases.len(), 1, "{secs}: what is gone is not good");
    }
    let state = node.last.iter().find(|state| state.name == "mount_readonly").unwrap();
    assert_eq!(state.state, CheckWord::Blind);
    assert!(state.text.contains("not to be seen any more"), "{}", state.text);
    node.says(CaseState::Resolved, 1230);
    for secs in [1260, 1620] {
        node.pass(secs, Some(healthy()), &[]);
    }
    let state = node.last.iter().find(|state| state.name == "mount_readonly").unwrap();
    assert_eq!((state.state, node.cases.len()), (CheckWord::Ok, 0), "nobody waits for it any more");
}

#[test]
fn a_drain_that_was_done_stays_while_the_thing_must_stay_good() {
    let mut node = Node::new();
    node.pass(0, Some(healthy()), &[scratch(false)]);
    node.pass(60, Some(healthy()), &[scratch(true)]);
    let output = node.pass(120, Some(healthy()), &[scratch(false)]);
    assert_eq!((held(&output, Intent::Drain), resumes(&output)), (Vec::new(), false));
    assert!(resumes(&node.pass(420, Some(healthy()), &[scratch(false)])), "{:?}", node.decided);
}
