//! What the ledger remembers of earlier failed runs, for the next one that fails.
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

const HOUR: i64 = 3600;

/// A run of an hour that ended `hours` after [`T0`].
fn stay(job: u32, user: &str, hours: i64, exit: ExitStatus) -> JobSpan {
    let run = RunId { start: T0.plus_secs((hours - 1) * HOUR), ..run_of(job) };
    JobSpan { run, user: user.to_owned(), end: Some(T0.plus_secs(hours * HOUR)), exit: Some(exit), ..span(0) }
}

/// Minutes before the end of that hour, the kernel reports an Xid of a GPU.
fn xid(cursor: u64, hours: i64, provenance: Provenance) -> (Observation, Event) {
    let at = T0.plus_secs(hours * HOUR - 60);
    let line = Observation { at, provenance, ..line(cursor, "NVRM: Xid 31") };
    let event = Event { class: CauseClass::Application, role: Role::Either, ..event(&line, "xid.31") };
    (line, event)
}

fn write(place: &Place, spans: &[JobSpan], said: &[(Observation, Event)], verdicts: &[Verdict]) -> Ledger {
    let mut ledger = place.open();
    let (observations, events): (Vec<_>, Vec<_>) = said.iter().cloned().unzip();
    let (node, boot) = (node(), boot());
    let batch = Batch {
        observations: &observations,
        events: &events,
        spans,
        verdicts,
        ..Batch::new(T0, &node, &boot, "test")
    };
    let _ = ledger.record(&batch).unwrap();
    ledger
}

#[test]
fn the_same_gpu_in_failed_jobs_of_others_is_remembered_with_its_place() {
    let place = Place::new();
    let failed = ExitStatus::Exit(1);
    let spans = [stay(1, "ada", 2, failed), stay(2, "bob", 4, failed), stay(3, "eve", 6, failed)];
    let said =
        [xid(1, 2, Provenance::Trusted), xid(2, 4, Provenance::Trusted), xid(3, 6, Provenance::Trusted)];
    let ledger = write(&place, &spans, &said, &[]);
    let history = ledger.history(&spans[2].run).unwrap();
    let users: Vec<&str> = history.iter().map(|past| past.user.as_str()).collect();
    assert_eq!(users, ["bob", "ada"], "the run itself is no history");
    let past = &history[0];
    assert_eq!(
        (past.signature.as_str(), past.class.as_str(), past.job.as_str()),
        ("xid.31", "application", "2")
    );
    assert_eq!(
        (&past.culprits[0].node, &past.culprits[0].resource),
        (&node(), &Some(said[0].1.resource.clone()))
    );
}

#[test]
fn an_error_while_two_runs_were_there_is_nobodys_and_neither_is_one_of_a_run_that_went_well() {
    let place = Place::new();
    let failed = ExitStatus::Exit(1);
    let spans = [
        stay(1, "ada", 2, failed),
        stay(2, "bob", 2, failed),
        stay(3, "cid", 4, ExitStatus::Exit(0)),
        stay(9, "eve", 9, failed),
    ];
    let said = [xid(1, 2, Provenance::Trusted), xid(2, 4, Provenance::Trusted), xid(3, 9, Provenance::User)];
    let ledger = write(&place, &spans, &said, &[]);
    assert_eq!(ledger.history(&stay(10, "x", 12, failed).run).unwrap(), []);
}

#[test]
fn whom_only_a_jobs_own_word_named_is_not_remembered_as_named() {
    let place = Place::new();
    let spans = [stay(1, "ada", 2, ExitStatus::Exit(1)), stay(2, "bob", 4, ExitStatus::Exit(1))];
    let verdict = |span: &JobSpan, trusted| Verdict {
        id: VerdictId::of(&span.run.to_string(), span.run.start),
        run: span.run.clone(),
        at: span.end.unwrap(),
        class: CauseClass::Hardware,
        confidence: Confidence::Suspected,
        culprits: vec![Culprit { node: node(), resource: None }],
        victims: vec![],
        cases: vec![],
        evidence: vec![],
        synthetic: false,
        story: vec![],
        grounds: Grounds { code: "cuda.ecc".into(), trusted, ..Grounds::default() },
    };
    let ledger = write(&place, &spans, &[], &[verdict(&spans[0], true), verdict(&spans[1], false)]);
    let history = ledger.history(&stay(3, "x", 12, ExitStatus::Exit(1)).run).unwrap();
    let named: Vec<(&str, usize)> =
        history.iter().map(|past| (past.user.as_str(), past.culprits.len())).collect();
    assert_eq!(named, [("bob", 0), ("ada", 1)]);
    assert_eq!(history[0].signature, "cuda.ecc");
}

#[test]
fn what_is_older_than_a_month_is_forgotten() {
    let place = Place::new();
    let spans = [stay(1, "ada", 2, ExitStatus::Exit(1))];
    let ledger = write(&place, &spans, &[xid(1, 2, Provenance::Trusted)], &[]);
    let later = RunId { start: T0.plus_secs(40 * 24 * HOUR), ..run_of(5) };
    assert_eq!(ledger.history(&later).unwrap(), []);
}
