//! Batches: whole, idempotent, and never a step back.
use std::collections::BTreeMap;

use triage_core::reading::NvmlReading;
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

fn all(ledger: &Ledger) -> Loaded {
    ledger.load(&Load { spans_since: Stamp::from_micros(i64::MIN), run: None }).unwrap()
}

/// Records a batch that `fill` makes.
fn put(ledger: &mut Ledger, fill: impl for<'a> FnOnce(Batch<'a>, &mut dyn FnMut(&Batch<'_>))) {
    let (node, boot) = (node(), boot());
    let mut record = |batch: &Batch<'_>| {
        assert!(matches!(ledger.record(batch).unwrap(), Recorded::Committed { .. }));
    };
    fill(Batch::new(T0, &node, &boot, "test"), &mut record);
}

#[test]
fn recording_a_batch_again_changes_nothing() {
    let place = Place::new();
    let mut ledger = place.open();
    let lines = [line(1, "noise"), line(2, "Xid 79")];
    let event = event(&lines[1], "xid.79");
    let case = case(&event);
    let decision = decision(&case, T0);
    let intents = [drain(&case, &decision)];
    let cursors = [kmsg(3)];
    let repeats = BTreeMap::from([("xid.31".to_owned(), 5)]);
    let edge = (T0, task(1));
    let (node, boot) = (node(), boot());
    let batch = Batch {
        observations: &lines,
        events: &[event],
        repeats: Some(&repeats),
        cases: &[case],
        decisions: &[decision],
        intents: &intents,
        spans: &[span(1)],
        tasks: &[edge],
        cursors: &cursors,
        ..Batch::new(T0, &node, &boot, "test")
    };
    assert_eq!(ledger.record(&batch).unwrap(), Recorded::Committed { events: 1, intents: 1 });
    let rows = |ledger: &Ledger| (ledger.about().unwrap().rows, ledger.counters(T0).unwrap());
    let before = rows(&ledger);
    assert_eq!(ledger.record(&batch).unwrap(), Recorded::Committed { events: 0, intents: 0 });
    assert_eq!(rows(&ledger), before);
    let counted = |kind: &str| before.1.iter().find(|c| c.kind == kind).map(|c| c.count);
    assert_eq!(counted("lines_without_event"), Some(1));
    assert_eq!(counted("repeats"), Some(5));
}

fn kmsg(cursor: u64) -> Cursor {
    Cursor { source: SourceKind::Kmsg, stream: String::new(), boot: boot(), anchor: String::new(), cursor }
}

fn task(rank: u32) -> TaskEdge {
    TaskEdge {
        job: 1,
        array: None,
        restart: 0,
        step: "0".to_owned(),
        rank,
        local: rank,
        pid: 100 + rank,
        what: TaskWhat::Start,
        ask: JobAsk::Default,
        gpus: vec!["0".to_owned()],
    }
}

#[test]
fn two_passes_over_overlapping_lines_count_each_line_once() {
    let place = Place::new();
    let mut ledger = place.open();
    let lines: Vec<Observation> = (0..10).map(|n| line(n, "noise")).collect();
    for (from, to) in [(0, 6), (3, 8), (0, 10), (9, 10)] {
        put(&mut ledger, |batch, record| {
            let cursors = [kmsg(to as u64)];
            record(&Batch { observations: &lines[from..to], cursors: &cursors, ..batch });
        });
    }
    assert_eq!(ledger.counters(T0).unwrap()[0].count, 10);
}

#[test]
fn a_batch_made_from_stale_cases_is_not_written() {
    let place = Place::new();
    let mut ledger = place.open();
    let before = all(&ledger);
    let event_1 = event(&line(1, "a"), "xid.79");
    put(&mut ledger, |batch, record| record(&Batch { cases: &[case(&event_1)], ..batch }));
    let event_2 = event(&line(2, "b"), "xid.79");
    let (node, boot) = (node(), boot());
    let stale = Batch {
        based_on: Some(before.generation),
        events: std::slice::from_ref(&event_2),
        cases: &[case(&event_2)],
        ..Batch::new(T0, &node, &boot, "test")
    };
    assert_eq!(ledger.record(&stale).unwrap(), Recorded::Stale);
    assert!(ledger.events(&Filter::default()).unwrap().is_empty(), "nothing of it was written");
    let fresh = Batch { based_on: Some(all(&ledger).generation), cases: &[], ..stale };
    assert_eq!(ledger.record(&fresh).unwrap(), Recorded::Committed { events: 1, intents: 0 });
    // Bookkeeping by others makes nobody's judgement stale.
    let base = all(&ledger).generation;
    record_span(&mut ledger, 9);
    assert_eq!(all(&ledger).generation, base);
}

