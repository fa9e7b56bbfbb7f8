//! Records to fill a ledger with.
use std::collections::BTreeMap;

use triage_core::*;
use triage_ledger::*;

/// 2026-03-01T10:00:00Z.
pub(crate) const T0: Stamp = Stamp::from_secs(1_772_359_200);
/// One hour later: the moment the program is told.
pub(crate) const NOW: Stamp = Stamp::from_secs(1_772_359_200 + 3_600);

pub(crate) fn node() -> NodeName {
    NodeName::from("n1")
}

pub(crate) fn boot() -> BootId {
    BootId::from("11111111-2222-3333-4444-555555555555")
}

/// Rows that are written together.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) observations: Vec<Observation>,
    pub(crate) events: Vec<Event>,
    pub(crate) cases: Vec<Case>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) intents: Vec<NewIntent>,
    pub(crate) spans: Vec<JobSpan>,
    pub(crate) tasks: Vec<(Stamp, TaskEdge)>,
    pub(crate) sources: Vec<SourceReport>,
    pub(crate) audit: Vec<AuditNote>,
}

impl Rows {
    /// Writes them.
    pub(crate) fn write(&self, ledger: &mut Ledger, at: Stamp) {
        let (node, boot) = (node(), boot());
        let batch = Batch {
            observations: &self.observations,
            events: &self.events,
            cases: &self.cases,
            verdicts: &self.verdicts,
            decisions: &self.decisions,
            intents: &self.intents,
            spans: &self.spans,
            tasks: &self.tasks,
            sources: &self.sources,
            audit: &self.audit,
            ..Batch::new(at, &node, &boot, "test")
        };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    }
}

/// A line of the kernel's log.
pub(crate) fn line(cursor: u64, at: Stamp, text: &str) -> Observation {
    Observation {
        node: node(),
        boot: boot(),
        source: SourceKind::Kmsg,
        stream: String::new(),
        cursor,
        at,
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Line(text.to_owned()),
    }
}

/// The event such a line became: a GPU that is gone, unless the caller says otherwise.
pub(crate) fn event(line: &Observation, code: &str) -> Event {
    let Payload::Line(text) = &line.payload else { panic!("a line") };
    Event {
        id: EventId::of(&line.node, &line.boot, line.source.word(), &line.stream, line.cursor, code),
        code: Code::from(code),
        at: line.at,
        node: line.node.clone(),
        boot: line.boot.clone(),
        source: line.source,
        stream: line.stream.clone(),
        cursor: line.cursor,
        provenance: line.provenance,
        synthetic: line.synthetic,
        class: CauseClass::Hardware,
        role: Role::Root,
        advice: Advice::Reboot,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::Reboot,
        resource: Resource::from("gpu:0000:61:00.0"),
        fields: BTreeMap::from([("pid".to_owned(), "4711".to_owned())]),
        text: text.clone(),
    }
}

/// The case such an event opened.
pub(crate) fn case(event: &Event, run: Option<RunId>) -> Case {
    Case {
        part: None,
        id: CaseId::of(&event.node, "gpu.off_bus", &event.resource.to_string(), &event.id),
        fault: "gpu.off_bus".to_owned(),
        code: event.code.clone(),
        class: event.class,
        resource: event.resource.clone(),
        node: event.node.clone(),
        boot: event.boot.clone(),
        state: CaseState::Open,
        confidence: event.confidence,
        provenance: event.provenance,
        synthetic: event.synthetic,
        advice: event.advice,
        clears: event.clears,
        opened_at: event.at,
        last_seen: event.at,
        closed_at: None,
        run,
        events: vec![event.id.clone()],
        why: format!("{} on {}", event.code, event.resource),
        stood_down: false,
    }
}

pub(crate) fn run_of(job: u32, restart: u32, start: Stamp) -> RunId {
    RunId { cluster: "c1".to_owned(), job, array: None, het: None, restart, start }
}

