//! What people say, and the trail of all that was decided and done.
use std::time::Duration;

use triage_core::*;
use triage_ledger::{
    AuditRow, Batch, Claim, ClaimRequest, Closed, Closing, Filter, Held, JobFilter, Ledger, Load, Recorded,
    TrailFacts, Word,
};

use crate::support::*;

fn word<'a>(reason: &'a str, person: &'a TrailFacts) -> Word<'a> {
    Word { now: T0.plus_secs(500), program: "slurm-triage", actor: "ada", reason, person }
}

/// A ledger with an open case whose drain is wanted.
fn with_case(place: &Place) -> (Ledger, Case) {
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let line = line(1, "Xid 79");
    let event = event(&line, "xid.79");
    let case = case(&event);
    let decision = decision(&case, T0.plus_secs(2));
    let batch = Batch {
        events: std::slice::from_ref(&event),
        cases: std::slice::from_ref(&case),
        decisions: std::slice::from_ref(&decision),
        intents: &[drain(&case, &decision)],
        ..Batch::new(T0.plus_secs(2), &node, &boot, "triage-healthcheck")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    (ledger, case)
}

fn kinds(rows: &[AuditRow]) -> Vec<&str> {
    rows.iter().map(|row| row.note.kind.as_str()).collect()
}

fn claim(ledger: &mut Ledger, case: &Case, now: Stamp) -> Claim {
    let me = process(7);
    let key = drain(case, &decision(case, T0.plus_secs(2))).action.key();
    let request = ClaimRequest { key: &key, now, me: &me, lease_until: now.plus_secs(9), alive: &|_| true };
    ledger.claim(&request).unwrap()
}

#[test]
fn an_acknowledged_case_is_resolved_its_drain_given_up_and_who_said_so_is_on_the_trail() {
    let place = Place::new();
    let (mut ledger, case) = with_case(&place);
    let person = TrailFacts { uid: Some(0), login_uid: Some(1000), ..TrailFacts::default() };
    let closed =
        ledger.close_case(&case.id, Closing::Acknowledged, &word("riser replaced", &person), &[]).unwrap();
    let Closed::Now { case: now, before, given_up } = closed else { panic!("{closed:?}") };
    assert_eq!((now.state, before, given_up.len()), (CaseState::Resolved, CaseState::Open, 1));
    assert_eq!(now.why, "acknowledged by ada: riser replaced");
    assert_eq!(claim(&mut ledger, &case, T0.plus_secs(501)), Claim::Gone);
    let about = Filter { case: Some(case.id.clone()), ..Filter::default() };
    let rows = ledger.audit(&about).unwrap();
    assert_eq!(kinds(&rows), ["case.opened", "decision.drain", "action.drain", "case.acknowledged"]);
    let said = rows.last().unwrap();
    assert_eq!((said.note.actor.as_str(), said.note.text.as_str()), ("ada", "riser replaced"));
    assert_eq!((said.note.facts.uid, said.note.facts.login_uid), (Some(0), Some(1000)));
    assert_eq!(said.note.facts.before.as_deref(), Some("open confirmed"));
}

#[test]
fn the_same_word_twice_changes_nothing_and_another_word_is_told_that_it_comes_too_late() {
    let place = Place::new();
    let (mut ledger, case) = with_case(&place);
    let person = TrailFacts::default();
    let word = word("a loose cable", &person);
    for round in 0..2 {
        let closed = ledger.close_case(&case.id, Closing::Acknowledged, &word, &[]).unwrap();
        assert_eq!(matches!(closed, Closed::Already(_)), round == 1, "{closed:?}");
    }
    let rows = ledger.audit(&Filter::default()).unwrap().len();
    let other = ledger.close_case(&case.id, Closing::Acquitted, &word, &[]).unwrap();
    assert!(matches!(&other, Closed::Otherwise(case) if case.state == CaseState::Resolved), "{other:?}");
    let unknown = ledger.close_case(&CaseId::from("ffffffff"), Closing::Acquitted, &word, &[]).unwrap();
    assert_eq!(unknown, Closed::Unknown);
    assert_eq!(ledger.audit(&Filter::default()).unwrap().len(), rows, "nothing was changed");
}

#[test]
fn a_word_said_while_a_pass_runs_is_not_lost_and_neither_is_what_the_pass_found() {
    let place = Place::new();
    let (mut pass, case) = with_case(&place);
    let loaded = pass.load(&Load { spans_since: T0, run: None }).unwrap();
    let person = TrailFacts::default();
    let mut hand = place.open();
    let closed =
        hand.close_case(&case.id, Closing::Acquitted, &word("a drill of ours", &person), &[]).unwrap();
    assert!(matches!(closed, Closed::Now { .. }));
    // The pass has found more evidence for the case that it still believes open.
    let (node, boot) = (node(), boot());
    let more = event(&line(9, "Xid 79 again"), "xid.79");
    let stronger = Case { events: vec![case.events[0].clone(), more.id.clone()], ..case.clone() };
    let batch = Batch {
        based_on: Some(loaded.generation),
        events: std::slice::from_ref(&more),
        cases: &[stronger],
        ..Batch::new(T0.plus_secs(600), &node, &boot, "triage-healthcheck")
    };
    assert_eq!(pass.record(&batch).unwrap(), Recorded::Stale);
    let anew = pass.load(&Load { spans_since: T0, run: None }).unwrap();
    assert!(anew.cases.is_empty(), "what a person closed is not open");
    assert!(anew.closed.iter().any(|closed| closed.acquitted && closed.fault == case.fault), "nor forgotten");
    let reopened = Case { id: CaseId::from("0badcafe"), events: vec![more.id.clone()], ..case.clone() };
    let batch = Batch { based_on: Some(anew.generation), cases: &[reopened], ..batch };
    assert!(matches!(pass.record(&batch).unwrap(), Recorded::Committed { .. }));
    let cases = pass.cases(&Filter::default()).unwrap();
    assert_eq!(cases.iter().filter(|case| case.is_open()).count(), 1, "new evidence, a new case");
}

#[test]
fn what_is_on_hold_is_not_claimed_until_it_is_released_or_the_hold_has_run_out() {
    let person = TrailFacts::default();
    let (hour, word) = (T0.plus_secs(3_600), word("a test is running", &person));
    for on in [HoldOn::Node(node()), HoldOn::Case(with_case(&Place::new()).1.id)] {
        let place = Place::new();
        let (mut ledger, case) = with_case(&place);
        assert_eq!(ledger.hold(&on, Some(hour), &word).unwrap(), Held::Now(None));
        let Claim::OnHold(hold) = claim(&mut ledger, &case, T0.plus_secs(501)) else { panic!("{on}") };
        assert!(hold.sentence().contains("a test is running"), "{}", hold.sentence());
        assert!(matches!(claim(&mut ledger, &case, hour), Claim::Yours(_)), "{on}: it has run out");
    }
}

#[test]
fn a_hold_on_another_job_holds_nothing_and_a_released_one_neither() {
    let place = Place::new();
    let (mut ledger, case) = with_case(&place);
    let person = TrailFacts::default();
    let word = word("mine", &person);
    let job = HoldOn::Job(JobName { job: 1, task: None });
    ledger.hold(&job, None, &word).unwrap();
    ledger.hold(&HoldOn::Node(node()), None, &word).unwrap();
    assert_eq!(ledger.load(&Load { spans_since: T0, run: None }).unwrap().holds.len(), 2);
    assert!(matches!(ledger.release(&HoldOn::Node(node()), &word).unwrap(), Held::Now(Some(_))));
    assert_eq!(ledger.release(&HoldOn::Node(node()), &word).unwrap(), Held::Already(None));
    assert_eq!(ledger.holds(T0.plus_secs(501)).unwrap().len(), 1);
    assert!(matches!(claim(&mut ledger, &case, T0.plus_secs(501)), Claim::Yours(_)));
}

#[test]
fn a_requeue_is_held_by_a_hold_on_its_job_or_on_a_case_of_its_verdict() {
    let place = Place::new();
    let (mut ledger, case) = with_case(&place);
    let (node, boot) = (node(), boot());
    let run = span(4711).run;
    let verdict = Verdict {
        id: VerdictId::of("run", T0),
        run: run.clone(),
        at: T0,
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![],
        victims: vec![],
        cases: vec![case.id.clone()],
        evidence: vec![],
        synthetic: false,
        story: vec![],
        grounds: Grounds::default(),
    };
    let decision = Decision {
        id: DecisionId::of("run", "requeue", "", T0),
        subject: Subject::Run(run.clone()),
        intent: triage_core::Intent::Requeue,
        case: None,
        verdict: Some(verdict.id.clone()),
        ..decision(&case, T0)
    };
    let action = Action::Requeue {
        run: run.clone(),
        exclude: vec![],
        hold: false,
        progress: Default::default(),
        decision: decision.id.clone(),
    };
    let intent =
        triage_ledger::NewIntent { action: action.clone(), expires: T0.plus_secs(9_000), synthetic: false };
    let batch = Batch {
        spans: &[span(4711)],
        verdicts: &[verdict],
        decisions: &[decision],
        intents: &[intent],
        ..Batch::new(T0, &node, &boot, "triage-epilog")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let person = TrailFacts::default();
    let word = word("the user debugs it", &person);
    let me = process(7);
    let key = action.key();
    let now = T0.plus_secs(501);
    for on in [HoldOn::Job(JobName { job: 4711, task: None }), HoldOn::Case(case.id.clone())] {
        ledger.hold(&on, None, &word).unwrap();
        let request =
            ClaimRequest { key: &key, now, me: &me, lease_until: now.plus_secs(9), alive: &|_| true };
        assert!(matches!(ledger.claim(&request).unwrap(), Claim::OnHold(_)), "{on}");
        ledger.release(&on, &word).unwrap();
    }
    let of_job = Filter { job: JobFilter::parse("4711"), ..Filter::default() };
    assert_eq!(kinds(&ledger.audit(&of_job).unwrap()), ["decision.requeue", "hold.placed", "hold.released"]);
}

#[test]
fn a_hold_with_another_reason_replaces_the_first_and_the_same_one_changes_nothing() {
    let place = Place::new();
    let mut ledger = place.open();
    let person = TrailFacts::default();
    let on = HoldOn::Node(node());
    assert_eq!(ledger.hold(&on, None, &word("one", &person)).unwrap(), Held::Now(None));
    assert!(matches!(ledger.hold(&on, None, &word("one", &person)).unwrap(), Held::Already(Some(_))));
    let replaced = ledger.hold(&on, None, &word("two", &person)).unwrap();
    assert!(matches!(&replaced, Held::Now(Some(before)) if before.reason == "one"), "{replaced:?}");
    let standing = ledger.holds(T0.plus_secs(500)).unwrap();
    assert_eq!(standing.iter().map(|hold| hold.reason.as_str()).collect::<Vec<_>>(), ["two"]);
    assert_eq!(ask::<i64>(&place.path(), "SELECT count(*) FROM v_holds"), 2, "what was, stays");
}

#[test]
fn every_change_of_a_case_is_one_row_and_no_change_is_none() {
    let place = Place::new();
    let (mut ledger, case) = with_case(&place);
    let (node, boot) = (node(), boot());
    let mut write = |case: &Case| {
        let batch = Batch {
            cases: std::slice::from_ref(case),
            ..Batch::new(T0.plus_secs(9), &node, &boot, "triage-epilog")
        };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    };
    write(&case);
    write(&Case { stood_down: true, ..case.clone() });
    let resolved = Case {
        state: CaseState::Resolved,
        closed_at: Some(T0.plus_secs(8)),
        stood_down: true,
        ..case.clone()
    };
    write(&resolved);
    // A slower pass knows nothing of that, and is not heard.
    write(&case);
    let about = Filter { case: Some(case.id.clone()), code: Some("case".to_owned()), ..Filter::default() };
    assert_eq!(kinds(&ledger.audit(&about).unwrap()), ["case.opened", "case.stood_down", "case.resolved"]);
}

#[test]
fn another_policy_in_force_is_a_row_and_the_same_one_is_none() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    for digest in ["a", "a", "b"] {
        let batch = Batch { policy: Some(digest), ..Batch::new(T0, &node, &boot, "triage-prolog") };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    }
    let changed = Filter { code: Some("policy.changed".to_owned()), ..Filter::default() };
    let rows = ledger.audit(&changed).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].note.facts.before.as_deref(), Some("a"));
}

