//! Fills a ledger as some months on a busy node would: `ledger-fill PATH [EVENTS]` (default 100,000 events). One
//! event in ten belongs to a case, all cases are closed; one run for every ten events; sources, cursor and a sweep
//! over eight GPUs are there. For measuring, and for looking at the views with plain `sqlite3`.
#![expect(clippy::unwrap_used, reason = "a program for developers: a panic says what went wrong")]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::reading::{GpuReading, NvLinkReading, NvmlReading, NvmlState};
use triage_core::{
    Advice, BootId, Case, CaseId, CaseState, CauseClass, ClearedBy, Code, Confidence, Decision, DecisionId,
    Event, EventId, ExitStatus, Grounds, Intent, JobAsk, JobSpan, Mode, NodeName, Observation, Payload,
    Provenance, Resource, Role, RunId, SourceKind, Stamp, Subject, Verdict, VerdictId,
};
use triage_ledger::{Batch, Cursor, Ledger, OpenOptions, Reading, Recorded, Seen, SourceReport};

/// 2026-03-01T10:00:00Z.
const BEGIN: Stamp = Stamp::from_secs(1_772_359_200);
const EVENTS_A_BATCH: u64 = 1000;
const SECONDS_BETWEEN_EVENTS: i64 = 60;

fn main() {
    let mut args = std::env::args_os().skip(1);
    let path = args.next().filter(|path| !path.to_string_lossy().starts_with('-'));
    let Some(path) = path.map(PathBuf::from) else {
        eprintln!("usage: ledger-fill PATH [EVENTS]");
        std::process::exit(2);
    };
    let events = args.next().map_or(100_000, |count| count.to_str().unwrap().parse().unwrap());
    fill(&path, events);
}

/// Fills the ledger at `path` with `events` events; the last one happened at the returned moment.
pub(crate) fn fill(path: &Path, events: u64) -> Stamp {
    let node = NodeName::from("gpu01");
    let boot = BootId::from("11111111-2222-3333-4444-555555555555");
    // Larger than a site lets it grow: a million events take some 700 MB.
    let options =
        OpenOptions { max_bytes: 8_000_000_000, ..OpenOptions::writer(Duration::from_secs(30), BEGIN) };
    let mut ledger = Ledger::open(path, &options).unwrap();
    let mut now = BEGIN;
    for first in (0..events).step_by(usize::try_from(EVENTS_A_BATCH).unwrap()) {
        let lines: Vec<Observation> =
            (first..events.min(first + EVENTS_A_BATCH)).map(|n| line(&node, &boot, n)).collect();
        let events: Vec<Event> = lines.iter().map(event).collect();
        let cases: Vec<Case> =
            events.chunks(100).map(|part| closed_case(&part[..part.len().min(10)])).collect();
        let spans: Vec<JobSpan> = events.iter().step_by(10).map(span).collect();
        // One run in ten failed and was judged; each case and each verdict was decided about.
        let verdicts: Vec<Verdict> = spans.iter().step_by(10).map(verdict).collect();
        let decisions: Vec<Decision> =
            cases.iter().map(about_case).chain(verdicts.iter().map(about_run)).collect();
        now = events.last().unwrap().at;
        let reading = Reading { at: now, boot: boot.clone(), synthetic: false, reading: sweep() };
        let batch = Batch {
            observations: &lines,
            events: &events,
            cases: &cases,
            spans: &spans,
            verdicts: &verdicts,
            decisions: &decisions,
            cursors: &[Cursor {
                source: SourceKind::Kmsg,
                stream: String::new(),
                boot: boot.clone(),
                anchor: String::new(),
                cursor: first + EVENTS_A_BATCH,
            }],
            sources: &[SourceReport {
                source: SourceKind::Kmsg,
                stream: String::new(),
                at: now,
                cost_us: 120,
                seen: Seen::Read,
            }],
            reading: Some(&reading),
            ..Batch::new(now, &node, &boot, "ledger-fill")
        };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    }
    ledger.checkpoint().unwrap();
    now
}

fn line(node: &NodeName, boot: &BootId, n: u64) -> Observation {
    let text = format!(
        "NVRM: Xid (PCI:0000:{:02x}:00): 31, pid={n}, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE \
         GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f3c_4e000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        n % 8 + 0x40
    );
    Observation {
        node: node.clone(),
        boot: boot.clone(),
        source: SourceKind::Kmsg,
        stream: String::new(),
        cursor: n,
        at: BEGIN.plus_secs(i64::try_from(n).unwrap() * SECONDS_BETWEEN_EVENTS),
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Line(text),
    }
}