/// A run on two nodes and all GPUs, of which this one is the batch host.
pub(crate) fn span(run: RunId) -> JobSpan {
    JobSpan {
        run,
        node: node(),
        boot: boot(),
        uid: 1000,
        user: "ada".to_owned(),
        partition: "gpu".to_owned(),
        nodes: vec![node(), NodeName::from("n2")],
        gpus: (0..8).collect(),
        ask: JobAsk::Default,
        end: None,
        exit: None,
        state: String::new(),
    }
}

/// A task of step 0 started or ended.
pub(crate) fn task(run: &RunId, rank: u32, what: TaskWhat) -> TaskEdge {
    TaskEdge {
        job: run.job,
        array: run.array,
        restart: run.restart,
        step: "0".to_owned(),
        rank,
        local: rank,
        pid: 5000 + rank,
        what,
        ask: JobAsk::Default,
        gpus: vec![rank.to_string()],
    }
}

pub(crate) fn gate(name: &str, passed: bool, why: &str) -> Gate {
    Gate { name: name.to_owned(), passed, why: why.to_owned() }
}

/// A decision about the node for a case.
pub(crate) fn node_decision(
    case: &Case,
    intent: triage_core::Intent,
    at: Stamp,
    gates: Vec<Gate>,
) -> Decision {
    let subject = Subject::Node(case.node.clone());
    let mode =
        if gates.iter().any(|gate| gate.name == "mode" && !gate.passed) { Mode::Monitor } else { Mode::Act };
    Decision {
        id: DecisionId::of(&subject.to_string(), intent.word(), case.id.as_str(), at),
        at,
        subject,
        intent,
        rule: "hardware-confirmed".to_owned(),
        mode,
        gates,
        case: Some(case.id.clone()),
        verdict: None,
        synthetic: case.synthetic,
        why: format!("{} {} {} on {}", case.confidence, case.class, case.fault, case.resource),
    }
}

/// A decision about a run for a verdict.
pub(crate) fn run_decision(
    verdict: &Verdict,
    intent: triage_core::Intent,
    at: Stamp,
    gates: Vec<Gate>,
) -> Decision {
    let subject = Subject::Run(verdict.run.clone());
    Decision {
        id: DecisionId::of(&subject.to_string(), intent.word(), "", at),
        at,
        subject,
        intent,
        rule: "hardware-confirmed".to_owned(),
        mode: Mode::Act,
        gates,
        case: None,
        verdict: Some(verdict.id.clone()),
        synthetic: verdict.synthetic,
        why: format!("{} {} cause", verdict.confidence, verdict.class),
    }
}

/// The drain that a decision wants.
pub(crate) fn drain(case: &Case, decision: &Decision) -> NewIntent {
    NewIntent {
        action: Action::Drain {
            node: case.node.clone(),
            reason: reason::for_case(case),
            case: case.id.clone(),
            decision: decision.id.clone(),
        },
        expires: decision.at.plus_secs(86_400),
        synthetic: case.synthetic,
    }
}

/// Carries an intent out on paper.
pub(crate) fn settle(
    ledger: &mut Ledger,
    intent: &NewIntent,
    at: Stamp,
    done: bool,
    retry: bool,
    answer: &str,
) {
    let key = intent.action.key();
    let me = ProcessId { pid: 1, start: 12_345, boot: boot() };
    let request =
        ClaimRequest { key: &key, now: at, me: &me, lease_until: at.plus_secs(10), alive: &|_| true };
    let Claim::Yours(claimed) = ledger.claim(&request).unwrap() else { panic!("free") };
    let outcome = Outcome { at, done, retry, answer: answer.to_owned() };
    assert!(matches!(ledger.settle(&claimed, &outcome, "triage-epilog").unwrap(), Settled::As(_)));
}

/// A look at a source.
pub(crate) fn look(source: SourceKind, at: Stamp, seen: Seen) -> SourceReport {
    SourceReport { source, stream: String::new(), at, cost_us: 1_234, seen }
}