#[test]
fn a_second_open_case_of_one_fault_is_refused_whole() {
    let place = Place::new();
    let mut ledger = place.open();
    let (event_1, event_2) = (event(&line(1, "a"), "xid.79"), event(&line(2, "b"), "xid.79"));
    put(&mut ledger, |batch, record| record(&Batch { cases: &[case(&event_1)], ..batch }));
    let (node, boot) = (node(), boot());
    let second = Batch {
        events: std::slice::from_ref(&event_2),
        cases: &[case(&event_2)],
        ..Batch::new(T0, &node, &boot, "test")
    };
    let error = ledger.record(&second).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert!(ledger.events(&Filter::default()).unwrap().is_empty(), "nothing half there");
    // Once the first is closed, a later fault of the kind opens a case of its own.
    let closed = Case { state: CaseState::Resolved, closed_at: Some(T0), ..case(&event_1) };
    put(&mut ledger, |batch, record| record(&Batch { cases: &[closed, case(&event_2)], ..batch }));
    assert_eq!(ledger.cases(&Filter::default()).unwrap().len(), 2);
}

#[test]
fn a_closed_case_is_never_opened_again() {
    let place = Place::new();
    let mut ledger = place.open();
    let open = case(&event(&line(1, "a"), "xid.79"));
    for state in [CaseState::Acquitted, CaseState::Open, CaseState::Acted, CaseState::Resolved] {
        let case = Case { state, ..open.clone() };
        put(&mut ledger, |batch, record| record(&Batch { cases: &[case], ..batch }));
    }
    assert_eq!(ledger.cases(&Filter::default()).unwrap()[0].state, CaseState::Acquitted);
}

#[test]
fn a_case_id_that_names_another_case_is_refused() {
    let place = Place::new();
    let mut ledger = place.open();
    let first = case(&event(&line(1, "a"), "xid.79"));
    let other = Case { resource: Resource::Host, ..first.clone() };
    put(&mut ledger, |batch, record| record(&Batch { cases: &[first], ..batch }));
    let (node, boot) = (node(), boot());
    let batch = Batch { cases: &[other], ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(ledger.record(&batch), Err(Error::Conflict { .. })));
}

#[test]
fn evidence_of_a_case_follows_its_new_state() {
    let place = Place::new();
    let mut ledger = place.open();
    let mut changing = case(&event(&line(1, "a"), "xid.79"));
    for events in [&["a", "b", "c"][..], &["a", "x"], &[], &["z"]] {
        changing.events = events.iter().map(|id| EventId::from(*id)).collect();
        put(&mut ledger, |batch, record| record(&Batch { cases: std::slice::from_ref(&changing), ..batch }));
        assert_eq!(all(&ledger).cases[0].events, changing.events);
    }
}

#[test]
fn a_run_that_ended_is_not_opened_again_by_a_slower_program() {
    let place = Place::new();
    let mut ledger = place.open();
    let ended = JobSpan { end: Some(T0.plus_secs(60)), exit: Some(ExitStatus::Signal(9)), ..span(1) };
    for span in [span(1), ended.clone(), span(1)] {
        put(&mut ledger, |batch, record| record(&Batch { spans: &[span], ..batch }));
    }
    assert_eq!(all(&ledger).spans, [ended]);
    assert_eq!(ledger.open_span("c1", 1, 0).unwrap(), None);
}

#[test]
fn an_epilog_finds_the_latest_open_run_of_its_job_by_the_restart_count_of_the_next_one_too() {
    let place = Place::new();
    let mut ledger = place.open();
    let later = |restart: u32, secs: i64| {
        let run = RunId { restart, start: T0.plus_secs(secs), ..run_of(1) };
        JobSpan { run, ..span(1) }
    };
    let mut open = |span: JobSpan| {
        put(&mut ledger, |batch, record| record(&Batch { spans: &[span], ..batch }));
        let found = |restart| ledger.open_span("c1", 1, restart).unwrap();
        assert_eq!(ledger.open_span("other", 1, 1).unwrap(), None);
        [found(0), found(1), found(2)]
    };
    let [first, second] = [later(0, 50), later(1, 100)].map(Some);
    open(span(2));
    open(span(1));
    assert_eq!(open(later(0, 50)), [first.clone(), first.clone(), first]);
    assert_eq!(open(later(1, 100)), [None, second.clone(), second]);
}

