//! What the state checks found, and what they looked at, from one pass to the next.
use std::collections::BTreeMap;

use triage_core::BootId;
use triage_core::SourceKind;
use triage_core::checks::{CheckState, CheckWord, Item, ItemState};
use triage_core::facts::host::Memory;
use triage_core::facts::{NodeFacts, Sheet};
use triage_ledger::{Batch, Cursor, Load, Recorded};

use crate::support::*;

fn state(secs: i64, word: CheckWord, text: &str) -> CheckState {
    let item = Item { state: ItemState::Bad, since: T0, boot: boot() };
    CheckState {
        name: "mounts".to_owned(),
        state: word,
        since: T0,
        at: T0.plus_secs(secs),
        boot: boot(),
        text: text.to_owned(),
        value: Some("3 expected".to_owned()),
        cost_us: u64::MAX,
        items: BTreeMap::from([("fs:/scratch dir".to_owned(), item)]),
    }
}

fn facts(total_kib: u64) -> NodeFacts {
    let memory = Memory { total_kib, ..Memory::default() };
    NodeFacts { memory: Some(Sheet::read(memory)), ..NodeFacts::new(T0, boot()) }
}

fn record(place: &Place, states: &[CheckState], facts: Option<&NodeFacts>) {
    let (node, boot) = (node(), boot());
    let batch = Batch { checks: states, facts, ..Batch::new(T0, &node, &boot, "test") };
    assert!(!batch.is_empty());
    assert!(matches!(place.open().record(&batch).unwrap(), Recorded::Committed { .. }));
}

#[test]
fn a_result_and_the_facts_read_back_as_they_were() {
    let place = Place::new();
    assert_eq!(place.open().last_facts().unwrap(), None);
    record(&place, &[state(1, CheckWord::Bad, "a \u{fffd} b")], Some(&facts(7)));
    record(&place, &[], Some(&facts(8)));
    let ledger = place.reader();
    assert_eq!(ledger.checks().unwrap(), [state(1, CheckWord::Bad, "a \u{fffd} b")]);
    assert_eq!(ledger.last_facts().unwrap(), Some(facts(8)));
    let loaded = place.open().load(&Load { spans_since: T0, run: None }).unwrap();
    assert_eq!(loaded.checks, ledger.checks().unwrap());
}

#[test]
fn a_glance_sees_what_a_whole_look_sees_of_what_it_looks_at() {
    let place = Place::new();
    let other = CheckState { name: "other".to_owned(), ..state(1, CheckWord::Ok, "") };
    record(&place, &[state(1, CheckWord::Bad, "a"), other.clone()], None);
    let seen = event(&line(7, "NVRM: Xid"), "xid.79");
    let (node, boot) = (node(), boot());
    let cursor = Cursor {
        source: SourceKind::Kmsg,
        stream: String::new(),
        boot: boot.clone(),
        anchor: String::new(),
        cursor: 8,
    };
    let batch = Batch {
        observations: &[line(7, "NVRM: Xid")],
        events: std::slice::from_ref(&seen),
        cases: &[case(&seen)],
        cursors: &[cursor],
        ..Batch::new(T0, &node, &boot, "test")
    };
    assert!(matches!(place.open().record(&batch).unwrap(), Recorded::Committed { .. }));

    let whole = place.open().load(&Load { spans_since: T0, run: None }).unwrap();
    let glance = place.open().glance(&["other", "unheard-of"]).unwrap();
    assert_eq!(glance.checks, [other]);
    assert_eq!((glance.cases.len(), glance.cursors.len(), whole.checks.len()), (1, 1, 2));
    assert_eq!(glance.generation, whole.generation);
    assert_eq!((glance.cases, glance.cursors, glance.since), (whole.cases, whole.cursors, whole.since));
}

#[test]
fn a_slower_program_does_not_undo_a_later_look_and_another_boot_does() {
    let place = Place::new();
    record(&place, &[state(60, CheckWord::Ok, "")], None);
    record(&place, &[state(30, CheckWord::Bad, "late")], None);
    assert_eq!(place.reader().checks().unwrap()[0].state, CheckWord::Ok);
    // The clock of a boot may be behind that of the boot before.
    record(&place, &[CheckState { boot: BootId::from("b2"), ..state(10, CheckWord::Blind, "no") }], None);
    assert_eq!(place.reader().checks().unwrap()[0].state, CheckWord::Blind);
}

#[test]
fn facts_of_another_version_are_as_good_as_none() {
    let place = Place::new();
    record(&place, &[], Some(&facts(7)));
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    conn.execute("UPDATE node_facts SET facts = '{\"memory\": {\"said\": 4}}'", []).unwrap();
    drop(conn);
    assert_eq!(place.reader().last_facts().unwrap(), None);
}
