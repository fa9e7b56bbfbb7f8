//! Whole stories.
use triage_core::*;
use triage_ledger::*;

use super::*;

/// The job whose GPU dies.
pub(crate) const JOB: u32 = 4711;

/// A GPU falls off the bus under a job; the node is drained, the job requeued, as in act mode.
pub(crate) fn a_gpu_dies_and_it_is_seen_to(ledger: &mut Ledger) {
    let Tale { line, event, case, span, verdict } = tale();
    let death = T0.plus_secs(1_800);
    started_and_failed(ledger, &span);
    let passed = [
        gate("provenance", true, "a trusted source says so"),
        gate("stand_down", true, "nobody undid an action for this case"),
        gate("foreign_reason", true, "the node is in service"),
        gate("mode", true, "policy lets this action be carried out"),
    ];
    let drain_it =
        node_decision(&case, triage_core::Intent::Drain, death.plus_micros(900_000), passed.to_vec());
    let requeue_it = run_decision(
        &verdict,
        triage_core::Intent::Requeue,
        death.plus_micros(900_000),
        vec![gate("culprit", true, "n1 is to blame and will be avoided"), passed[3].clone()],
    );
    let intents = [
        drain(&case, &drain_it),
        NewIntent {
            action: Action::Requeue {
                run: span.run.clone(),
                exclude: vec![node()],
                hold: false,
                progress: triage_core::progress::Progress::default(),
                decision: requeue_it.id.clone(),
            },
            expires: death.plus_secs(300),
            synthetic: false,
        },
    ];
    let decisions = [drain_it, requeue_it];
    Rows {
        observations: vec![line.clone()],
        events: vec![event.clone()],
        cases: vec![case.clone()],
        verdicts: vec![verdict.clone()],
        decisions: decisions.to_vec(),
        intents: intents.to_vec(),
        spans: vec![span.clone()],
        ..Rows::default()
    }
    .write(ledger, death.plus_micros(900_000));
    settle(ledger, &intents[0], death.plus_micros(950_000), true, false, "drained");
    settle(ledger, &intents[1], death.plus_micros(990_000), true, false, "requeued, kept off n1");
    healthy_sweep(ledger);
}

/// The same in monitor mode: the drain is decided and held.
pub(crate) fn a_gpu_dies_and_it_is_written_down(ledger: &mut Ledger) {
    let Tale { line, event, case, span, verdict } = tale();
    let death = T0.plus_secs(1_800);
    started_and_failed(ledger, &span);
    let gates = vec![
        gate("provenance", true, "a trusted source says so"),
        gate("mode", false, "monitor mode: written down, not carried out"),
    ];
    let held = node_decision(&case, triage_core::Intent::Drain, death.plus_micros(900_000), gates);
    Rows {
        observations: vec![line.clone()],
        events: vec![event.clone()],
        cases: vec![case.clone()],
        verdicts: vec![verdict.clone()],
        decisions: vec![held.clone()],
        spans: vec![span.clone()],
        ..Rows::default()
    }
    .write(ledger, death.plus_micros(900_000));
    healthy_sweep(ledger);
}

/// Nothing but a job that went well, and a health check.
pub(crate) fn all_is_well(ledger: &mut Ledger) {
    let mut span = span(run_of(42, 0, T0));
    span.nodes = vec![node()];
    span.end = Some(T0.plus_secs(600));
    span.exit = Some(ExitStatus::Exit(0));
    span.state = "COMPLETED".to_owned();
    Rows { spans: vec![span.clone()], ..Rows::default() }.write(ledger, T0);
    healthy_sweep(ledger);
}

