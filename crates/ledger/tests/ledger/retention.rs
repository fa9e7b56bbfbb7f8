//! What goes, in which order, and what never does.
use std::time::Duration;

use triage_core::*;
use triage_ledger::*;

use crate::support::*;

const BUDGET: Duration = Duration::from_secs(60);
const DAY: i64 = 86_400;

fn now() -> Stamp {
    T0.plus_secs(200 * DAY)
}

fn put(ledger: &mut Ledger, at: Stamp, batch: &Batch<'_>) {
    assert!(matches!(ledger.record(&Batch { now: at, ..*batch }).unwrap(), Recorded::Committed { .. }));
}

fn event_at(n: u64, days_ago: i64) -> Event {
    Event { at: now().plus_secs(-days_ago * DAY), ..event(&line(n, &"x".repeat(200)), "xid.31") }
}

fn count(ledger: &Ledger, table: &str) -> u64 {
    ledger.about().unwrap().rows.iter().find(|(name, _)| name == table).unwrap().1
}

#[test]
fn what_is_too_old_goes_and_what_is_not_stays() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let events: Vec<Event> = (0..100).map(|n| event_at(n, i64::try_from(n).unwrap() * 2)).collect();
    let spans: Vec<JobSpan> = [10, 80, 100]
        .map(|days| JobSpan { end: Some(now().plus_secs(-days * DAY)), ..span(u32::try_from(days).unwrap()) })
        .to_vec();
    let batch = Batch { events: &events, spans: &spans, ..Batch::new(now(), &node, &boot, "test") };
    put(&mut ledger, now(), &batch);
    let note = AuditNote::info("old", "");
    put(&mut ledger, now().plus_secs(-91 * DAY), &Batch { audit: &[note], events: &[], spans: &[], ..batch });
    let done = ledger.upkeep(&Limits::default(), now(), BUDGET).unwrap();
    assert!(done.complete);
    let kept = ledger.events(&Filter::default()).unwrap();
    assert_eq!(kept.len(), 46, "0, 2 ... 90 days");
    assert_eq!(count(&ledger, "observations"), 46);
    assert_eq!(count(&ledger, "job_spans"), 2);
    assert_eq!(ask::<i64>(&place.path(), "SELECT count(*) FROM runs"), 2);
    // That of opening is older than all of it.
    assert!(ledger.audit(&Filter::default()).unwrap().is_empty());
    let counted: i64 =
        ask(&place.path(), "SELECT count FROM v_counters WHERE kind = 'pruned' AND name = 'events'");
    assert_eq!(counted, 54);
    assert_eq!(done.pruned.iter().find(|(table, _)| *table == "events"), Some(&("events", 54)));
    // An earlier moment: the clock was set back, and it looks again.
    let again = ledger.upkeep(&Limits::default(), now().plus_secs(-1), BUDGET).unwrap();
    assert_eq!(again.pruned, []);
}

/// A clock that is years ahead makes all of a ledger old. It is set right before a day is over: nobody talks to such a node.
#[test]
fn a_clock_that_jumps_ahead_and_back_costs_nothing() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let events: Vec<Event> = (0..10).map(|n| event_at(n, 1)).collect();
    put(&mut ledger, now(), &Batch { events: &events, ..Batch::new(now(), &node, &boot, "test") });
    let hour = |n: i64| now().plus_secs(n * 3_600);
    ledger.upkeep(&Limits::default(), now(), BUDGET).unwrap();
    for at in (9_000..9_023).map(hour) {
        let done = ledger.upkeep(&Limits::default(), at, BUDGET).unwrap();
        assert!(done.complete && done.pruned.is_empty());
    }
    // Set right, the next days go on as ever.
    ledger.upkeep(&Limits::default(), hour(23), BUDGET).unwrap();
    assert_eq!(count(&ledger, "events"), 10);
    // What stays ahead is the time: the node was off.
    ledger.upkeep(&Limits::default(), hour(9_000), BUDGET).unwrap();
    assert_eq!(count(&ledger, "events"), 10);
    ledger.upkeep(&Limits::default(), hour(9_024), BUDGET).unwrap();
    assert_eq!(count(&ledger, "events"), 0);
}

