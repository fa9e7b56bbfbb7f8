//! `report`: what was decided, graded by what then happened.
use serde_json::Value;
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// The moment of the decision.
fn at() -> Stamp {
    T0.plus_secs(HOUR)
}

/// Long enough after everything.
fn later() -> String {
    T0.plus_secs(6 * DAY).to_string()
}

fn held_by_mode() -> Vec<Gate> {
    vec![gate("mode", false, "monitor mode: written down, not carried out")]
}

fn open_case(cursor: u64) -> (Observation, Event, Case) {
    let line = line(cursor, at(), "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.");
    let event = event(&line, "xid.79");
    let case = case(&event, None);
    (line, event, case)
}

/// A drain that was wanted in monitor mode, and what became of its case.
fn wanted(ledger: &mut Ledger, change: impl Fn(&mut Case), gates: Vec<Gate>) {
    let (line, event, mut case) = open_case(1);
    let decision = node_decision(&case, triage_core::Intent::Drain, at(), gates);
    change(&mut case);
    Rows {
        observations: vec![line],
        events: vec![event],
        cases: vec![case],
        decisions: vec![decision],
        ..Rows::default()
    }
    .write(ledger, at());
}

/// A run on this node alone, so many hours after the decision and so many hours long.
fn ran(job: u32, after: i64, hours: i64, gpus: &[u32], exit: i32) -> JobSpan {
    let mut span = span(run_of(job, 0, at().plus_secs(after * HOUR)));
    span.nodes = vec![node()];
    span.gpus = gpus.to_vec();
    span.end = Some(span.run.start.plus_secs(hours * HOUR));
    span.exit = Some(ExitStatus::Exit(exit));
    span
}

fn spans(ledger: &mut Ledger, spans: Vec<JobSpan>) {
    Rows { spans, ..Rows::default() }.write(ledger, at().plus_secs(DAY));
}

fn sighted(ledger: &mut Ledger, after: i64, state: &str, reason: &str) {
    let (node, boot) = (node(), boot());
    let record = NodeRecord {
        node: node.clone(),
        state: vec![state.to_owned()],
        reason: reason.to_owned(),
        ..NodeRecord::default()
    };
    let batch = Batch {
        node_record: Some(&record),
        ..Batch::new(at().plus_secs(after), &node, &boot, "triage-healthcheck")
    };
    assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
}

/// The report over one ledger, filled so.
fn report(fill: impl FnOnce(&mut Ledger)) -> Value {
    Node::with(fill).run_at(&later(), &["--json", "report"]).expect(0).json()
}