fn event(line: &Observation) -> Event {
    let Payload::Line(text) = &line.payload else { unreachable!("made above") };
    Event {
        id: EventId::of(&line.node, &line.boot, line.source.word(), "", line.cursor, "xid.31"),
        code: Code::from("xid.31"),
        at: line.at,
        node: line.node.clone(),
        boot: line.boot.clone(),
        source: line.source,
        stream: line.stream.clone(),
        cursor: line.cursor,
        provenance: line.provenance,
        synthetic: line.synthetic,
        class: CauseClass::Application,
        role: Role::Either,
        advice: Advice::None,
        confidence: Confidence::Probable,
        clears: ClearedBy::None,
        resource: Resource::from(format!("gpu:0000:{:02x}:00.0", line.cursor % 8 + 0x40).as_str()),
        fields: BTreeMap::from([
            ("pid".to_owned(), line.cursor.to_string()),
            ("name".to_owned(), "python3".to_owned()),
        ]),
        text: text.clone(),
    }
}

fn closed_case(evidence: &[Event]) -> Case {
    let (first, last) = (&evidence[0], &evidence[evidence.len() - 1]);
    Case {
        part: None,
        id: CaseId::of(&first.node, "gpu.fault", &first.resource.to_string(), &first.id),
        fault: "gpu.fault".to_owned(),
        code: first.code.clone(),
        class: first.class,
        resource: first.resource.clone(),
        node: first.node.clone(),
        boot: first.boot.clone(),
        state: CaseState::Resolved,
        confidence: first.confidence,
        provenance: first.provenance,
        synthetic: false,
        advice: first.advice,
        clears: first.clears,
        opened_at: first.at,
        last_seen: last.at,
        closed_at: Some(last.at.plus_secs(60)),
        run: None,
        events: evidence.iter().map(|event| event.id.clone()).collect(),
        why: "the GPU was reset and reads healthy".to_owned(),
        stood_down: false,
    }
}

fn span(event: &Event) -> JobSpan {
    let run = RunId {
        cluster: "c1".to_owned(),
        job: u32::try_from(event.cursor + 1).unwrap(),
        array: None,
        het: None,
        restart: 0,
        start: event.at.plus_secs(-300),
    };
    JobSpan {
        run,
        node: event.node.clone(),
        boot: event.boot.clone(),
        uid: 1000,
        user: "ada".to_owned(),
        partition: "gpu".to_owned(),
        nodes: vec![event.node.clone()],
        gpus: (0..8).collect(),
        ask: JobAsk::Default,
        end: Some(event.at.plus_secs(60)),
        exit: Some(ExitStatus::Exit(1)),
        state: "FAILED".to_owned(),
    }
}

fn verdict(span: &JobSpan) -> Verdict {
    let at = span.end.unwrap();
    Verdict {
        id: VerdictId::of(&span.run.to_string(), at),
        run: span.run.clone(),
        at,
        class: CauseClass::Application,
        confidence: Confidence::Probable,
        culprits: Vec::new(),
        victims: Vec::new(),
        cases: Vec::new(),
        evidence: Vec::new(),
        synthetic: false,
        story: vec!["the job accessed memory it does not own".to_owned()],
        grounds: Grounds { code: Code::from("xid.31"), ..Grounds::default() },
    }
}

fn about_case(case: &Case) -> Decision {
    decision(Subject::Node(case.node.clone()), case.last_seen, Some(case), None)
}

fn about_run(verdict: &Verdict) -> Decision {
    decision(Subject::Run(verdict.run.clone()), verdict.at, None, Some(verdict))
}

fn decision(subject: Subject, at: Stamp, case: Option<&Case>, verdict: Option<&Verdict>) -> Decision {
    let case = case.map(|case| case.id.clone());
    let named = case.as_ref().map_or("", |id| id.as_str());
    Decision {
        id: DecisionId::of(&subject.to_string(), "note", named, at),
        at,
        subject,
        intent: Intent::Note,
        rule: "everything-else".to_owned(),
        mode: Mode::Monitor,
        gates: Vec::new(),
        case,
        verdict: verdict.map(|verdict| verdict.id.clone()),
        synthetic: false,
        why: "probable application cause".to_owned(),
    }
}

/// Eight healthy GPUs with eighteen links each.
fn sweep() -> NvmlReading {
    let links =
        |link| NvLinkReading { link, active: true, replays: Some(0), recoveries: Some(0), crc: Some(0) };
    let gpu = |index: u32| GpuReading {
        index,
        uuid: Some(format!("GPU-00000000-1111-2222-3333-{index:012}")),
        pci: format!("0000:{:02x}:00.0", index + 0x40).parse().ok(),
        serial: Some(format!("165000000000{index}")),
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        ecc_uncorrected: Some(0),
        ecc_corrected: Some(0),
        remap_pending: Some(false),
        remap_failed: Some(false),
        temperature_c: Some(41),
        power_mw: Some(112_000),
        nvlinks: (0..18).map(links).collect(),
        ..GpuReading::default()
    };
    NvmlReading {
        state: NvmlState::Ok,
        driver_version: Some("570.86.15".to_owned()),
        gpus: (0..8).map(gpu).collect(),
        ..NvmlReading::default()
    }
}
