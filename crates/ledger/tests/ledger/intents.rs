//! An action happens once, whoever dies when.
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

struct Drain {
    _place: Place,
    ledger: Ledger,
    case: Case,
    wanted: NewIntent,
}

impl Drain {
    /// A case with a decision and the intent to drain for it.
    fn wanted() -> Self {
        let place = Place::new();
        let ledger = place.open();
        let case = case(&event(&line(1, "Xid 79"), "xid.79"));
        let decision = decision(&case, T0);
        let wanted = drain(&case, &decision);
        let mut this = Self { _place: place, ledger, case, wanted };
        assert_eq!(this.want(&decision, T0), 1);
        this
    }

    /// Records the intent under a decision; how many were new.
    fn want(&mut self, decision: &Decision, now: Stamp) -> usize {
        let (node, boot) = (node(), boot());
        let intents = [drain(&self.case, decision)];
        let batch = Batch {
            cases: std::slice::from_ref(&self.case),
            decisions: std::slice::from_ref(decision),
            intents: &intents,
            ..Batch::new(now, &node, &boot, "test")
        };
        match self.ledger.record(&batch).unwrap() {
            Recorded::Committed { intents, .. } => intents,
            Recorded::Stale => panic!("no base was given"),
        }
    }

    fn claim(&mut self, pid: u32, now: Stamp, others_live: bool) -> Claim {
        let (key, me) = (self.wanted.action.key(), process(pid));
        let request =
            ClaimRequest { key: &key, now, me: &me, lease_until: now.plus_secs(10), alive: &|_| others_live };
        self.ledger.claim(&request).unwrap()
    }

    fn yours(&mut self, pid: u32, now: Stamp, others_live: bool) -> Claimed {
        match self.claim(pid, now, others_live) {
            Claim::Yours(claimed) => *claimed,
            other => panic!("{other:?}"),
        }
    }

    fn settle(&mut self, claimed: &Claimed, at: Stamp, done: bool, retry: bool) -> Settled {
        let outcome = Outcome { at, done, retry, answer: "so it went".to_owned() };
        self.ledger.settle(claimed, &outcome, "test").unwrap()
    }

    fn state(&self) -> IntentState {
        self.ledger.actions(&Filter::default()).unwrap().last().unwrap().state
    }
}

#[test]
fn one_claims_the_others_wait_and_later_find_it_done() {
    let mut it = Drain::wanted();
    let claimed = it.yours(1, T0, true);
    assert!(!claimed.after_crash && !claimed.too_late);
    assert_eq!(it.claim(2, T0.plus_secs(5), true), Claim::Held(process(1)));
    assert_eq!(it.settle(&claimed, T0.plus_secs(6), true, false), Settled::As(IntentState::Done));
    assert!(matches!(it.claim(2, T0.plus_secs(7), true), Claim::AlreadyDone { .. }));
    assert_eq!(
        it.want(&decision(&it.case.clone(), T0.plus_secs(60)), T0.plus_secs(60)),
        0,
        "done is for good"
    );
    assert!(it.ledger.waiting_intents(T0).unwrap().is_empty());
}

#[test]
fn a_drain_that_was_carried_out_marks_its_case_at_the_same_instant() {
    let mut it = Drain::wanted();
    let before = it.ledger.load(&Load { spans_since: T0, run: None }).unwrap().generation;
    let claimed = it.yours(1, T0, true);
    let _ = it.settle(&claimed, T0, true, false);
    let after = it.ledger.load(&Load { spans_since: T0, run: None }).unwrap();
    assert_eq!(after.cases[0].state, CaseState::Acted);
    assert_ne!(after.generation, before, "a pass that still thinks it open is stale");
    let audit = it.ledger.audit(&Filter::default()).unwrap();
    assert_eq!(audit.last().unwrap().note.text, "done: so it went");
}

