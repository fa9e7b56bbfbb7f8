//! `checks`, and what `status` and `doctor` tell of them.
use std::collections::BTreeMap;

use triage_core::checks::{ALL, CheckState, CheckWord, Item, ItemState};
use triage_core::{Case, ClearedBy, Code, NodeName, Resource};
use triage_ledger::{Batch, Ledger};

use crate::support::*;

fn state(name: &str, word: CheckWord, text: &str) -> CheckState {
    CheckState {
        name: name.to_owned(),
        state: word,
        since: NOW.plus_secs(-600),
        at: NOW.plus_secs(-30),
        boot: boot(),
        text: text.to_owned(),
        value: None,
        cost_us: 1_500,
        items: BTreeMap::new(),
    }
}

fn record(ledger: &mut Ledger, states: &[CheckState]) {
    let (node, boot) = (NodeName::from("n1"), boot());
    let batch =
        Batch { checks: states, ..Batch::new(NOW.plus_secs(-30), &node, &boot, "triage-healthcheck") };
    let _ = ledger.record(&batch).unwrap();
}

#[test]
fn every_check_is_listed_with_what_it_found_or_that_it_never_looked() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        record(
            ledger,
            &[
                state("mounts", CheckWord::Bad, "/scratch: not mounted\u{1b}[31m"),
                state("site.nhc", CheckWord::Ok, ""),
            ],
        );
    });
    let page =
        node.run(&["checks"]).expect(1).says("mounts").says("BAD").says("site.nhc").says("never looked");
    assert!(!page.out.contains('\u{1b}'), "{}", page.out);
    let json = node.run(&["checks", "--json"]).expect(1).json();
    let checks = json["checks"].as_array().unwrap();
    assert_eq!((checks.len(), &json["well"]), (ALL.len() + 1, &false.into()));
    let mounts = checks.iter().find(|check| check["name"] == "mounts").unwrap();
    assert_eq!(
        (&mounts["action"], &mounts["cost_us"], &mounts["where"][0]),
        (&"note".into(), &1500.into(), &"prolog".into())
    );
    let space = checks.iter().find(|check| check["name"] == "space").unwrap();
    assert_eq!((&space["state"], &space["threshold"]), (&serde_json::Value::Null, &95.0.into()));
}

/// A GPU that is lost and whose address only its case tells: the sweep and the check know its index alone.
fn a_gpu_is_lost(ledger: &mut Ledger) {
    a_gpu_dies_and_it_is_written_down(ledger);
    let item = Item { state: ItemState::Bad, since: NOW.plus_secs(-600), boot: boot() };
    let lost = CheckState {
        items: [("gpu:7".to_owned(), item)].into(),
        ..state("gpu_lost", CheckWord::Bad, "GPU 7 is lost")
    };
    let reading = triage_core::reading::NvmlReading {
        state: triage_core::reading::NvmlState::Ok,
        gpus: vec![triage_core::reading::GpuReading {
            index: 7,
            lost: true,
            ..triage_core::reading::GpuReading::default()
        }],
        ..triage_core::reading::NvmlReading::default()
    };
    let (node, boot) = (NodeName::from("n1"), boot());
    let at = NOW.plus_secs(-30);
    let reading = triage_ledger::Reading { at, boot: boot.clone(), synthetic: false, reading };
    let batch = Batch {
        checks: &[lost],
        reading: Some(&reading),
        ..Batch::new(at, &node, &boot, "triage-healthcheck")
    };
    let _ = ledger.record(&batch).unwrap();
}

#[test]
fn a_word_on_what_a_check_still_reads_as_bad_says_so_and_no_view_calls_the_node_clean() {
    for (word, then) in [
        ("ack", "a case is opened again at the next health check"),
        ("acquit", "no case is opened for it before it was found good"),
    ] {
        let node = Node::with(a_gpu_is_lost);
        let id = tale().case.id;
        node.run(&[word, id.as_str(), "--reason", "riser reseated"])
            .expect(0)
            .says("at the last look check gpu_lost read it as bad: GPU 7 is lost")
            .says(then);
        let again = node.run(&["--json", word, id.as_str(), "--reason", "x"]).expect(0).json();
        assert_eq!(again["still_bad"], "check gpu_lost read it as bad: GPU 7 is lost");
        node.run(&["status"])
            .expect(1)
            .says("n1: 1 check finds something bad;")
            .says("GPU 7 is lost")
            .does_not_say("nothing is known against");
        assert_eq!(node.run(&["--json", "status"]).expect(1).json()["well"], false);
        node.run(&["why", "n1"])
            .expect(0)
            .says("check gpu_lost finds something bad: GPU 7 is lost")
            .does_not_say("nothing is known against");
    }
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    let said = node.run(&["--json", "ack", tale().case.id.as_str(), "--reason", "x"]).expect(0).json();
    assert_eq!(said["still_bad"], serde_json::Value::Null, "no check has read it as bad");
}

#[test]
fn a_blind_check_is_shown_where_a_person_looks_first_and_is_no_health() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        record(
            ledger,
            &[
                state("memory", CheckWord::Blind, "no slurm.conf"),
                state("site.x", CheckWord::Blind, "refused: loose"),
            ],
        );
    });
    node.run(&["status"]).expect(1).says("2 blind checks").says("no slurm.conf");
    assert_eq!(node.run(&["status", "--json"]).expect(1).json()["checks"][0]["name"], "memory");
    node.run(&["doctor", "--only", "checks"])
        .expect(1)
        .says("memory is blind since")
        .says("[checks.memory] enabled = false");
}

