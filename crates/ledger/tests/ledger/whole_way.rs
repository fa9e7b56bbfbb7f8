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