#[test]
fn what_slurm_says_of_the_node_is_a_row_for_as_long_as_it_says_the_same() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let record = |state: &str, reason: &str| NodeRecord {
        node: node.clone(),
        state: vec![state.to_owned()],
        reason: reason.to_owned(),
        ..NodeRecord::default()
    };
    let said = [(1, record("IDLE", "")), (2, record("IDLE", "")), (3, record("DRAIN", "bad psu"))];
    for (second, record) in &said {
        let batch =
            Batch { node_record: Some(record), ..Batch::new(T0.plus_secs(*second), &node, &boot, "t") };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    }
    let seen = ledger.sightings(&Filter::default()).unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].first_seen, seen[0].last_seen), (T0.plus_secs(1), T0.plus_secs(2)));
    assert!(seen[1].is_out && !seen[1].ours && seen[1].reason == "bad psu");
}

#[test]
fn the_trail_can_neither_be_changed_nor_shortened_column_by_column() {
    let place = Place::new();
    drop(with_case(&place));
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    for sql in [
        "UPDATE audit SET facts = '{}'",
        "UPDATE audit SET case_id = NULL",
        "UPDATE audit SET rule = 'x', job = '1'",
        "DELETE FROM audit WHERE case_id IS NOT NULL",
    ] {
        assert!(conn.execute(sql, []).unwrap_err().to_string().contains("append-only"), "{sql}");
    }
}

#[test]
fn two_people_who_speak_at_once_both_get_an_answer_and_one_of_them_closes_the_case() {
    let place = Place::new();
    let (ledger, case) = with_case(&place);
    drop(ledger);
    let answers: Vec<Closed> = std::thread::scope(|scope| {
        let speak = |actor: &'static str| {
            let (path, id) = (place.path(), case.id.clone());
            move || {
                let person = TrailFacts::default();
                let word = Word { actor, ..word("both", &person) };
                let mut ledger = open(&path);
                ledger.set_wait(Duration::from_secs(20)).unwrap();
                ledger.close_case(&id, Closing::Acknowledged, &word, &[]).unwrap()
            }
        };
        let both = [scope.spawn(speak("ada")), scope.spawn(speak("bob"))];
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| matches!(answer, Closed::Now { .. })).count(), 1);
    let word = Filter { code: Some("case.acknowledged".to_owned()), ..Filter::default() };
    assert_eq!(place.reader().audit(&word).unwrap().len(), 1);
}