#[test]
fn checks_that_are_all_well_complain_of_nothing() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        record(
            ledger,
            &[state("mounts", CheckWord::Ok, ""), state("space", CheckWord::Disabled, "switched off")],
        );
    });
    node.run(&["checks"]).expect(0);
    node.run(&["status"]).expect(0);
    node.run(&["doctor", "--only", "checks"])
        .expect(0)
        .says("1 checks can look, 0 are blind, 1 are switched off");
}

#[test]
fn a_check_of_the_sites_own_that_was_removed_is_forgotten_and_one_that_is_late_is_not() {
    let node = Node::with(|ledger| {
        all_is_well(ledger);
        let removed = CheckState { at: NOW.plus_secs(-2_000), ..state("site.old", CheckWord::Bad, "broken") };
        let late = CheckState { at: NOW.plus_secs(-600), ..state("site.late", CheckWord::Ok, "") };
        // An epilog came after the health check.
        let mounts = CheckState { at: NOW, ..state("mounts", CheckWord::Ok, "") };
        let space = CheckState { at: NOW.plus_secs(-600), ..state("space", CheckWord::Ok, "") };
        record(ledger, &[mounts, space, removed, late]);
    });
    node.run(&["doctor", "--only", "checks"]).expect(0).does_not_say("site.old");
    node.run(&["checks"]).expect(0).says("site.late").does_not_say("site.old");
    node.run(&["status"]).expect(0);
}

/// The tale's case, as a site's own check would have opened it.
fn claimed_by_a_check(ledger: &mut Ledger) {
    all_is_well(ledger);
    let Tale { line, event, case, .. } = tale();
    let case = Case {
        code: Code::new("site.nhc".to_owned()),
        fault: "site.nhc".to_owned(),
        resource: Resource::Host,
        clears: ClearedBy::CheckPasses,
        run: None,
        ..case
    };
    let rows = Rows { observations: vec![line], events: vec![event], cases: vec![case], ..Rows::default() };
    rows.write(ledger, NOW.plus_secs(-700));
}

#[test]
fn a_case_whose_check_was_deleted_is_shown_with_what_to_do_wherever_a_person_looks() {
    let node = Node::with(|ledger| {
        claimed_by_a_check(ledger);
        record(ledger, &[state("site.nhc", CheckWord::Disabled, "its file is not in checks.d any more")]);
    });
    let why = "its check site.nhc looks no more since 2026-";
    let id = node.run(&["cases", "--json"]).expect(0).json()["gone_checks"][0].clone();
    assert_eq!(id["check"], "site.nhc");
    let remedy = format!("slurm-triage ack {} --reason", id["case"].as_str().unwrap());
    for command in [&["status"][..], &["cases"], &["doctor", "--only", "checks"], &["why", "n1"]] {
        let answer = node.run(command);
        let page = answer.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(why) && page.contains(&remedy), "{command:?}: {}", answer.out);
    }
    assert_eq!(node.run(&["status", "--json"]).json()["gone_checks"][0]["remedy"], id["remedy"]);
}

#[test]
fn a_case_whose_check_still_looks_is_not_called_one_without() {
    let node = Node::with(|ledger| {
        claimed_by_a_check(ledger);
        record(ledger, &[state("site.nhc", CheckWord::Bad, "nhc: fan 3")]);
    });
    let cases = node.run(&["cases", "--json"]).expect(0).json();
    assert_eq!(
        (cases["cases"].as_array().unwrap().len(), &cases["gone_checks"]),
        (1, &serde_json::json!([]))
    );
}

#[test]
fn checks_that_are_blind_for_one_reason_are_one_finding_that_points_to_the_case() {
    let blind =
        ["gpu_ecc", "gpu_temp", "gpu_link"].map(|name| state(name, CheckWord::Blind, "GPU 3 is lost"));
    let node = Node::with(|ledger| {
        a_gpu_dies_and_it_is_written_down(ledger);
        record(ledger, &blind);
    });
    let id = tale().case.id;
    let doctor = node.run(&["--json", "doctor", "--only", "checks"]).expect(1).json();
    let bad: Vec<_> =
        doctor["findings"].as_array().unwrap().iter().filter(|found| found["level"] == "warn").collect();
    let text = |key: &str| bad[0][key].as_str().unwrap();
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert!(text("what").contains("GPU 3 is lost: gpu_ecc gpu_link gpu_temp"), "{bad:?}");
    assert!(text("remedy").contains(&format!("slurm-triage why {id}")), "{bad:?}");
    assert!(!text("remedy").contains("enabled"), "a lost GPU is no reason to switch checks off: {bad:?}");

    // Without a case, and for another reason.
    let node = Node::with(|ledger| {
        let other = ["nic_link", "nic_rate"].map(|name| state(name, CheckWord::Blind, "no sysfs"));
        all_is_well(ledger);
        record(ledger, &[blind.as_slice(), &other].concat());
    });
    node.run(&["doctor", "--only", "checks"])
        .expect(1)
        .says("3 checks are blind")
        .says("slurm-triage status tells")
        .says("2 checks are blind")
        .says("[checks.NAME]")
        .says("2 things to mend");
}
