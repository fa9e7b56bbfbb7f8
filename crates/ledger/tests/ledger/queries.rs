//! The lists and look-ups a person's command is made of.
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

/// Two jobs on the node, one after the other; a fault in the first one, with everything that followed.
struct Story {
    place: Place,
    ledger: Ledger,
    case: Case,
    decision: Decision,
    verdict: Verdict,
}

fn story() -> Story {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let array = RunId { array: Some(ArrayId { job: 4700, task: 3 }), ..run_of(4711) };
    let first = JobSpan { run: array.clone(), end: Some(T0.plus_secs(100)), ..span(0) };
    let second = JobSpan { run: RunId { start: T0.plus_secs(200), ..run_of(5000) }, ..span(0) };
    let lines: Vec<Observation> = [10, 50, 250].map(|n| line(n, "x")).to_vec();
    let codes = ["xid.79", "xid.7", "nccl.watchdog_timeout"];
    let mut events: Vec<Event> = lines.iter().zip(codes).map(|(line, code)| event(line, code)).collect();
    events[2].class = CauseClass::Unknown;
    events[2].synthetic = true;
    let case = Case { run: Some(array.clone()), ..case(&events[0]) };
    let decision = decision(&case, T0.plus_secs(20));
    let verdict = Verdict {
        id: VerdictId::of("run", T0),
        run: array.clone(),
        at: T0.plus_secs(101),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![Culprit { node: node.clone(), resource: Some(case.resource.clone()) }],
        victims: vec![NodeName::from("gpu02")],
        cases: vec![case.id.clone(), CaseId::from("ffffffff")],
        evidence: vec![events[0].id.clone()],
        synthetic: false,
        story: vec!["a".to_owned(), "b".to_owned()],
        grounds: Grounds::default(),
    };
    let requeue = NewIntent {
        action: Action::Requeue {
            run: array,
            exclude: vec![],
            hold: false,
            progress: Default::default(),
            decision: decision.id.clone(),
        },
        expires: T0.plus_secs(300),
        synthetic: false,
    };
    let intents = [drain(&case, &decision), requeue];
    let batch = Batch {
        events: &events,
        cases: std::slice::from_ref(&case),
        verdicts: std::slice::from_ref(&verdict),
        decisions: std::slice::from_ref(&decision),
        intents: &intents,
        spans: &[first, second],
        ..Batch::new(T0.plus_secs(30), &node, &boot, "test")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    Story { place, ledger, case, decision, verdict }
}

fn job(text: &str) -> Filter {
    Filter { job: JobFilter::parse(text), ..Filter::default() }
}

fn codes(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.code.as_str()).collect()
}