#[test]
fn a_run_whose_epilog_never_came_is_over_when_the_job_begins_again() {
    let place = Place::new();
    let mut ledger = place.open();
    let again = JobSpan { run: RunId { restart: 1, start: T0.plus_secs(90), ..run_of(1) }, ..span(1) };
    for span in [span(2), span(1), again.clone()] {
        put(&mut ledger, |batch, record| record(&Batch { spans: &[span], ..batch }));
    }
    let spans = all(&ledger).spans;
    let of = |run: &RunId| spans.iter().find(|span| span.run == *run).unwrap();
    assert_eq!((of(&run_of(1)).end, of(&run_of(1)).exit), (Some(T0.plus_secs(90)), None));
    assert_eq!((of(&again.run).end, of(&run_of(2)).end), (None, None));
}

#[test]
fn an_array_task_that_is_known_late_is_the_same_run() {
    let place = Place::new();
    let mut ledger = place.open();
    record_span(&mut ledger, 1);
    let array = Some(ArrayId { job: 9, task: 3 });
    let ended = JobSpan { run: RunId { array, ..run_of(1) }, end: Some(T0.plus_secs(9)), ..span(1) };
    put(&mut ledger, |batch, record| record(&Batch { spans: std::slice::from_ref(&ended), ..batch }));
    assert_eq!(all(&ledger).spans, std::slice::from_ref(&ended), "ended, not a second one");
    // A program that does not know takes nothing back.
    let forgetful = JobSpan { run: run_of(1), ..ended.clone() };
    put(&mut ledger, |batch, record| record(&Batch { spans: &[forgetful], ..batch }));
    assert_eq!(all(&ledger).spans, [ended]);
}

#[test]
fn a_run_whose_prolog_could_not_write_still_has_its_tasks_and_events() {
    let place = Place::new();
    let mut ledger = place.open();
    let seen = event(&line(5, "x"), "xid.79");
    let tasks = [(T0.plus_secs(1), task(0))];
    put(&mut ledger, |batch, record| {
        record(&Batch { events: std::slice::from_ref(&seen), tasks: &tasks, ..batch });
    });
    let loaded = ledger.load(&Load { spans_since: T0, run: Some(&run_of(1)) }).unwrap();
    assert_eq!((loaded.tasks.len(), loaded.run_events.len(), loaded.span), (1, 1, None));
}

#[test]
fn a_new_boot_ends_what_the_old_one_left() {
    let place = Place::new();
    let mut ledger = place.open();
    record_span(&mut ledger, 1);
    let hung = SourceReport {
        source: SourceKind::Nvml,
        stream: String::new(),
        at: T0,
        cost_us: 1,
        seen: Seen::Blind { reason: "no answer in 5 s".to_owned(), hung: Some(process(77)) },
    };
    put(&mut ledger, |batch, record| record(&Batch { sources: &[hung], ..batch }));
    let (node, next) = (node(), BootId::from("next"));
    let now = T0.plus_secs(1000);
    let _ = ledger.record(&Batch::new(now, &node, &next, "test")).unwrap();
    let loaded = all(&ledger);
    assert_eq!(loaded.spans[0].end, Some(now));
    assert_eq!(ask::<String>(&place.path(), "SELECT ended_by FROM v_jobs"), "reboot");
    let nvml = loaded.source(SourceKind::Nvml, "").unwrap();
    assert_eq!(nvml.hung, None, "no process outlives its boot");
    assert_eq!(nvml.blind_since, Some(T0), "but nothing was read since");
    let boots = ledger.about().unwrap().boots;
    assert_eq!(boots, [(boot(), T0), (next, now)]);
}

#[test]
fn a_cursor_only_moves_forward_within_one_boot_and_file() {
    let place = Place::new();
    let mut ledger = place.open();
    let at = |boot: &str, anchor: &str, cursor: u64| Cursor {
        boot: BootId::from(boot),
        anchor: anchor.to_owned(),
        ..kmsg(cursor)
    };
    let steps = [
        (at("a", "1:2", 10), 10),
        (at("a", "1:2", 5), 10),
        (at("a", "1:2", 11), 11),
        (at("a", "1:3", 2), 2),
        (at("b", "1:3", 1), 1),
        (at("b", "1:3", u64::MAX), u64::MAX),
    ];
    for (cursor, stands) in steps {
        put(&mut ledger, |batch, record| record(&Batch { cursors: &[cursor], ..batch }));
        assert_eq!(all(&ledger).cursor(SourceKind::Kmsg, "").unwrap().cursor, stands);
    }
}

