//! `status`: each way in which a node is not known to be well, and the one in which it is.
use triage_core::SourceKind;
use triage_ledger::{AuditNote, Level, ProcessId, Seen};

use crate::support::*;

#[test]
fn a_node_that_is_well() {
    let node = Node::with(all_is_well);
    insta::assert_snapshot!(node.scrub(&node.run(&["status"]).expect(0).out));
}

#[test]
fn a_node_with_an_open_case_that_was_acted_upon() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.policy("act");
    insta::assert_snapshot!(node.scrub(&node.run(&["status"]).expect(1).out));
}

#[test]
fn a_drain_that_waits_for_the_controller_is_pending() {
    let node = Node::with(|ledger| {
        let Tale { line, event, case, .. } = tale();
        let at = T0.plus_secs(1_801);
        let wanted = node_decision(&case, triage_core::Intent::Drain, at, vec![gate("mode", true, "act")]);
        let intent = drain(&case, &wanted);
        let rows = Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case],
            decisions: vec![wanted],
            intents: vec![intent.clone()],
            ..Rows::default()
        };
        rows.write(ledger, at);
        settle(ledger, &intent, at.plus_secs(1), false, true, "the controller could not be reached");
        healthy_sweep(ledger);
    });
    node.run(&["status"]).expect(1).says("Pending").says("the controller could not be reached");
    node.run(&["why", "n1"])
        .expect(0)
        .says("Next: the drain is pending (so far: the controller could not be reached)");
    let status = node.run(&["status", "--json"]).expect(1).json();
    assert_eq!(status["pending"][0]["kind"], "drain");
    assert_eq!(status["pending"][0]["state"], "pending");
}

#[test]
fn a_source_that_hangs_is_told_with_its_process_and_since_when() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        let at = NOW.plus_secs(-20);
        let hung = Some(ProcessId { pid: 4321, start: 1, boot: boot() });
        let blind =
            Seen::Blind { reason: "no answer within 20000 ms (state D, in nvidia_poll)".to_owned(), hung };
        Rows { sources: vec![look(SourceKind::Nvml, at, blind)], ..Rows::default() }.write(ledger, at);
    });
    insta::assert_snapshot!(node.scrub(&node.run(&["status"]).expect(1).out));
    let source = &node.run(&["status", "--json"]).expect(1).json()["sources"][1];
    assert_eq!((&source["state"], &source["hung_pid"]), (&"hung".into(), &4321.into()));
}

#[test]
fn absence_of_a_health_check_is_not_health() {
    let node = Node::with(all_is_well);
    node.run_at("2026-03-01T13:00:00Z", &["status"])
        .expect(1)
        .says("nobody looks")
        .says("no health check since");
    let never = Node::with(|_| {});
    never.run(&["status"]).expect(1).says("no health check ever").says("none was looked at yet");
}

#[test]
fn a_policy_that_cannot_be_used_is_told_and_monitor_holds() {
    let node = Node::with(all_is_well);
    node.write("policy.toml", "version = 1\n[mode]\ndefault = \"acting\"\n");
    node.run(&["status"]).expect(0).says("drain monitor").says("policy.toml:3:11");
    assert_eq!(node.run(&["status", "--json"]).expect(0).json()["policy"]["mode"]["drain"], "monitor");
}

#[test]
fn the_suites_own_trouble_of_the_last_day_is_told() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        let note = |level, text: &str| AuditNote {
            level,
            text: text.to_owned(),
            ..AuditNote::info("spool.unreadable", "")
        };
        let rows = |note| Rows { audit: vec![note], ..Rows::default() };
        rows(note(Level::Warning, "a week ago")).write(ledger, NOW.plus_secs(-7 * 86_400));
        rows(note(Level::Warning, "an hour ago")).write(ledger, NOW.plus_secs(-3_600));
        rows(note(Level::Info, "quietly")).write(ledger, NOW.plus_secs(-60));
    });
    node.run(&["status"]).expect(0).says("an hour ago").does_not_say("a week ago").does_not_say("quietly");
}

#[test]
fn status_as_json() {
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let mut status = node.scrubbed(&node.run(&["status", "--json"]).expect(1));
    // Depends on SQLite's layout.
    for key in ["bytes", "free_bytes"] {
        assert!(status["ledger"][key].is_u64());
        status["ledger"][key] = "N".into();
    }
    insta::assert_json_snapshot!(status);
}

#[test]
fn a_drain_that_a_health_check_will_lift_is_not_handed_to_a_person() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.policy("act");
    node.run(&["why", "n1"]).expect(0).says("Next: n1 is drained").says("state=undrain");
    let acting = triage_core::policy::DEFAULT_POLICY.replace("\"monitor\"", "\"act\"");
    node.write("policy.toml", &acting);
    let told = node.run(&["why", "n1"]).expect(0).says("Next: n1 is drained");
    told.says("then a health check lifts the drain").does_not_say("state=undrain");
}

#[test]
fn a_drain_that_outlives_its_case_is_told_with_what_holds_the_return() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let case = tale().case;
    let id = case.id.as_str();
    node.run(&["ack", id, "--reason", "board reseated"]).expect(0);
    let still = "still drained for";
    node.run(&["status"]).expect(1).says(still).says(id).says("[repair] resume");
    node.run(&["why", "n1"]).expect(0).says("Next: n1 is still drained for case").says("state=undrain");
    node.fill(|ledger| {
        let at = NOW.plus_secs(-5);
        let gates = vec![gate("verified", false, "mem failed after 3.0 s: exit 1: bad row")];
        let held = node_decision(&case, triage_core::Intent::Resume, at, gates);
        Rows { decisions: vec![held], ..Rows::default() }.write(ledger, at);
    });
    node.run(&["status"]).expect(1).says("verified").says("bad row");
    for asked in ["n1", id] {
        node.run(&["why", asked])
            .expect(0)
            .says("held by verified: mem failed")
            .does_not_say("Next: nothing");
    }
    let status = node.run(&["status", "--json"]).expect(1).json();
    assert_eq!((&status["well"], &status["out"][0]["held_by"]), (&false.into(), &"verified".into()));
    node.fill(|ledger| {
        let at = NOW.plus_secs(-2);
        let wanted =
            node_decision(&case, triage_core::Intent::Resume, at, vec![gate("verified", true, "passed")]);
        let action = triage_core::Action::Resume {
            node: case.node.clone(),
            case: case.id.clone(),
            from_down: false,
            decision: wanted.id.clone(),
        };
        let back = triage_ledger::NewIntent { action, expires: at.plus_secs(300), synthetic: false };
        Rows { decisions: vec![wanted], intents: vec![back.clone()], ..Rows::default() }.write(ledger, at);
        settle(ledger, &back, at, true, false, "back in service");
    });
    node.run(&["status"]).expect(0).does_not_say(still);
    node.run(&["why", "n1"]).expect(0).does_not_say(still);
}