#[test]
fn events_are_narrowed_by_each_field() {
    let story = story();
    let events = |filter: Filter| {
        let events = story.ledger.events(&filter).unwrap();
        codes(&events).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let code = |code: &str| Filter { code: Some(code.to_owned()), ..Filter::default() };
    let at = |secs| Some(T0.plus_secs(secs));
    assert_eq!(events(Filter::default()), ["xid.79", "xid.7", "nccl.watchdog_timeout"], "oldest first");
    assert_eq!(events(Filter { limit: Some(2), ..Filter::default() }), ["xid.7", "nccl.watchdog_timeout"]);
    assert_eq!(events(Filter { limit: Some(0), ..Filter::default() }), [""; 0]);
    assert_eq!(events(code("xid")), ["xid.79", "xid.7"]);
    assert_eq!(events(code("xid.")), ["xid.79", "xid.7"]);
    assert_eq!(events(code("xid.7")), ["xid.7"], "not xid.79");
    assert_eq!(events(code("x%")), [""; 0]);
    assert_eq!(events(Filter { since: at(50), ..Filter::default() }), ["xid.7", "nccl.watchdog_timeout"]);
    assert_eq!(events(Filter { until: at(50), ..Filter::default() }), ["xid.79"]);
    assert_eq!(events(Filter { class: Some(CauseClass::Unknown), ..Filter::default() }).len(), 1);
    assert_eq!(events(Filter { synthetic: Some(true), ..Filter::default() }).len(), 1);
    assert_eq!(events(Filter { synthetic: Some(false), ..Filter::default() }).len(), 2);
    assert_eq!(events(Filter { node: Some(NodeName::from("other")), ..Filter::default() }).len(), 0);
    assert_eq!(events(Filter { case: Some(story.case.id.clone()), ..Filter::default() }), ["xid.79"]);
}

#[test]
fn a_job_is_found_by_its_own_id_its_array_and_its_task() {
    let story = story();
    for name in ["4711", "4700", "4700_3"] {
        let filter = job(name);
        assert_eq!(story.ledger.spans(&filter).unwrap().len(), 1, "{name}");
        assert_eq!(codes(&story.ledger.events(&filter).unwrap()), ["xid.79", "xid.7"], "{name}");
        assert_eq!(story.ledger.cases(&filter).unwrap(), std::slice::from_ref(&story.case), "{name}");
        assert_eq!(story.ledger.decisions(&filter).unwrap(), std::slice::from_ref(&story.decision), "{name}");
        assert_eq!(story.ledger.verdicts(&filter).unwrap(), std::slice::from_ref(&story.verdict), "{name}");
        assert_eq!(story.ledger.actions(&filter).unwrap().len(), 2, "{name}");
    }
    for name in ["4700_4", "3", "471"] {
        assert!(story.ledger.spans(&job(name)).unwrap().is_empty(), "{name}");
        assert!(story.ledger.events(&job(name)).unwrap().is_empty(), "{name}");
    }
    assert_eq!(codes(&story.ledger.events(&job("5000")).unwrap()), ["nccl.watchdog_timeout"]);
    let run = Filter { run: Some(story.verdict.run.clone()), ..Filter::default() };
    assert_eq!(story.ledger.spans(&run).unwrap().len(), 1);
    assert_eq!(story.ledger.events(&run).unwrap().len(), 2);
}

#[test]
fn what_belongs_to_a_case_is_found_by_the_case() {
    let story = story();
    let filter = Filter { case: Some(story.case.id.clone()), ..Filter::default() };
    assert_eq!(story.ledger.decisions(&filter).unwrap().len(), 1);
    assert_eq!(story.ledger.actions(&filter).unwrap().len(), 2, "its drain, and the requeue it led to");
    assert_eq!(story.ledger.verdicts(&filter).unwrap().len(), 1);
    assert_eq!(story.ledger.spans(&filter).unwrap().len(), 1);
    let other = Filter { case: Some(CaseId::from("ffffffff")), ..Filter::default() };
    assert_eq!(story.ledger.verdicts(&other).unwrap().len(), 1, "another node's case, named here");
    assert!(story.ledger.decisions(&other).unwrap().is_empty());
}

#[test]
fn code_and_class_reach_decisions_and_actions_through_their_case() {
    let story = story();
    let code = |code: &str| Filter { code: Some(code.to_owned()), ..Filter::default() };
    assert_eq!(story.ledger.decisions(&code("xid.79")).unwrap().len(), 1);
    assert!(story.ledger.decisions(&code("xid.48")).unwrap().is_empty());
    assert_eq!(story.ledger.actions(&code("xid")).unwrap().len(), 1);
    let class = |class| Filter { class: Some(class), ..Filter::default() };
    assert_eq!(story.ledger.verdicts(&class(CauseClass::Hardware)).unwrap().len(), 1);
    assert!(story.ledger.verdicts(&class(CauseClass::Network)).unwrap().is_empty());
}

#[test]
fn only_what_is_open_is_listed_when_asked() {
    let story = story();
    let open = Filter { open_only: true, ..Filter::default() };
    assert_eq!(story.ledger.cases(&open).unwrap().len(), 1);
    assert_eq!(story.ledger.actions(&open).unwrap().len(), 2);
    assert_eq!(story.ledger.spans(&open).unwrap()[0].run.job, 5000);
}

#[test]
fn spans_are_in_a_window_when_they_overlap_it() {
    let story = story();
    let window = |from, to| {
        let at = |secs| Some(T0.plus_secs(secs));
        let filter = Filter { since: at(from), until: at(to), ..Filter::default() };
        story.ledger.spans(&filter).unwrap().iter().map(|s| s.run.job).collect::<Vec<_>>()
    };
    assert_eq!(window(20, 30), [4711]);
    assert_eq!(window(90, 210), [4711, 5000]);
    assert_eq!(window(110, 190), [0; 0]);
    assert_eq!(window(100_000, 200_000), [5000], "still there");
}

#[test]
fn an_id_may_be_shortened_as_long_as_it_is_unique() {
    let Story { place, mut ledger, case, .. } = story();
    let (node, boot) = (node(), boot());
    let twin = |id: &str, n| Case { id: CaseId::from(id), resource: Resource::Process(n), ..case.clone() };
    let twins = [twin("abcd0001", 1), twin("abcd0002", 2), twin("abce0001", 3)];
    let _ = ledger.record(&Batch { cases: &twins, ..Batch::new(T0, &node, &boot, "test") }).unwrap();
    let reader = place.reader();
    assert_eq!(reader.case("abce").unwrap(), Found::One(Box::new(twins[2].clone())));
    assert_eq!(reader.case("ABCE0001").unwrap(), Found::One(Box::new(twins[2].clone())));
    let several = ["abcd0001", "abcd0002"].map(str::to_owned).to_vec();
    assert_eq!(reader.case("abcd").unwrap(), Found::Several(several));
    assert_eq!(reader.case("abcd0001").unwrap(), Found::One(Box::new(twins[0].clone())));
    for none in ["", "zz", "%", "abcd00011", "' OR 1=1 --", "é"] {
        assert_eq!(reader.case(none).unwrap(), Found::None, "{none:?}");
    }
}

#[test]
fn single_records_are_found_by_their_ids() {
    let story = story();
    let event = &story.case.events[0];
    assert!(matches!(story.ledger.event(event.as_str()).unwrap(), Found::One(_)));
    assert_eq!(
        story.ledger.decision(story.decision.id.as_str()).unwrap(),
        Found::One(Box::new(story.decision))
    );
    assert_eq!(
        story.ledger.verdict(story.verdict.id.as_str()).unwrap(),
        Found::One(Box::new(story.verdict.clone()))
    );
    let ids = [EventId::from("gone"), event.clone()];
    assert_eq!(story.ledger.events_by_id(&ids).unwrap().len(), 1);
    assert_eq!(story.ledger.span(&story.verdict.run).unwrap().unwrap().run, story.verdict.run);
}

#[test]
fn a_copy_holds_everything_and_overwrites_nothing() {
    let story = story();
    let target = story.place.folder.path().join("copy.db");
    story.place.reader().export(&target).unwrap();
    let copy = Ledger::open(&target, &OpenOptions::reader(WAIT, T0)).unwrap();
    assert_eq!(copy.cases(&Filter::default()).unwrap(), [story.case]);
    drop(copy);
    let before = std::fs::read(&target).unwrap();
    assert!(matches!(story.ledger.export(&target), Err(Error::Io { .. })), "a file that is there stays");
    assert_eq!(std::fs::read(&target).unwrap(), before);
}