#[test]
fn blindness_begins_once_and_ends_with_the_first_look_that_succeeds() {
    let place = Place::new();
    let mut ledger = place.open();
    let blind = || Seen::Blind { reason: "gone".to_owned(), hung: None };
    let steps = [
        (0, Seen::Read, None, Some(0)),
        (10, blind(), Some(10), Some(0)),
        (20, blind(), Some(10), Some(0)),
        // Began before the last look, came after it: changes nothing.
        (15, Seen::Read, Some(10), Some(0)),
        (30, Seen::Read, None, Some(30)),
        (40, blind(), Some(40), Some(30)),
    ];
    for (secs, seen, since, ok) in steps {
        let report = SourceReport {
            source: SourceKind::Nvml,
            stream: String::new(),
            at: T0.plus_secs(secs),
            cost_us: 7,
            seen,
        };
        put(&mut ledger, |batch, record| record(&Batch { sources: &[report], ..batch }));
        let row = &ledger.sources().unwrap()[0];
        assert_eq!(row.blind_since, since.map(|s| T0.plus_secs(s)), "after {secs}");
        assert_eq!(row.last_ok, ok.map(|s| T0.plus_secs(s)), "after {secs}");
        assert_eq!(row.reason.is_empty(), since.is_none());
    }
}

#[test]
fn sweeps_are_few_and_the_last_of_each_boot_is_among_them() {
    let place = Place::new();
    let mut ledger = place.open();
    for n in 0..50 {
        let boot = BootId::from(if n < 5 { "a" } else { "b" });
        let reading = NvmlReading { detail: n.to_string(), ..NvmlReading::default() };
        let reading = Reading { at: T0.plus_secs(n), boot, synthetic: false, reading };
        put(&mut ledger, |batch, record| record(&Batch { reading: Some(&reading), ..batch }));
    }
    let kept: Vec<String> = ledger.readings(100).unwrap().into_iter().map(|r| r.reading.detail).collect();
    assert_eq!(kept.len(), 17);
    assert_eq!((kept[0].as_str(), kept[16].as_str()), ("4", "49"));
    assert_eq!(all(&ledger).last_reading.unwrap().reading.detail, "49");
}

#[test]
fn the_last_decision_of_each_subject_and_case_is_what_a_pass_is_given() {
    let place = Place::new();
    let mut ledger = place.open();
    let case = case(&event(&line(1, "a"), "xid.79"));
    let at = |secs: i64| decision(&case, T0.plus_secs(secs));
    let about_run = |secs: i64, intent| Decision {
        id: DecisionId::of("run", "x", "", T0.plus_secs(secs)),
        subject: Subject::Run(run_of(1)),
        intent,
        case: None,
        ..at(secs)
    };
    let decisions = [
        at(1),
        Decision { intent: Intent::Note, ..at(2) },
        about_run(3, Intent::Requeue),
        about_run(4, Intent::Stop),
    ];
    put(&mut ledger, |batch, record| {
        record(&Batch {
            spans: &[span(1)],
            cases: std::slice::from_ref(&case),
            decisions: &decisions,
            ..batch
        });
    });
    let load = Load { spans_since: T0, run: Some(&run_of(1)) };
    assert_eq!(ledger.load(&load).unwrap().decided, [decisions[1].clone(), decisions[3].clone()]);
    assert_eq!(all(&ledger).decided, [decisions[1].clone()]);
}

#[test]
fn a_pass_is_given_the_tasks_and_events_of_its_run_and_of_no_other() {
    let place = Place::new();
    let mut ledger = place.open();
    let run = span(1);
    let ended = JobSpan { end: Some(T0.plus_secs(100)), ..run.clone() };
    let lines: Vec<Observation> = [1, 50, 99, 101].into_iter().map(|n| line(n, "x")).collect();
    let mut events: Vec<Event> = lines.iter().map(|line| event(line, "xid.31")).collect();
    events[1].boot = BootId::from("another");
    let tasks = [(T0.plus_secs(1), task(0)), (T0.plus_secs(2), TaskEdge { restart: 1, ..task(1) })];
    put(&mut ledger, |batch, record| {
        record(&Batch { events: &events, spans: &[ended, span(2)], tasks: &tasks, ..batch });
    });
    let loaded = ledger.load(&Load { spans_since: T0, run: Some(&run.run) }).unwrap();
    assert_eq!(loaded.tasks, [tasks[0].clone()]);
    assert_eq!(loaded.run_events, [events[0].clone(), events[2].clone()]);
    assert_eq!(loaded.spans, [span(2)]);
    assert_eq!(loaded.span.unwrap().run, run.run);
}