#[track_caller]
fn graded(report: &Value, grade: &str, because: &str) {
    let decisions = report["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 1, "{decisions:#?}");
    assert_eq!(decisions[0]["grade"], grade, "{}", decisions[0]);
    let told = decisions[0]["because"].as_str().unwrap();
    assert!(told.contains(because), "no \"{because}\" in: {told}");
}

#[test]
fn a_drain_is_right_where_somebody_else_took_the_node_out_within_a_day() {
    let seen = |after, state: &'static str, reason: &'static str| {
        report(move |ledger| {
            wanted(ledger, |_| {}, held_by_mode());
            sighted(ledger, 0, "IDLE", "");
            sighted(ledger, after, state, reason);
        })
    };
    graded(
        &seen(2 * HOUR, "DRAIN", "bad gpu, ada"),
        "right",
        "took the node out within 2.0 h: \"bad gpu, ada\"",
    );
    graded(&seen(HOUR, "DOWN", "Not responding"), "right", "Slurm had the node down");
    graded(&seen(25 * HOUR, "DRAIN", "next week's work"), "open", "nothing has happened");
    graded(&seen(HOUR, "DRAIN", "slurm-triage: xid.79 on gpu:3 [case 0a1b2c3d]"), "open", "nothing");
}

#[test]
fn a_persons_word_and_a_proof_of_repair_are_answers() {
    let ended = |state, why: &'static str| {
        report(move |ledger| {
            let close = |case: &mut Case| {
                case.state = state;
                case.closed_at = Some(at().plus_secs(HOUR));
                case.why = why.to_owned();
            };
            wanted(ledger, close, held_by_mode());
        })
    };
    graded(&ended(CaseState::Acquitted, "acquitted by ada: we pulled it"), "wrong", "we pulled it");
    graded(&ended(CaseState::Resolved, "acknowledged by ada: new riser"), "right", "new riser");
}

#[test]
fn a_state_that_turned_good_by_itself_proves_no_drain() {
    let resolved = |clears: ClearedBy, why: &str| {
        let why = why.to_owned();
        report(move |ledger| {
            wanted(
                ledger,
                |case| {
                    case.state = CaseState::Resolved;
                    case.closed_at = Some(at().plus_secs(HOUR));
                    case.clears = clears;
                    case.why.clone_from(&why);
                },
                held_by_mode(),
            );
        })
    };
    graded(&resolved(ClearedBy::CheckPasses, "gpu_count is good again"), "open", "nothing has happened");
    graded(
        &resolved(ClearedBy::CheckPasses, "acknowledged by ada: board changed"),
        "right",
        "acknowledged by ada",
    );
    graded(&resolved(ClearedBy::Reboot, "booted again"), "right", "booted again");
}

#[test]
fn a_part_that_worked_on_for_days_was_drained_wrongly_and_the_work_is_what_that_would_have_cost() {
    let good = || vec![ran(1, 1, 2, &[3], 0), ran(2, 4, 2, &[3], 0), ran(3, 30, 5, &[3], 0)];
    let on_gpu_3 = |ledger: &mut Ledger| {
        wanted(ledger, |case| case.resource = Resource::GpuIndex(3), held_by_mode());
        spans(ledger, good());
    };
    let told = report(on_gpu_3);
    graded(&told, "wrong", "it worked on for 3 days without a fault: 3 runs, 9.0 h");
    // Within a day of the decision: two runs of two hours on one GPU each.
    assert_eq!(told["decisions"][0]["wasted"], serde_json::json!({"node": 4.0, "gpu": 4.0}));
    let early =
        Node::with(on_gpu_3).run_at(&at().plus_secs(2 * DAY).to_string(), &["--json", "report"]).json();
    graded(&early, "open", "nothing has happened");
    let elsewhere = report(|ledger| {
        wanted(ledger, |case| case.resource = Resource::GpuIndex(5), held_by_mode());
        spans(ledger, good());
    });
    graded(&elsewhere, "open", "nothing has happened");
}

#[test]
fn a_later_job_that_died_of_the_node_proves_the_drain_and_its_hours_would_have_been_saved() {
    let told = report(|ledger| {
        wanted(ledger, |_| {}, held_by_mode());
        let died = ran(7, 2, 3, &[0, 1, 2, 3], 1);
        let verdict = Verdict { run: died.run.clone(), cases: vec![], ..tale().verdict };
        Rows { spans: vec![died], verdicts: vec![verdict], ..Rows::default() }
            .write(ledger, at().plus_secs(6 * HOUR));
    });
    graded(&told, "right", "job 7 was given the node and failed on it");
    assert_eq!(told["decisions"][0]["saved"], serde_json::json!({"node": 3.0, "gpu": 12.0}));
    assert_eq!(told["rules"][0]["saved"]["gpu"], 12.0);
}

#[test]
fn a_job_that_failed_of_itself_proves_nothing_against_the_node() {
    let told = report(|ledger| {
        wanted(ledger, |_| {}, held_by_mode());
        let died = ran(7, 2, 3, &[0], 1);
        let verdict = Verdict {
            run: died.run.clone(),
            class: CauseClass::Application,
            culprits: vec![],
            ..tale().verdict
        };
        Rows { spans: vec![died], verdicts: vec![verdict], ..Rows::default() }
            .write(ledger, at().plus_secs(6 * HOUR));
    });
    graded(&told, "open", "nothing has happened");
}

#[test]
fn the_same_fault_again_proves_the_first_and_its_own_echo_does_not() {
    let again = |after: i64| {
        report(move |ledger| wanted(ledger, |case| case.last_seen = at().plus_secs(after), held_by_mode()))
    };
    graded(&again(2 * HOUR), "right", "the same fault was seen again");
    graded(&again(300), "open", "nothing has happened");
}

#[test]
fn a_drain_that_a_person_undid_was_wrong_and_the_time_out_was_wasted() {
    let told = report(|ledger| {
        let (line, event, case) = open_case(1);
        let decision =
            node_decision(&case, triage_core::Intent::Drain, at(), vec![gate("mode", true, "act")]);
        let intent = drain(&case, &decision);
        Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case.clone()],
            decisions: vec![decision],
            intents: vec![intent.clone()],
            ..Rows::default()
        }
        .write(ledger, at());
        settle(ledger, &intent, at(), true, false, "drained");
        sighted(ledger, 2 * HOUR, "IDLE", "");
        let why = "n1 is in service again without our doing: we stand down".to_owned();
        let undone = Case { stood_down: true, why, ..case };
        Rows { cases: vec![undone], ..Rows::default() }.write(ledger, at().plus_secs(2 * HOUR));
    });
    graded(&told, "wrong", "a person put the node back");
    assert_eq!(told["decisions"][0]["wasted"]["node"], 2.0);
    assert_eq!(told["rules"][0]["done"], 1);
}

