//! `status`: each way in which a node is not known to be well, and the one in which it is.
use triage_core::SourceKind;
use triage_ledger::{AuditNote, Level, ProcessId, Seen, SourceReport};

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
    let told = node.run(&["status"]).expect(1).says("drain monitor").out;
    let mut first = told.lines();
    assert!(first.next().unwrap().starts_with("n1: the policy cannot be used"), "{told}");
    assert!(first.next().unwrap().contains("policy.toml:3:11"), "{told}");
    let status = node.run(&["status", "--json"]).expect(1).json();
    assert_eq!((&status["policy"]["mode"]["drain"], &status["well"]), (&"monitor".into(), &false.into()));
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

#[test]
fn a_source_that_the_configuration_no_longer_has_is_no_blindness() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        let at = NOW.plus_secs(-900);
        let blind = |source, stream: &str| SourceReport {
            stream: stream.to_owned(),
            ..look(source, at, Seen::Blind { reason: "was not to be read".to_owned(), hung: None })
        };
        let sources = vec![blind(SourceKind::KernelFile, "/nonexistent/kern.log")];
        Rows { sources, ..Rows::default() }.write(ledger, at);
    });
    for command in [&["status"][..], &["why", "n1"]] {
        node.run(command).expect(0).does_not_say("nonexistent").does_not_say("was not to be read");
    }
    // Of the present configuration it is one, and then kmsg is none.
    node.configure("\"kmsg\"", "\"file\"");
    node.configure(&node.path("kern.log").display().to_string(), "/nonexistent/kern.log");
    node.run(&["status"]).expect(1).says("1 blind source").says("/nonexistent/kern.log").does_not_say("kmsg");
    node.run(&["why", "n1"]).expect(0).says("was not to be read");
    node.configure("/nonexistent/kern.log", "/nonexistent/other.log");
    node.configure("\"always\"", "\"never\"");
    node.run(&["status"]).expect(0).does_not_say("nvml ").does_not_say("kern.log");
}

/// The tale's case, its drain held at these seconds before [`NOW`].
fn held(gate: triage_core::Gate, at: &[i64]) -> Node {
    let node = Node::with(|ledger| {
        let Tale { line, event, case, .. } = tale();
        let one = |ago: &i64| {
            node_decision(&case, triage_core::Intent::Drain, NOW.plus_secs(-ago), vec![gate.clone()])
        };
        let decisions = at.iter().map(one).collect();
        let rows = Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case.clone()],
            decisions,
            ..Rows::default()
        };
        rows.write(ledger, NOW.plus_secs(-60));
        healthy_sweep(ledger);
    });
    node.policy("act");
    node
}

#[test]
fn a_drain_that_is_held_is_told_with_who_holds_it_and_when_it_is_looked_at_again() {
    let command = "state=drain reason='slurm-triage: xid.79";
    // Half of the time it was held at the last look is waited for: 14 minutes and 20 seconds.
    for (name, why, next, also) in [
        ("brake", "32 nodes are out by us", "from 2026-03-01T11:13:00Z on", command),
        (
            "operator_hold",
            "node n1 is on hold by ada: rack test",
            "once the hold is over",
            "slurm-triage release",
        ),
        ("exception", "n1 is on the list of nodes that are left alone", "once the policy", command),
        ("reservation", "the node is MAINTENANCE: it is left alone", "with each health check", command),
    ] {
        // A brake may say when; what was said then is not what holds now.
        let stale = if name == "brake" { "; looked at again from 2026-03-01T10:40:00Z on" } else { "" };
        let node = held(gate(name, false, &format!("{why}{stale}")), &[1_500, 700, 80]);
        node.run(&["status"])
            .expect(1)
            .says(&format!("its drain is held by {name}"))
            .says("Drains that are held")
            .says(why)
            .says("25m ago")
            .says(next);
        let json = node.run(&["status", "--json"]).expect(1).json();
        let one = &json["held"][0];
        assert_eq!((&one["held_by"], &one["because"]), (&name.into(), &why.into()));
        assert_eq!(one["next_look"].is_string(), name == "brake");
        let why_node =
            node.run(&["why", "n1"]).expect(0).says(&format!("Next: the drain is held by {name}: {why}"));
        why_node.says(also).says("drain it yourself");
        // Every look is in the ledger; a person is told of one.
        let page = node.run(&["why", "n1"]).expect(0).says("the same was decided 2 times before, since").out;
        assert_eq!(page.matches(&format!("HELD by {name}")).count(), 1, "{page}");
        assert_eq!(
            node.run(&["why", "n1", "--json"]).expect(0).json()["decisions"].as_array().unwrap().len(),
            3
        );
    }
    // A node under maintenance is not to be booted under somebody's hands.
    let node = held(gate("reservation", false, "the node is MAINTENANCE: it is left alone"), &[80]);
    node.run(&["why", "n1"]).expect(0).does_not_say("boot the node;");
    // What the mode holds is the policy's word, which stands below.
    let node = held(gate("mode", false, "monitor mode"), &[80]);
    node.run(&["status"]).expect(1).does_not_say("held");
}

#[test]
fn a_hold_without_an_end_stands_until_it_is_released() {
    let node = Node::with(all_is_well);
    node.run(&["hold", "n1", "--reason", "rack test"]).expect(0);
    for command in ["status", "cases"] {
        node.run(&[command]).expect(0).says("it is released");
    }
}

/// The program in a mount namespace of its own, after `prepare` with the state folder on a filesystem of 2 MB; `None` where
/// this user may not.
fn on_a_filesystem_of_its_own(node: &Node, prepare: &str, args: &[&str]) -> Option<String> {
    let may = std::process::Command::new("unshare").args(["-m", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!(
        "set -e; cd '{}'; cp -a state copy; mount -t tmpfs -o size=2m none state; cp -a copy/. state/; {prepare}; \
         set +e; shift; exec \"$@\"",
        node.dir()
    );
    let program = env!("CARGO_BIN_EXE_slurm-triage");
    let place = node.place(&NOW.to_string());
    let output = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", &script, "sh", "x", program])
        .args(place)
        .args(args)
        .output()
        .unwrap();
    std::fs::remove_dir_all(node.path("copy")).unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some(format!("{}\n{}", output.status.code().unwrap(), String::from_utf8(text).unwrap()))
}

#[test]
fn where_no_pass_can_write_nothing_is_green() {
    for (prepare, why) in [
        ("mount -o remount,ro state", "read-only"),
        ("mount --bind state state; mount -o remount,bind,ro state", "read-only"),
        ("dd if=/dev/zero of=state/fill bs=64k count=64 2>/dev/null || true", "is full"),
    ] {
        for args in [&["status"][..], &["doctor", "--only", "ledger"]] {
            let node = Node::with(all_is_well);
            let Some(told) = on_a_filesystem_of_its_own(&node, prepare, args) else { return };
            assert!(told.starts_with("1\n") && told.contains(why), "{prepare}, {args:?}: {told}");
            // The one reason, and no advice that does not fit it.
            assert_eq!(told.contains("make room"), why == "is full" && args[0] == "doctor", "{told}");
            assert!(!told.contains("nothing is known against it"), "{told}");
        }
    }
    // A ledger that was collected from elsewhere is written by nobody.
    let node = Node::with(all_is_well);
    let (read_only, named) = ("mount -o remount,ro state", ["--ledger", "state/ledger.db", "status"]);
    node.configure(&format!("{}/state", node.dir()), "/var/lib/none");
    let Some(told) = on_a_filesystem_of_its_own(&node, read_only, &named) else { return };
    assert!(told.starts_with("0\n"), "{told}");
}
