//! What a rule or a gate is told of the past.
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

/// A run of job 7 with this restart count, an hour after the one before.
fn run(restart: u32) -> JobSpan {
    let begin = T0.plus_secs(i64::from(restart) * 3_600);
    let mut span = span(7);
    (span.run.restart, span.run.start) = (restart, begin);
    (span.end, span.exit) = (Some(begin.plus_secs(60)), Some(ExitStatus::Exit(1)));
    span
}

fn verdict(span: &JobSpan, culprit: &str) -> Verdict {
    let resource = Some(Resource::from("gpu:0000:61:00.0"));
    Verdict {
        id: VerdictId::of(culprit, span.run.start),
        run: span.run.clone(),
        at: span.run.start,
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![Culprit { node: NodeName::from(culprit), resource }],
        victims: Vec::new(),
        cases: Vec::new(),
        evidence: Vec::new(),
        synthetic: false,
        story: Vec::new(),
        grounds: Grounds { code: Code::from("xid.79"), ..Grounds::default() },
    }
}

#[test]
fn earlier_runs_of_a_job_are_told_with_their_causes_and_no_later_or_foreign_one_is() {
    let place = Place::new();
    let mut ledger = place.open();
    let spans = [run(0), run(1), run(2), span(8)];
    let verdicts = [verdict(&spans[0], "n1"), verdict(&spans[1], "n2")];
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &spans, verdicts: &verdicts, ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let runs = ledger.memory(Some(&spans[2].run)).unwrap().runs;
    let told: Vec<(u32, Option<Stamp>, &str)> = runs
        .iter()
        .map(|run| (run.restart, run.end, run.cause.as_ref().unwrap().nodes[0].as_str()))
        .collect();
    assert_eq!(told, [(0, spans[0].end, "n1"), (1, spans[1].end, "n2")]);
    let cause = runs[0].cause.as_ref().unwrap();
    assert_eq!(
        (cause.codes.as_slice(), cause.kinds.as_slice()),
        (&["xid.79".into()][..], &["gpu".to_owned()][..])
    );
    assert_eq!(ledger.memory(Some(&spans[0].run)).unwrap().runs, [], "the first run has no past");
    assert_eq!(ledger.memory(None).unwrap().runs, []);
}

/// The verdict's columns are the only place where the ledger keeps it.
#[test]
fn how_far_a_run_got_is_remembered_with_its_verdict() {
    let place = Place::new();
    let mut ledger = place.open();
    let spans = [run(0), run(1), run(2)];
    let mut far = verdict(&spans[0], "n1");
    far.grounds.told = vec![Evidence {
        time: None,
        node: None,
        code: Code::from("job.progress"),
        text: "step 90, checkpoint 80".to_owned(),
        provenance: Provenance::User,
        event: None,
    }];
    let verdicts = [far, verdict(&spans[1], "n2")];
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &spans, verdicts: &verdicts, ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let runs = ledger.memory(Some(&spans[2].run)).unwrap().runs;
    let got: Vec<_> = runs.iter().map(|run| (run.progress.step, run.progress.checkpoint)).collect();
    assert_eq!(got, [(Some(90), Some(80)), (None, None)]);
}

#[test]
fn cases_are_remembered_and_drills_are_not() {
    let place = Place::new();
    let mut ledger = place.open();
    let real = case(&event(&line(1, "Xid 79"), "xid.79"));
    let drill =
        Case { id: CaseId::from("0badcafe"), fault: "drill".to_owned(), synthetic: true, ..real.clone() };
    let (node, boot) = (node(), boot());
    let cases = [real.clone(), drill];
    let batch = Batch { cases: &cases, ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let memory = ledger.memory(None).unwrap();
    assert_eq!(memory.repeats(&real.fault, &real.resource.to_string()), [real.opened_at]);
    assert_eq!(memory.cases.len(), 1);
}