#[test]
fn a_drain_that_was_one_too_many_leaves_no_case_of_the_node_acted_upon_and_may_come_again() {
    for (too_late, expect) in [(false, CaseState::Open), (true, CaseState::Acted)] {
        let mut it = Drain::wanted();
        let claimed = it.yours(1, T0, true);
        let _ = it.settle(&claimed, T0, true, false);
        // The node was taken out once, for whatever cases it had.
        let other = Case {
            id: CaseId::from("0badcafe"),
            fault: "other".to_owned(),
            state: CaseState::Acted,
            ..it.case.clone()
        };
        let confirm = Action::ConfirmDrain {
            node: node(),
            case: it.case.id.clone(),
            limits: Vec::new(),
            decision: it.wanted.action.decision().clone(),
        };
        let intents = [NewIntent { action: confirm.clone(), expires: T0.plus_secs(60), synthetic: false }];
        let (name, boot) = (node(), boot());
        let cases = std::slice::from_ref(&other);
        let batch = Batch { cases, intents: &intents, ..Batch::new(T0, &name, &boot, "test") };
        assert!(matches!(it.ledger.record(&batch).unwrap(), Recorded::Committed { intents: 1, .. }));
        it.wanted = intents[0].clone();
        let claimed = Claimed { too_late, ..it.yours(1, T0.plus_secs(1), true) };
        let _ = it.settle(&claimed, T0.plus_secs(2), false, false);
        let states: Vec<CaseState> =
            it.ledger.cases(&Filter::default()).unwrap().iter().map(|case| case.state).collect();
        assert_eq!(states, [expect; 2]);
        // A pass that decides the same again, and a prolog, have to know.
        let load = Load { spans_since: T0, run: None };
        let decided = it.ledger.load(&load).unwrap().decided;
        let held: Vec<_> = decided.iter().map(|last| last.held_by().map(|gate| gate.name.as_str())).collect();
        assert_eq!(held, [if too_late { None } else { Some("brake") }]);
        let later = decision(&it.case.clone(), T0.plus_secs(60));
        assert_eq!(it.want(&later, T0.plus_secs(60)), usize::from(!too_late));
    }
}

#[test]
fn a_closed_case_stays_closed_when_its_drain_comes_late() {
    let mut it = Drain::wanted();
    let claimed = it.yours(1, T0, true);
    it.case.state = CaseState::Acquitted;
    it.want(&decision(&it.case.clone(), T0.plus_secs(1)), T0);
    let _ = it.settle(&claimed, T0.plus_secs(2), true, false);
    assert_eq!(it.ledger.cases(&Filter::default()).unwrap()[0].state, CaseState::Acquitted);
}

#[test]
fn what_a_dead_process_began_is_looked_at_before_it_is_done_again() {
    for (now, lives) in [(T0.plus_secs(1), false), (T0.plus_secs(11), true)] {
        let mut it = Drain::wanted();
        let first = it.yours(1, T0, true);
        let second = it.yours(2, now, lives);
        assert!(second.after_crash, "dead, or asleep past its lease");
        assert_eq!(second.intent.attempts, 2);
        // The sleeper wakes up and says what it did; it has no say any more.
        assert_eq!(it.settle(&first, now, false, false), Settled::NotYours);
        assert_eq!(it.settle(&second, now, true, false), Settled::As(IntentState::Done));
        assert_eq!(it.settle(&second, now, false, false), Settled::NotYours, "settled once");
        assert_eq!(it.state(), IntentState::Done);
    }
}

#[test]
fn a_process_of_another_boot_is_dead_whatever_its_pid_does() {
    let mut it = Drain::wanted();
    it.yours(1, T0, true);
    let (key, me) = (it.wanted.action.key(), ProcessId { boot: BootId::from("next"), ..process(1) });
    let request =
        ClaimRequest { key: &key, now: T0, me: &me, lease_until: T0.plus_secs(10), alive: &|_| true };
    assert!(matches!(it.ledger.claim(&request).unwrap(), Claim::Yours(claimed) if claimed.after_crash));
}

