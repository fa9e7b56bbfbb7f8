//! A sysadmin with plain `sqlite3`.
use std::fmt::Write;
use std::process::{Command, Stdio};

use triage_core::checks::{CheckState, CheckWord};
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

/// Views and what each must show of the fault recorded below.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "v_events",
        &["2026-03-01T10:00:01.000000Z", "gpu01", "xid.79", "gpu:0000:61:00.0", "fallen off the bus"],
    ),
    ("v_cases", &["open", "xid.79", "2026-03-01T10:00:01.000000Z", "4711"]),
    ("v_decisions", &["node gpu01", "drain", "monitor mode", "stood_down"]),
    (
        "v_jobs",
        &["4700_3", "4711", "ada", "2026-03-01T10:00:00.000000Z", "signal 9", "2026-03-01T10:01:40.000001Z"],
    ),
    ("v_verdicts", &["hardware", "first line\nsecond line"]),
    ("v_actions", &["drain", "pending", "drain:gpu01:"]),
    ("v_tasks", &["end", "exit 1"]),
    ("v_checks", &["mounts", "bad", "2026-03-01T10:00:00.000000Z", "/scratch is not mounted"]),
    ("v_sources", &["nvml", "blind", "no answer"]),
    ("v_counters", &["2026-03-01", "lines_without_event", "kmsg"]),
    ("v_audit", &["case.acquitted", "ada", "it was the riser"]),
    (
        "v_trail",
        &["rule hardware", "decision.drain", "held by stood_down", "stood_down", "4700_3", "case.opened"],
    ),
    ("v_holds", &["node", "gpu01", "2026-03-01T11:00:00.000000Z", "a test is running"]),
    ("v_sightings", &["2026-03-01T10:00:00.000000Z", "DRAIN", "a bad power supply"]),
];

fn filled(place: &Place) {
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let lines = [line(1, "NVRM: Xid 79, GPU has fallen off the bus."), line(2, "noise")];
    let event = event(&lines[0], "xid.79");
    let run = RunId { array: Some(ArrayId { job: 4700, task: 3 }), ..run_of(4711) };
    let end = T0.plus_secs(100).plus_micros(1);
    let span = JobSpan { run: run.clone(), end: Some(end), exit: Some(ExitStatus::Signal(9)), ..span(0) };
    let case = Case { run: Some(run.clone()), ..case(&event) };
    let held = |name: &str, passed, why: &str| Gate { name: name.to_owned(), passed, why: why.to_owned() };
    let gates =
        vec![held("mode", true, "act"), held("stood_down", false, "monitor mode"), held("x", false, "y")];
    let decision = Decision { gates, ..decision(&case, T0) };
    let intents = [drain(&case, &decision)];
    let verdict = Verdict {
        id: VerdictId::of("run", T0),
        run,
        at: T0,
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![],
        victims: vec![],
        cases: vec![],
        evidence: vec![],
        synthetic: false,
        story: vec!["first line".to_owned(), "second line".to_owned()],
        grounds: Grounds::default(),
    };
    let task = TaskEdge {
        job: 4711,
        array: None,
        restart: 0,
        step: "batch".to_owned(),
        rank: 0,
        local: 0,
        pid: 1,
        what: TaskWhat::End(ExitStatus::Exit(1)),
        ask: JobAsk::Default,
        gpus: vec![],
    };
    let blind = SourceReport {
        source: SourceKind::Nvml,
        stream: String::new(),
        at: T0,
        cost_us: 1,
        seen: Seen::Blind { reason: "no answer".to_owned(), hung: None },
    };
    let note = AuditNote {
        actor: "ada".to_owned(),
        text: "it was the riser".to_owned(),
        ..AuditNote::info("case.acquitted", case.id.as_str())
    };
    let check = CheckState {
        name: "mounts".to_owned(),
        state: CheckWord::Bad,
        since: T0,
        at: T0,
        boot: boot.clone(),
        text: "/scratch is not mounted".to_owned(),
        value: None,
        cost_us: 12,
        items: std::collections::BTreeMap::new(),
    };
    let batch = Batch {
        observations: &lines,
        events: std::slice::from_ref(&event),
        cases: &[case],
        verdicts: &[verdict],
        decisions: &[decision],
        intents: &intents,
        spans: &[span],
        tasks: &[(T0, task)],
        sources: &[blind],
        checks: &[check],
        audit: &[note],
        node_record: Some(&NodeRecord {
            node: node.clone(),
            state: vec!["DRAIN".to_owned()],
            reason: "a bad power supply".to_owned(),
            ..NodeRecord::default()
        }),
        ..Batch::new(T0, &node, &boot, "test")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    let person = TrailFacts::default();
    let word = Word { now: T0, program: "test", actor: "ada", reason: "a test is running", person: &person };
    ledger.hold(&HoldOn::Node(node), Some(T0.plus_secs(3_600)), &word).unwrap();
}

#[test]
fn every_view_shows_what_happened_in_words_and_utc() {
    let place = Place::new();
    filled(&place);
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    for (view, shown) in SHOWN {
        let mut statement = conn.prepare(&format!("SELECT * FROM {view} ORDER BY 1")).unwrap();
        let columns = statement.column_count();
        let mut text = String::new();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let value: rusqlite::types::Value = row.get(column).unwrap();
                match value {
                    rusqlite::types::Value::Text(word) => text.push_str(&word),
                    other => write!(text, "{other:?}").unwrap(),
                }
                text.push('|');
            }
        }
        for part in *shown {
            assert!(text.contains(part), "{view}: {part} not in {text}");
        }
    }
    let views: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'view'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(usize::try_from(views).unwrap(), SHOWN.len(), "every view is in the table above");
}

#[test]
fn the_sqlite3_command_reads_the_views() {
    let version = Command::new("sqlite3").arg("--version").stderr(Stdio::null()).output();
    let Ok(version) = version else {
        eprintln!("skipped: there is no sqlite3 command here");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let minor: u32 = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0);
    if minor < 38 {
        eprintln!("skipped: sqlite3 {} knows no STRICT tables or no ->>", version.trim());
        return;
    }
    let place = Place::new();
    filled(&place);
    for (view, shown) in SHOWN {
        let sql = format!("SELECT * FROM {view}");
        let out = Command::new("sqlite3").arg("-readonly").arg(place.path()).arg(&sql).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{view}: {}", String::from_utf8_lossy(&out.stderr));
        for part in *shown {
            assert!(text.contains(part), "{view}: {part} not in {text}");
        }
    }
}