#[test]
fn an_open_case_keeps_its_evidence_decision_and_intent_for_ever() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let old = event_at(1, 150);
    let open = case(&old);
    let decision = decision(&open, old.at);
    let intents = [drain(&open, &decision)];
    let batch = Batch {
        events: std::slice::from_ref(&old),
        cases: std::slice::from_ref(&open),
        decisions: std::slice::from_ref(&decision),
        intents: &intents,
        ..Batch::new(old.at, &node, &boot, "test")
    };
    put(&mut ledger, old.at, &batch);
    let (key, me) = (intents[0].action.key(), process(1));
    let request = ClaimRequest { key: &key, now: old.at, me: &me, lease_until: old.at, alive: &|_| false };
    let Claim::Yours(claimed) = ledger.claim(&request).unwrap() else { panic!("free") };
    let outcome = Outcome { at: old.at, done: true, retry: false, answer: String::new() };
    let _ = ledger.settle(&claimed, &outcome, "test").unwrap();
    ledger.upkeep(&Limits::default(), now(), BUDGET).unwrap();
    assert_eq!(ledger.events(&Filter::default()).unwrap().len(), 1);
    let loaded = ledger.load(&Load { spans_since: T0, run: None }).unwrap();
    assert_eq!((loaded.cases.len(), loaded.decided.len()), (1, 1));
    assert!(matches!(ledger.claim(&request).unwrap(), Claim::AlreadyDone { .. }), "acts once, ever");
    // Closed, the case and all of it may go.
    let closed = Case {
        state: CaseState::Resolved,
        closed_at: Some(now().plus_secs(-95 * DAY)),
        ..loaded.cases[0].clone()
    };
    put(&mut ledger, now(), &Batch { cases: &[closed], ..Batch::new(now(), &node, &boot, "test") });
    for hours in 2..4 {
        ledger.upkeep(&Limits::default(), now().plus_secs(hours * 3600), BUDGET).unwrap();
    }
    for table in ["events", "observations", "cases", "decisions", "actions"] {
        assert_eq!(count(&ledger, table), 0, "{table}");
    }
}

#[test]
fn too_much_goes_oldest_first_and_events_before_judgement() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    for n in 0..40 {
        let events: Vec<Event> = (n * 100..n * 100 + 100).map(|n| event_at(n, 0)).collect();
        let events: Vec<Event> = events
            .into_iter()
            .map(|e| Event { at: now().plus_secs(i64::try_from(e.cursor).unwrap()), ..e })
            .collect();
        let kept = Case { resource: Resource::Process(u32::try_from(n).unwrap()), ..case(&events[0]) };
        let kept = Case { id: CaseId::new(format!("{n:08x}")), ..kept };
        let batch = Batch { events: &events, cases: &[kept], ..Batch::new(now(), &node, &boot, "test") };
        put(&mut ledger, now(), &batch);
    }
    let limits = Limits { days: 3650, bytes: 1024 * 1024 };
    assert!(ledger.about().unwrap().bytes > 2 * limits.bytes);
    let done = ledger.upkeep(&limits, now(), BUDGET).unwrap();
    assert!(done.complete);
    let about = ledger.about().unwrap();
    assert!(about.bytes - about.free_bytes <= limits.bytes);
    assert_eq!(count(&ledger, "cases"), 40);
    let events = ledger.events(&Filter::default()).unwrap();
    let without_case: Vec<u64> = events.iter().map(|e| e.cursor).filter(|n| n % 100 != 0).collect();
    assert_eq!(events.len() - without_case.len(), 40, "evidence stays");
    assert_eq!(without_case.last(), Some(&3999), "the newest stay");
    assert!(without_case.windows(2).all(|w| w[1] - w[0] <= 2), "the oldest went");
}

