//! Counts of repeats survive what passes and what is pruned; two programs do not count one thing twice.
use std::time::Duration;

use triage_core::serd::{Engine, Occurrence};
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

fn engine(identity: &str, secs: &[i64]) -> Engine {
    let resource = Resource::from("dimm:A1");
    let mut engine = Engine::new("dimm_corrected".to_owned(), identity.to_owned(), resource);
    engine.occurrences = secs
        .iter()
        .map(|s| Occurrence { job: Some(7), uid: Some(1000), ..Occurrence::at(T0.plus_secs(*s)) })
        .collect();
    engine
}

fn load(ledger: &Ledger) -> Loaded {
    ledger.load(&Load { spans_since: T0, run: None }).unwrap()
}

fn put(ledger: &mut Ledger, rates: &[Engine]) {
    let (node, boot) = (node(), boot());
    let recorded = ledger.record(&Batch { rates, ..Batch::new(T0, &node, &boot, "test") }).unwrap();
    assert!(matches!(recorded, Recorded::Committed { .. }));
}

#[test]
fn a_count_comes_back_as_it_was_and_goes_when_it_has_nothing_to_remember() {
    let place = Place::new();
    let mut ledger = place.open();
    let mut counted = engine("dimm:A1", &[1, 2, 3]);
    counted.fired_at = Some(T0.plus_secs(3));
    let other = engine("part:1320111111111", &[4]);
    put(&mut ledger, &[counted.clone(), other.clone()]);
    drop(ledger);
    let mut ledger = place.open();
    assert_eq!(load(&ledger).rates, [counted.clone(), other.clone()]);
    counted.reset();
    put(&mut ledger, &[counted]);
    assert_eq!(load(&ledger).rates, [other]);
}

#[test]
fn a_pass_that_did_not_know_of_the_last_count_is_sent_back() {
    let place = Place::new();
    let mut ledger = place.open();
    let before = load(&ledger).generation;
    put(&mut ledger, &[engine("dimm:A1", &[1])]);
    let (node, boot) = (node(), boot());
    let late = [engine("dimm:A1", &[2])];
    let batch = Batch { based_on: Some(before), rates: &late, ..Batch::new(T0, &node, &boot, "test") };
    assert_eq!(ledger.record(&batch).unwrap(), Recorded::Stale);
}

#[test]
fn pruning_leaves_counts_that_a_window_may_still_need_and_those_of_open_cases() {
    let place = Place::new();
    let mut ledger = place.open();
    let mut fired = engine("dimm:C3", &[0]);
    fired.fired_at = Some(T0);
    put(&mut ledger, &[engine("dimm:A1", &[0]), engine("dimm:B2", &[86_400 * 200]), fired]);
    let limits = Limits { days: 1, ..Limits::default() };
    ledger.upkeep(&limits, T0.plus_secs(86_400 * 60), Duration::from_secs(60)).unwrap();
    assert_eq!(load(&ledger).rates.len(), 3, "sixty days are no longer than the longest window and some");
    for day in [210, 211] {
        ledger.upkeep(&limits, T0.plus_secs(86_400 * day), Duration::from_secs(60)).unwrap();
    }
    let left: Vec<String> = load(&ledger).rates.into_iter().map(|engine| engine.identity).collect();
    assert_eq!(left, ["dimm:B2", "dimm:C3"]);
}

#[test]
fn the_last_closing_of_a_fault_and_the_part_of_a_case_are_told() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let events = [event(&line(1, "off the bus"), "xid.79")];
    let open = Case { part: Some("1320111111111".to_owned()), ..case(&events[0]) };
    let batch = Batch { events: &events, ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(
        ledger.record(&Batch { cases: std::slice::from_ref(&open), ..batch }).unwrap(),
        Recorded::Committed { .. }
    ));
    let loaded = load(&ledger);
    assert_eq!(loaded.cases[0].part, open.part);
    assert!(loaded.closed.is_empty() && loaded.since.is_some());
    let closed = Case { state: CaseState::Resolved, closed_at: Some(T0.plus_secs(9)), ..open };
    assert!(matches!(
        ledger.record(&Batch { cases: &[closed], ..batch }).unwrap(),
        Recorded::Committed { .. }
    ));
    let loaded = load(&ledger);
    assert_eq!(loaded.closed.len(), 1);
    assert_eq!((loaded.closed[0].fault.as_str(), loaded.closed[0].at), ("gpu.off_bus", T0.plus_secs(9)));
}