#[test]
fn what_another_gate_held_is_not_graded_and_a_drill_not_counted() {
    let told = report(|ledger| {
        let gates = vec![gate("foreign_reason", false, "the node is out already"), held_by_mode().remove(0)];
        wanted(ledger, |_| {}, gates);
        a_drill(ledger);
    });
    graded(&told, "withheld", "foreign_reason");
    assert_eq!((&told["rules"][0]["wanted"], &told["rules"][0]["withheld"]), (&0.into(), &1.into()));
    assert_eq!(told["seen"]["events"], serde_json::json!({"xid.79": 1}));
}

/// A requeue of job 7 that was wanted on this node.
fn requeue(ledger: &mut Ledger) {
    let died = ran(7, -2, 2, &[0], 1);
    let verdict = Verdict { run: died.run.clone(), cases: vec![], at: at(), ..tale().verdict };
    let decision = run_decision(&verdict, triage_core::Intent::Requeue, at(), held_by_mode());
    Rows { spans: vec![died], verdicts: vec![verdict], decisions: vec![decision], ..Rows::default() }
        .write(ledger, at());
}

/// The ledger of another node, on which job 7 ran next.
fn elsewhere(exit: i32) -> Node {
    Node::with(move |ledger| {
        let (node, boot) = (NodeName::from("n9"), BootId::from("99999999-0000-0000-0000-000000000000"));
        let next = ran(7, 1, 1, &[0], exit);
        let run = RunId { restart: 1, ..next.run.clone() };
        let next = JobSpan { run, node: node.clone(), nodes: vec![node.clone()], ..next };
        let batch = Batch { spans: &[next], ..Batch::new(at().plus_secs(2 * HOUR), &node, &boot, "test") };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    })
}

#[test]
fn a_requeue_is_graded_by_the_next_run_wherever_it_was() {
    for (exit, grade, because) in
        [(0, "right", "went well elsewhere"), (1, "wrong", "failed elsewhere as well")]
    {
        let (here, there) = (Node::with(requeue), elsewhere(exit));
        let (a, b) = (here.ledger().display().to_string(), there.ledger().display().to_string());
        let told = here.run_at(&later(), &["--json", "report", &a, &b]).expect(0).json();
        graded(&told, grade, because);
        let nodes = told["ledgers"].as_array().unwrap();
        assert!(nodes.iter().all(|ledger| ledger["node"].is_string()), "{nodes:?}");
    }
    // The next run may well be elsewhere: it is not said that there was none.
    graded(
        &report(requeue),
        "open",
        "no next run is in these ledgers, and its node's ledger is not among these",
    );
    let back = report(|ledger| {
        requeue(ledger);
        let next = ran(7, 1, 1, &[0], 1);
        spans(ledger, vec![JobSpan { run: RunId { restart: 1, ..next.run.clone() }, ..next }]);
    });
    graded(&back, "right", "was given the node again and failed");
}