#[test]
fn the_same_process_takes_up_its_own_claim() {
    let mut it = Drain::wanted();
    it.yours(1, T0, true);
    assert!(it.yours(1, T0.plus_secs(1), true).after_crash);
}

#[test]
fn what_did_not_work_is_tried_again_until_it_expires() {
    let mut it = Drain::wanted();
    let expires = it.wanted.expires;
    for attempt in 1..=3 {
        let claimed = it.yours(1, T0.plus_secs(attempt), true);
        assert_eq!(i64::from(claimed.intent.attempts), attempt);
        let settled = it.settle(&claimed, T0.plus_secs(attempt), false, true);
        assert_eq!(settled, Settled::As(IntentState::Pending));
        assert_eq!(it.ledger.waiting_intents(T0.plus_secs(attempt)).unwrap().len(), 1);
    }
    assert!(it.ledger.waiting_intents(expires.plus_micros(1)).unwrap().is_empty());
    assert_eq!(it.claim(1, expires.plus_micros(1), true), Claim::Gone);
    assert_eq!(it.state(), IntentState::Expired);
    // Later passes may want it anew.
    let later = expires.plus_secs(60);
    assert_eq!(it.want(&decision(&it.case.clone(), T0), later), 1);
}

#[test]
fn an_intent_nobody_began_in_time_makes_way_for_a_new_one_by_itself() {
    let mut it = Drain::wanted();
    let later = it.wanted.expires.plus_secs(60);
    let anew = decision(&it.case.clone(), later);
    assert_eq!(it.want(&anew, later), 1);
    assert_eq!(it.want(&anew, later), 0);
}

#[test]
fn a_crash_is_settled_even_after_the_intent_expired() {
    let mut it = Drain::wanted();
    it.yours(1, T0, true);
    let late = it.wanted.expires.plus_secs(1);
    assert_eq!(it.ledger.waiting_intents(late).unwrap().len(), 1, "it may have acted");
    let claimed = it.yours(2, late, false);
    assert!(claimed.after_crash && claimed.too_late);
    assert_eq!(it.settle(&claimed, late, false, true), Settled::As(IntentState::Expired));
}

#[test]
fn what_failed_for_good_is_not_tried_again_under_the_same_decision() {
    let mut it = Drain::wanted();
    let claimed = it.yours(1, T0, true);
    assert_eq!(it.settle(&claimed, T0, false, false), Settled::As(IntentState::Failed));
    assert_eq!(it.claim(1, T0, true), Claim::Gone);
    // Every pass wants what the standing decision says.
    assert_eq!(it.want(&decision(&it.case.clone(), T0), T0.plus_secs(60)), 0);
    let changed = decision(&it.case.clone(), T0.plus_secs(60));
    assert_eq!(it.want(&changed, T0.plus_secs(60)), 1, "circumstances changed");
    let loud = Filter { level: Some(Level::Warning), ..Filter::default() };
    assert_eq!(it.ledger.audit(&loud).unwrap().len(), 1, "a failed action is told");
}

#[test]
fn an_intent_of_a_drill_carries_the_mark_of_its_decision() {
    let mut it = Drain::wanted();
    it.case = case(&event(&line(2, "drill"), "xid.48"));
    it.case.resource = Resource::Host;
    let drill = Decision { synthetic: true, ..decision(&it.case.clone(), T0) };
    assert_eq!(it.want(&drill, T0), 1);
    let filter = Filter { synthetic: Some(true), ..Filter::default() };
    assert_eq!(it.ledger.actions(&filter).unwrap().len(), 1);
}

#[test]
fn nobody_claims_what_nobody_wanted() {
    let mut it = Drain::wanted();
    let key = "drain:gpu01:00000000".to_owned();
    let me = process(1);
    let request =
        ClaimRequest { key: &key, now: T0, me: &me, lease_until: T0.plus_secs(10), alive: &|_| true };
    assert_eq!(it.ledger.claim(&request).unwrap(), Claim::Gone);
}