#[test]
fn a_later_run_is_given_its_tasks_though_slurm_told_the_plugin_no_restart_count() {
    let place = Place::new();
    let mut ledger = place.open();
    let first = JobSpan { end: Some(T0.plus_secs(100)), ..span(1) };
    let run = RunId { restart: 1, start: T0.plus_secs(200), ..first.run.clone() };
    let second = JobSpan { run: run.clone(), end: None, ..first.clone() };
    let tasks = [(T0.plus_secs(1), task(0)), (T0.plus_secs(201), task(0))];
    put(&mut ledger, |batch, record| {
        record(&Batch { spans: &[first.clone(), second], tasks: &tasks, ..batch });
    });
    let given = |run| ledger.load(&Load { spans_since: T0, run: Some(run) }).unwrap().tasks;
    assert_eq!((given(&first.run), given(&run)), (vec![tasks[0].clone()], vec![tasks[1].clone()]));
}

#[test]
fn a_sweep_is_kept_as_it_was_said_behind_the_event_it_became() {
    let place = Place::new();
    let mut ledger = place.open();
    let sweep = NvmlReading { detail: "as it was".to_owned(), ..NvmlReading::default() };
    let said = Observation { payload: Payload::Nvml(Box::new(sweep)), ..line(7, "") };
    let seen = Event { text: "a word about it".to_owned(), ..event(&line(7, ""), "nvml.gpu_lost") };
    let other = Event { text: "another word".to_owned(), ..event(&line(7, ""), "nvml.remap_failed") };
    let events = [seen, other];
    put(&mut ledger, |batch, record| {
        record(&Batch { observations: std::slice::from_ref(&said), events: &events, ..batch });
    });
    assert_eq!(ledger.events(&Filter::default()).unwrap(), events);
    assert!(ledger.said(&events[0].id).unwrap().unwrap().contains("as it was"));
    let rows = ledger.about().unwrap().rows;
    assert!(rows.contains(&("observations".to_owned(), 1)), "two events, one sweep: {rows:?}");
}

#[test]
fn a_row_of_a_later_vocabulary_hides_no_other() {
    let place = Place::new();
    let mut ledger = place.open();
    let known = event(&line(1, "a"), "xid.79");
    let strange = event(&line(2, "b"), "xid.80");
    put(&mut ledger, |batch, record| record(&Batch { events: &[known.clone(), strange], ..batch }));
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    conn.execute("UPDATE events SET class = 'cosmic' WHERE code = 'xid.80'", []).unwrap();
    assert_eq!(ledger.events(&Filter::default()).unwrap(), [known]);
}

#[test]
fn the_audit_can_neither_be_changed_nor_shortened() {
    let place = Place::new();
    let mut ledger = place.open();
    let note = AuditNote { text: "said".to_owned(), ..AuditNote::info("case.acquitted", "0a1b2c3d") };
    put(&mut ledger, |batch, record| record(&Batch { audit: &[note], ..batch }));
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    for sql in ["UPDATE audit SET text = ''", "DELETE FROM audit", "DELETE FROM audit WHERE id = 1"] {
        let error = conn.execute(sql, []).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
    assert_eq!(ledger.audit(&Filter::default()).unwrap().len(), 2);
}

#[test]
fn a_file_that_stays_unusable_is_told_once_an_hour() {
    let place = Place::new();
    let mut ledger = place.open();
    let note = |kind: &str, text: &str| AuditNote {
        level: triage_ledger::Level::Error,
        text: text.to_owned(),
        ..AuditNote::info(kind, "")
    };
    let mut told = |after_s: i64, note: AuditNote| {
        put(&mut ledger, |batch, record| {
            record(&Batch { audit: &[note], now: batch.now.plus_secs(after_s), ..batch })
        });
    };
    let unusable = note("config.unusable", "triage.toml:3:1: no number");
    for after_s in [0, 60, 3_540] {
        told(after_s, unusable.clone());
    }
    told(3_601, unusable);
    told(3_602, note("config.unusable", "triage.toml:4:1: no number"));
    told(3_603, note("pass.failed", "x"));
    told(3_603, note("pass.failed", "x"));
    let rows = place.open().audit(&Filter::default()).unwrap();
    let of = |kind: &str| rows.iter().filter(|row| row.note.kind == kind).count();
    assert_eq!((of("config.unusable"), of("pass.failed")), (3, 2));
}