#[test]
fn a_job_on_two_nodes_is_one_run_and_its_restart_another() {
    let first = ran(7, -2, 2, &[0], 1);
    let here = Node::with({
        let first = first.clone();
        |ledger| spans(ledger, vec![first])
    });
    let there = Node::with(move |ledger| {
        let (node, boot) = (NodeName::from("n9"), BootId::from("99999999-0000-0000-0000-000000000000"));
        let start = first.run.start.plus_micros(80_000);
        let same = JobSpan { run: RunId { start, ..first.run.clone() }, node: node.clone(), ..first.clone() };
        let next = ran(7, 1, 1, &[0], 0);
        let next = JobSpan { run: RunId { restart: 1, ..next.run.clone() }, node: node.clone(), ..next };
        let batch = Batch { spans: &[same, next], ..Batch::new(at().plus_secs(DAY), &node, &boot, "test") };
        assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
    });
    let (a, b) = (here.ledger().display().to_string(), there.ledger().display().to_string());
    let seen = node_seen(&here.run_at(&later(), &["--json", "report", &a, &b]).expect(0).json());
    assert_eq!(seen, (2, 2, 1), "nodes, runs, failed");
}

fn node_seen(told: &Value) -> (u64, u64, u64) {
    let count = |key: &str| told["seen"][key].as_u64().unwrap();
    (count("nodes"), count("runs"), count("failed"))
}

#[test]
fn a_refusal_in_monitor_mode_is_graded_by_how_the_job_fared() {
    let fared = |exit| {
        report(move |ledger| {
            let (line, event, case) = open_case(1);
            let span = ran(8, 1, 1, &[0], exit);
            let subject = Subject::Run(span.run.clone());
            let decision = Decision {
                intent: triage_core::Intent::RefuseJob,
                id: DecisionId::of("8", "refuse", "", at()),
                subject,
                ..node_decision(&case, triage_core::Intent::Drain, span.run.start, held_by_mode())
            };
            let verdict = Verdict { run: span.run.clone(), cases: vec![case.id.clone()], ..tale().verdict };
            let verdicts = if exit == 0 { vec![] } else { vec![verdict] };
            Rows {
                observations: vec![line],
                events: vec![event],
                cases: vec![case],
                spans: vec![span],
                decisions: vec![decision],
                verdicts,
                ..Rows::default()
            }
            .write(ledger, at().plus_secs(3 * HOUR));
        })
    };
    graded(&fared(0), "wrong", "job 8 ran here all the same and went well");
    graded(&fared(1), "right", "job 8 ran here all the same and died of it");
}

#[test]
fn a_rule_is_ready_when_its_precision_is_proven_and_not_before() {
    let many = |right: u64, wrong: u64| {
        Node::with(move |ledger| {
            for n in 0..right + wrong {
                let (line, event, mut case) = open_case(n + 1);
                case.resource = Resource::GpuIndex(u32::try_from(n).unwrap());
                case.id = CaseId::new(format!("{n:08x}"));
                case.state = if n < right { CaseState::Resolved } else { CaseState::Acquitted };
                case.closed_at = Some(at());
                let decision = node_decision(&case, triage_core::Intent::Drain, at(), held_by_mode());
                Rows {
                    observations: vec![line],
                    events: vec![event],
                    cases: vec![case],
                    decisions: vec![decision],
                    ..Rows::default()
                }
                .write(ledger, at());
            }
        })
    };
    let rule = |node: &Node, args: &[&str]| {
        node.run_at(&later(), &[&["--json", "report"], args].concat()).expect(0).json()["rules"][0].clone()
    };
    let fifteen = rule(&many(15, 0), &[]);
    assert_eq!((&fifteen["right"], &fifteen["ready"]), (&15.into(), &false.into()));
    assert!(fifteen["ready_because"].as_str().unwrap().contains("1 more that are right"), "{fifteen}");
    assert_eq!(rule(&many(16, 0), &[])["ready"], true);
    assert_eq!(rule(&many(16, 4), &[])["ready"], false);
    assert_eq!(rule(&many(16, 4), &["--bar", "50"])["ready"], true);
    many(16, 0).run_at(&later(), &["report"]).expect(0).says("ready to act: right at least 81 %");
}

