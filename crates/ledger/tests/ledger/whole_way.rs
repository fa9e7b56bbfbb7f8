//! From an empty folder to a case that was acted upon.
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

#[test]
fn a_fault_is_recorded_acted_upon_and_found_again() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let lines = [
        line(1, "usb 1-1: new device"),
        line(2, "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus."),
    ];
    let event = event(&lines[1], "xid.79");
    let case = case(&event);
    let decision = decision(&case, T0);
    let intents = [drain(&case, &decision)];
    let batch = Batch {
        observations: &lines,
        events: std::slice::from_ref(&event),
        cases: std::slice::from_ref(&case),
        decisions: std::slice::from_ref(&decision),
        intents: &intents,
        spans: &[span(4711)],
        ..Batch::new(T0, &node, &boot, "test")
    };
    assert_eq!(ledger.record(&batch).unwrap(), Recorded::Committed { events: 1, intents: 1 });
    let loaded = ledger.load(&Load { spans_since: T0, run: None }).unwrap();
    assert_eq!(loaded.cases, std::slice::from_ref(&case));
    assert_eq!(loaded.decided, [decision]);
    assert_eq!(loaded.spans, [span(4711)]);
    let key = intents[0].action.key();
    let me = process(1);
    let request =
        ClaimRequest { key: &key, now: T0, me: &me, lease_until: T0.plus_secs(10), alive: &|_| true };
    let Claim::Yours(claimed) = ledger.claim(&request).unwrap() else { panic!("free") };
    let outcome = Outcome { at: T0, done: true, retry: false, answer: "drained".to_owned() };
    assert_eq!(ledger.settle(&claimed, &outcome, "test").unwrap(), Settled::As(IntentState::Done));
    assert_eq!(ledger.cases(&Filter::default()).unwrap()[0].state, CaseState::Acted);
    assert_eq!(ledger.events(&Filter::default()).unwrap(), [event]);
}

#[test]
fn a_closed_case_whose_drain_somebody_else_lifted_is_let_go_for_good() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let case = case(&event(&line(1, "NVRM: Xid (PCI:0000:61:00): 79, x"), "xid.79"));
    let decision = decision(&case, T0);
    let intents = [drain(&case, &decision)];
    let batch = Batch {
        cases: std::slice::from_ref(&case),
        decisions: std::slice::from_ref(&decision),
        intents: &intents,
        ..Batch::new(T0, &node, &boot, "test")
    };
    let _ = ledger.record(&batch).unwrap();
    let (key, me) = (intents[0].action.key(), process(1));
    let request =
        ClaimRequest { key: &key, now: T0, me: &me, lease_until: T0.plus_secs(10), alive: &|_| true };
    let Claim::Yours(claimed) = ledger.claim(&request).unwrap() else { panic!("free") };
    let outcome = Outcome { at: T0, done: true, retry: false, answer: "drained".to_owned() };
    ledger.settle(&claimed, &outcome, "test").unwrap();

    let mut write = |case: &Case| {
        let batch = Batch { cases: std::slice::from_ref(case), ..Batch::new(T0, &node, &boot, "test") };
        let _ = ledger.record(&batch).unwrap();
        ledger.out().unwrap().len()
    };
    let closed = Case {
        state: CaseState::Resolved,
        closed_at: Some(T0),
        why: "reseated".to_owned(),
        ..ledger_case(&place, &case.id)
    };
    assert_eq!(write(&closed), 1, "our drain outlives the case");
    let gone = Case { stood_down: true, ..closed.clone() };
    assert_eq!((write(&gone), write(&gone)), (0, 0));
    assert_eq!(write(&closed), 0, "a slower pass does not take it up again");
    let told = place.open().audit(&Filter::default()).unwrap();
    let told: Vec<&str> =
        told.iter().map(|row| row.note.kind.as_str()).filter(|kind| kind.starts_with("case.")).collect();
    assert_eq!(told, ["case.opened", "case.acted", "case.resolved", "case.let_go"]);
    assert_eq!(ledger_case(&place, &case.id).why, "reseated");
}

fn ledger_case(place: &Place, id: &CaseId) -> Case {
    match place.open().case(id.as_str()).unwrap() {
        Found::One(case) => *case,
        other => panic!("{other:?}"),
    }
}
