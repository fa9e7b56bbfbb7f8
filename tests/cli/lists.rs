//! `events`, `cases`, `jobs`.
use triage_core::{ArrayId, CaseState, ExitStatus, RunId};

use crate::support::*;

fn busy() -> Node {
    Node::with(|ledger| {
        a_gpu_dies_and_it_is_seen_to(ledger);
        a_drill(ledger);
        let array =
            RunId { array: Some(ArrayId { job: 4700, task: 3 }), ..run_of(4703, 1, T0.plus_secs(60)) };
        let mut short = span(array);
        short.nodes.truncate(1);
        short.gpus = vec![2, 0, 1, 5];
        short.user.clear();
        short.end = Some(T0.plus_secs(120));
        short.exit = Some(ExitStatus::Signal(11));
        let running = span(run_of(4800, 0, T0.plus_secs(3_000)));
        Rows { spans: vec![short, running], ..Rows::default() }.write(ledger, T0.plus_secs(3_000));
    })
}

#[test]
fn events_as_a_table_show_what_is_a_drill() {
    insta::assert_snapshot!(busy().run(&["events"]).expect(0).out);
}

#[test]
fn events_as_json_are_one_versioned_object() {
    insta::assert_json_snapshot!(busy().run(&["events", "--json", "--limit", "1"]).expect(0).json());
}

#[test]
fn cases_as_a_table_show_the_open_ones() {
    insta::assert_snapshot!(busy().run(&["cases"]).expect(0).out);
}

#[test]
fn closed_cases_are_shown_when_all_are_asked_for() {
    let node = busy();
    node.fill(|ledger| {
        let mut closed = tale().case;
        closed.state = CaseState::Resolved;
        closed.closed_at = Some(T0.plus_secs(3_000));
        Rows { cases: vec![closed], ..Rows::default() }.write(ledger, T0.plus_secs(3_000));
    });
    node.run(&["cases"]).expect(0).does_not_say("resolved").says("0000:41:00.0");
    node.run(&["cases", "--all"]).expect(0).says("resolved");
}

#[test]
fn jobs_as_a_table_tell_how_each_ended() {
    insta::assert_snapshot!(busy().run(&["jobs"]).expect(0).out);
}

#[test]
fn jobs_as_json_carry_the_name_that_scontrol_takes() {
    insta::assert_json_snapshot!(busy().run(&["--json", "jobs", "--job", "4700_3"]).expect(0).json());
}

#[test]
fn lists_are_narrowed_by_time_job_and_code() {
    let node = busy();
    let count = |args: &[&str], list: &str| {
        node.run(&[&["--json"], args].concat()).expect(0).json()[list].as_array().unwrap().len()
    };
    assert_eq!(count(&["events", "--since", "25m"], "events"), 1);
    assert_eq!(count(&["events", "--since", "2026-03-01T10:00:00Z"], "events"), 2);
    assert_eq!(count(&["events", "--job", "4711"], "events"), 1);
    assert_eq!(count(&["events", "--code", "xid"], "events"), 2);
    assert_eq!(count(&["events", "--code", "xid.7"], "events"), 0);
    assert_eq!(count(&["cases", "--job", "4711"], "cases"), 1);
    assert_eq!(count(&["jobs", "--since", "10m"], "jobs"), 1);
    assert_eq!(count(&["jobs", "--job", "4700"], "jobs"), 1);
    assert_eq!(count(&["jobs", "--code", "xid.79"], "jobs"), 1);
    assert_eq!(count(&["jobs", "--code", "sxid"], "jobs"), 0);
}

#[test]
fn a_list_that_was_cut_says_so_and_keeps_the_latest() {
    let node = busy();
    let cut =
        node.run(&["events", "--limit", "1"]).expect(0).says("there are older ones").says("0000:41:00.0");
    assert!(!cut.out.contains("0000:61:00.0"));
    node.run(&["events", "--all"]).expect(0).does_not_say("older ones");
    assert_eq!(node.run(&["--json", "jobs", "--limit", "2"]).expect(0).json()["more"], true);
    assert_eq!(node.run(&["--json", "jobs", "--limit", "3"]).expect(0).json()["more"], false);
}

#[test]
fn an_empty_list_is_an_answer() {
    let node = Node::with(all_is_well);
    node.run(&["events"]).expect(0).says("no such event");
    node.run(&["cases"]).expect(0).says("no such open case");
    assert_eq!(node.run(&["--json", "cases"]).expect(0).json()["cases"], serde_json::json!([]));
}

#[test]
fn a_kind_of_row_that_nobody_writes_is_a_slip_and_no_empty_trail() {
    let node = Node::with(all_is_well);
    node.run(&["trail", "--what", "foo"])
        .expect(2)
        .says("no kind of row: use hold.placed, or a family: action");
    node.run(&["trail", "--what", "hold"]).expect(0);
}

#[test]
fn what_came_of_an_action_is_said_once_on_the_trail() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let out = node.run(&["trail", "--what", "action"]).expect(0).says("drained").out;
    assert!(!out.contains("done: "), "{out}");
}