#[test]
fn a_ledger_that_cannot_be_read_is_told_and_spoils_no_other() {
    let node = Node::with(|ledger| wanted(ledger, |_| {}, held_by_mode()));
    node.write("collected/a/ledger.db", "no ledger at all");
    node.write("collected/a/notes.txt", "not looked at");
    std::fs::create_dir_all(node.path("collected/b")).unwrap();
    std::fs::copy(node.ledger(), node.path("collected/b/ledger.db")).unwrap();
    for suffix in ["-wal", "-shm"] {
        let log = node.path(format!("state/ledger.db{suffix}"));
        std::fs::copy(log, node.path(format!("collected/b/ledger.db{suffix}"))).unwrap();
    }
    let (folder, own) = (node.path("collected").display().to_string(), node.ledger().display().to_string());
    let answer = node.run_at(&later(), &["--json", "report", &folder, &own]).expect(1).says("left out: ");
    let told = answer.json();
    assert_eq!(told["ledgers"].as_array().unwrap().len(), 3);
    graded(&told, "open", "nothing has happened");
    node.run_at(&later(), &["report", &node.path("triage").display().to_string()]).expect(1);
    node.run_at(&later(), &["report", &node.path("run").display().to_string()]).says("left out");
}

#[test]
fn the_html_is_one_file_in_which_no_text_is_markup() {
    let hostile = "</td><script>alert(1)</script>\"'&\u{202e}\u{1b}[2J";
    let node = Node::with(|ledger| {
        let spoil = |case: &mut Case| {
            case.state = CaseState::Acquitted;
            case.closed_at = Some(at());
            case.why = hostile.to_owned();
            case.fault = hostile.to_owned();
        };
        wanted(ledger, spoil, held_by_mode());
    });
    let html = node.run_at(&later(), &["report", "--html"]).expect(0).out;
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    assert!(!html.contains("<script") && !html.contains("://") && !html.contains(['\u{1b}', '\u{202e}']));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_eq!(html.matches("<table>").count(), html.matches("</table>").count());
    assert_eq!(html, node.run_at(&later(), &["report", "--html"]).out, "the same twice");
    let text = node.run_at(&later(), &["report"]).expect(0).out;
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}

#[test]
fn a_node_where_nothing_was_decided_has_a_report_too() {
    let node = Node::with(all_is_well);
    node.run(&["report"])
        .expect(0)
        .says("1 of 1 ledgers read, 1 run ended, 0 of them failed")
        .says("no rule wanted");
    Node::new().run(&["report"]).expect(3).says("there is no ledger yet");
    run(&["report", "--since", "yesterday"]).expect(2);
    run(&["report", "--html", "--json"]).expect(2);
}

#[test]
fn a_rule_that_nothing_was_seen_of_yet_is_not_said_to_be_right_0_times() {
    let open = Node::with(|ledger| wanted(ledger, |_| (), held_by_mode()));
    let soon = at().plus_secs(60).to_string();
    open.run_at(&soon, &["report"])
        .says("not ready to act: nothing to judge it by yet: 16 that are right")
        .does_not_say("0 of 0");
    let acts = Node::with(|ledger| wanted(ledger, |_| (), vec![gate("mode", true, "")]));
    acts.run_at(&soon, &["report"])
        .says("acts already, not proven: nothing to judge")
        .does_not_say("ready to act");
}

#[test]
fn what_somebody_names_and_is_no_ledger_is_not_promised_to_be_mended() {
    let node = Node::with(all_is_well);
    node.run(&["report", "/nonexistent"])
        .expect(1)
        .says("/nonexistent: there is no such file")
        .does_not_say("prolog");
    node.write("text.db", "no ledger at all\n".repeat(100));
    let path = node.path("text.db").display().to_string();
    node.run(&["report", &path]).expect(1).says("no ledger, or a damaged one").does_not_say("a hook");
    node.run(&["parts", &path]).expect(1).does_not_say("a hook");
}

#[test]
fn one_of_something_is_not_several() {
    let node = Node::with(all_is_well);
    node.run_at(&later(), &["report"]).says("1 run ended").does_not_say("1 runs");
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.run(&["policy", "replay"]).says(": 1 case and 1 verdict,");
}
