//! Records to fill a ledger with.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::*;
use triage_ledger::*;

/// 2026-03-01T10:00:00Z.
pub(crate) const T0: Stamp = Stamp::from_secs(1_772_359_200);

/// A folder with a ledger in it, gone at the end of the test.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(crate) fn open(&self) -> Ledger {
        open(&self.path())
    }

    pub(crate) fn reader(&self) -> Ledger {
        Ledger::open(&self.path(), &OpenOptions::reader(WAIT, T0)).unwrap()
    }
}

pub(crate) const WAIT: Duration = Duration::from_secs(20);

pub(crate) fn open(path: &Path) -> Ledger {
    Ledger::open(path, &OpenOptions::writer(WAIT, T0)).unwrap()
}

pub(crate) fn node() -> NodeName {
    NodeName::from("gpu01")
}

pub(crate) fn boot() -> BootId {
    BootId::from("11111111-2222-3333-4444-555555555555")
}

/// A line of the kernel's log.
pub(crate) fn line(cursor: u64, text: &str) -> Observation {
    Observation {
        node: node(),
        boot: boot(),
        source: SourceKind::Kmsg,
        stream: String::new(),
        cursor,
        at: T0.plus_secs(i64::try_from(cursor).unwrap()),
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Line(text.to_owned()),
    }
}

/// The event such a line became.
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
pub(crate) fn case(event: &Event) -> Case {
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
        run: None,
        events: vec![event.id.clone()],
        why: "the kernel says so".to_owned(),
        stood_down: false,
    }
}

pub(crate) fn run_of(job: u32) -> RunId {
    RunId { cluster: "c1".to_owned(), job, array: None, het: None, restart: 0, start: T0 }
}

pub(crate) fn span(job: u32) -> JobSpan {
    JobSpan {
        run: run_of(job),
        node: node(),
        boot: boot(),
        uid: 1000,
        user: "ada".to_owned(),
        partition: "gpu".to_owned(),
        nodes: vec![node(), NodeName::from("gpu02")],
        gpus: vec![0, 1],
        ask: JobAsk::Default,
        end: None,
        exit: None,
        state: String::new(),
    }
}

/// A drain decision for a case, let through.
pub(crate) fn decision(case: &Case, at: Stamp) -> Decision {
    let subject = Subject::Node(case.node.clone());
    Decision {
        id: DecisionId::of(&subject.to_string(), "drain", case.id.as_str(), at),
        at,
        subject,
        intent: triage_core::Intent::Drain,
        rule: "hardware".to_owned(),
        mode: Mode::Act,
        gates: vec![Gate { name: "mode".to_owned(), passed: true, why: "act".to_owned() }],
        case: Some(case.id.clone()),
        verdict: None,
        synthetic: case.synthetic,
        why: "a confirmed hardware fault".to_owned(),
    }
}

pub(crate) fn drain(case: &Case, decision: &Decision) -> NewIntent {
    NewIntent {
        action: Action::Drain {
            node: case.node.clone(),
            reason: reason::for_case(case),
            case: case.id.clone(),
            decision: decision.id.clone(),
        },
        expires: decision.at.plus_secs(3600),
        synthetic: false,
    }
}

pub(crate) fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start: 12_345, boot: boot() }
}

/// One row of one column, by plain SQL as a sysadmin would.
pub(crate) fn ask<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> T {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// `ledger.db` becomes `ledger.db<suffix>`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Opens the span of a job.
pub(crate) fn record_span(ledger: &mut Ledger, job: u32) {
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &[span(job)], ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
}