/// A drill without leave to act, on a GPU of its own.
pub(crate) fn a_drill(ledger: &mut Ledger) -> Case {
    let at = T0.plus_secs(2_400);
    let mut line = line(90, at, "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, drill");
    line.synthetic = true;
    line.stream = drill::stream(false).to_owned();
    let mut event = event(&line, "xid.79");
    event.resource = Resource::from("gpu:0000:41:00.0");
    event.fields.insert(drill::FIELD.to_owned(), "monitor".to_owned());
    let case = Case { stood_down: true, ..case(&event, None) };
    let held = vec![gate("stand_down", false, "a drill without --act: nothing is carried out")];
    let held = node_decision(&case, triage_core::Intent::Drain, at, held);
    Rows {
        observations: vec![line],
        events: vec![event],
        cases: vec![case.clone()],
        decisions: vec![held],
        ..Rows::default()
    }
    .write(ledger, at);
    case
}

/// A health check could read all sources, half a minute before [`NOW`].
pub(crate) fn healthy_sweep(ledger: &mut Ledger) {
    let at = NOW.plus_secs(-30);
    let itself =
        SourceReport { stream: "triage-healthcheck".to_owned(), ..look(SourceKind::Suite, at, Seen::Read) };
    let sources =
        vec![look(SourceKind::Kmsg, at, Seen::Read), look(SourceKind::Nvml, at, Seen::Read), itself];
    Rows { sources, ..Rows::default() }.write(ledger, at);
    let _ = ledger.upkeep(&Limits::default(), at, std::time::Duration::from_secs(20)).unwrap();
}

/// A fault under a job, told up to the verdict.
pub(crate) struct Tale {
    pub(crate) line: Observation,
    pub(crate) event: Event,
    pub(crate) case: Case,
    pub(crate) span: JobSpan,
    pub(crate) verdict: Verdict,
}

pub(crate) fn tale() -> Tale {
    let death = T0.plus_secs(1_800);
    let run = run_of(JOB, 0, T0);
    let line = line(
        77,
        death,
        "NVRM: Xid (PCI:0000:61:00): 79, pid=5003, name=python3, GPU has fallen off the bus.",
    );
    let event = event(&line, "xid.79");
    let case = case(&event, Some(run.clone()));
    let mut span = span(run.clone());
    span.end = Some(death.plus_micros(800_000));
    span.exit = Some(ExitStatus::Exit(1));
    span.state = "FAILED".to_owned();
    let verdict = Verdict {
        id: VerdictId::of("4711", death),
        run,
        at: death.plus_micros(900_000),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![Culprit { node: node(), resource: Some(case.resource.clone()) }],
        victims: vec![NodeName::from("n2")],
        cases: vec![case.id.clone()],
        evidence: vec![event.id.clone()],
        synthetic: false,
        story: vec![
            "job 4711 ended with exit code 1 on 2 nodes".to_owned(),
            "xid.79 on n1 gpu:0000:61:00.0 (confirmed), 0 s before the end".to_owned(),
        ],
        grounds: triage_core::Grounds::default(),
    };
    Tale { line, event, case, span, verdict }
}

/// The run's beginning, its four tasks, and how they ended: rank 3 first.
pub(crate) fn started_and_failed(ledger: &mut Ledger, span: &JobSpan) {
    let open = JobSpan { end: None, exit: None, state: String::new(), ..span.clone() };
    let death = T0.plus_secs(1_800);
    let ends = [
        (3, 250_000, ExitStatus::Signal(6)),
        (0, 400_000, ExitStatus::Exit(1)),
        (1, 420_500, ExitStatus::Signal(9)),
        (2, 420_600, ExitStatus::Signal(9)),
    ];
    let starts =
        (0..4).map(|rank| (T0.plus_micros(i64::from(rank) * 1_000), task(&span.run, rank, TaskWhat::Start)));
    let ends = ends
        .map(|(rank, after, exit)| (death.plus_micros(after), task(&span.run, rank, TaskWhat::End(exit))));
    let batch_end =
        TaskEdge { step: "batch".to_owned(), ..task(&span.run, 0, TaskWhat::End(ExitStatus::Exit(1))) };
    let tasks: Vec<(Stamp, TaskEdge)> =
        starts.chain(ends).chain([(death.plus_micros(700_000), batch_end)]).collect();
    Rows { spans: vec![open.clone()], ..Rows::default() }.write(ledger, T0);
    Rows { tasks: tasks.to_vec(), ..Rows::default() }.write(ledger, death);
}