#[test]
fn space_is_given_back_to_the_filesystem() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    for n in 0..60 {
        let events: Vec<Event> =
            (n * 100..n * 100 + 100).map(|n| Event { text: "y".repeat(2000), ..event_at(n, 100) }).collect();
        put(&mut ledger, now(), &Batch { events: &events, ..Batch::new(now(), &node, &boot, "test") });
    }
    ledger.checkpoint().unwrap();
    let size = || std::fs::metadata(place.path()).unwrap().len();
    let before = size();
    assert!(before > 10_000_000, "{before}");
    assert!(ledger.upkeep(&Limits::default(), now(), BUDGET).unwrap().complete);
    assert!(size() < before / 2, "{} of {before}", size());
    ledger.check().unwrap();
}

#[test]
fn without_time_upkeep_stops_and_the_next_one_goes_on() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    for n in 0..20 {
        let events: Vec<Event> = (n * 100..n * 100 + 100).map(|n| event_at(n, 100)).collect();
        put(&mut ledger, now(), &Batch { events: &events, ..Batch::new(now(), &node, &boot, "test") });
    }
    let mut rounds = 0;
    while !ledger.upkeep(&Limits::default(), now(), Duration::ZERO).unwrap().complete {
        rounds += 1;
        assert!(rounds < 100);
    }
    assert!(rounds >= 3, "{rounds}");
    assert_eq!(count(&ledger, "events"), 0);
}

#[test]
fn events_from_a_clock_that_was_ahead_give_way_to_size() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let events: Vec<Event> = (0..2000).map(|n| event_at(n, -36_500)).collect();
    put(&mut ledger, now(), &Batch { events: &events, ..Batch::new(now(), &node, &boot, "test") });
    let limits = Limits { bytes: 300 * 1024, ..Limits::default() };
    assert!(ledger.upkeep(&limits, now(), BUDGET).unwrap().complete);
    assert!(count(&ledger, "events") < 1000);
}

#[test]
fn intents_nobody_began_in_time_are_let_go() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let case = case(&event_at(1, 0));
    let decision = decision(&case, now());
    let intents = [drain(&case, &decision)];
    let batch = Batch {
        cases: &[case],
        decisions: &[decision],
        intents: &intents,
        ..Batch::new(now(), &node, &boot, "test")
    };
    put(&mut ledger, now(), &batch);
    assert_eq!(ledger.upkeep(&Limits::default(), now(), BUDGET).unwrap().expired_intents, 0);
    let late = intents[0].expires.plus_secs(1);
    assert_eq!(ledger.upkeep(&Limits::default(), late, BUDGET).unwrap().expired_intents, 1);
    assert_eq!(ledger.actions(&Filter::default()).unwrap()[0].state, IntentState::Expired);
}

#[test]
fn a_node_without_health_checks_keeps_a_short_log() {
    let place = Place::new();
    for job in 0..400 {
        record_span(&mut place.open(), job);
    }
    let log = std::fs::metadata(beside(&place.path(), "-wal")).unwrap().len();
    assert!(log < 1_200_000, "{log}");
}

#[test]
fn what_a_person_holds_is_not_given_up_for_want_of_room() {
    let place = Place::new();
    let mut ledger = place.open();
    let person = TrailFacts::default();
    let word = Word { now: now(), program: "slurm-triage", actor: "ada", reason: "burn-in", person: &person };
    let until = Some(now().plus_secs(DAY));
    let _ = ledger.hold(&HoldOn::Node(node()), until, &word).unwrap();
    let _ = ledger.hold(&HoldOn::Node("gpu02".into()), until, &word).unwrap();
    let _ = ledger.release(&HoldOn::Node("gpu02".into()), &word).unwrap();
    let little = Limits { bytes: 1, ..Limits::default() };
    assert!(ledger.upkeep(&little, now().plus_secs(60), BUDGET).unwrap().complete);
    assert_eq!(ledger.holds(now().plus_secs(60)).unwrap().len(), 1);
    assert_eq!(ask::<i64>(&place.path(), "SELECT count(*) FROM holds"), 1, "one that was released may go");
}
