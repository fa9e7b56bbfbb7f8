//! `parts`: the worst first, each by its serial wherever it sits.
use serde_json::Value;
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

/// A node of its own with one faulty GPU in it: its serial, as a sweep told, and how many jobs it took along.
fn faulty(name: &'static str, serial: Option<&'static str>, jobs: u32, state: CaseState) -> Node {
    Node::with(move |ledger| {
        let (node, boot) = (NodeName::from(name), BootId::from(format!("boot-of-{name}").as_str()));
        let gpu = GpuReading {
            index: 0,
            uuid: Some(format!("GPU-of-{}", serial.unwrap_or(name))),
            serial: serial.map(str::to_owned),
            pci: "0000:61:00.0".parse().ok(),
            ..GpuReading::default()
        };
        let reading = Reading {
            at: T0,
            boot: boot.clone(),
            synthetic: false,
            reading: NvmlReading { state: NvmlState::Ok, gpus: vec![gpu], ..NvmlReading::default() },
        };
        let swept = Batch { reading: Some(&reading), ..Batch::new(T0, &node, &boot, "test") };
        assert!(matches!(ledger.record(&swept).unwrap(), Recorded::Committed { .. }));
        for n in 0..jobs.max(1) {
            let at = T0.plus_secs(60 * i64::from(n + 1));
            let line =
                Observation { node: node.clone(), boot: boot.clone(), ..line(u64::from(n), at, "Xid 79") };
            let event = event(&line, "xid.79");
            let run = run_of(100 + n, 0, at.plus_secs(-30));
            let mut span = JobSpan { node: node.clone(), boot: boot.clone(), ..span(run.clone()) };
            (span.end, span.exit) = (Some(at.plus_secs(1)), Some(ExitStatus::Exit(1)));
            let last = n + 1 == jobs.max(1);
            let state = if last { state } else { CaseState::Resolved };
            let closed_at = (!state.is_open()).then_some(at.plus_secs(20));
            let met = (jobs > 0).then_some(run);
            let case = Case { node: node.clone(), state, closed_at, ..case(&event, met) };
            let batch = Batch {
                observations: std::slice::from_ref(&line),
                events: std::slice::from_ref(&event),
                cases: &[case],
                spans: &[span],
                ..Batch::new(at, &node, &boot, "test")
            };
            assert!(matches!(ledger.record(&batch).unwrap(), Recorded::Committed { .. }));
        }
    })
}

fn parts(nodes: &[&Node], more: &[&str]) -> Vec<Value> {
    let paths: Vec<String> = nodes.iter().map(|node| node.ledger().display().to_string()).collect();
    let mut args = vec!["--json", "parts"];
    args.extend(more);
    args.extend(paths.iter().map(String::as_str));
    nodes[0].run(&args).expect(0).json()["parts"].as_array().unwrap().clone()
}

fn told(parts: &[Value]) -> Vec<(String, u64, u64)> {
    let text =
        |part: &Value| format!("{} {}", part["kind"].as_str().unwrap(), part["name"].as_str().unwrap());
    parts
        .iter()
        .map(|part| (text(part), part["jobs_lost"].as_u64().unwrap(), part["faults"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_board_that_moved_is_one_part_and_the_worst_of_all() {
    let here = faulty("n1", Some("S1"), 2, CaseState::Resolved);
    let there = faulty("n2", Some("S1"), 1, CaseState::Open);
    let other = faulty("n3", Some("S3"), 0, CaseState::Open);
    let parts = parts(&[&here, &there, &other], &[]);
    // Jobs 100 and 101 on n1, job 100 again on n2: the same job on two nodes is one.
    let expected =
        [("gpu S1", 2, 3), ("node n1", 2, 2), ("node n2", 1, 1), ("gpu S3", 0, 1), ("node n3", 0, 1)];
    assert_eq!(told(&parts), expected.map(|(name, lost, faults)| (name.to_owned(), lost, faults)));
    assert_eq!(parts[0]["places"].as_array().unwrap().len(), 2);
    assert_eq!((&parts[0]["open"], &parts[0]["repaired"]), (&1.into(), &2.into()));
    let paths = [&here, &there].map(|node| node.ledger().display().to_string());
    here.run(&["parts", &paths[0], &paths[1]]).expect(0).says("failed in more than one place").says("S1");
}

#[test]
fn what_a_person_acquitted_counts_for_nothing() {
    let node = faulty("n1", Some("S1"), 0, CaseState::Acquitted);
    assert!(parts(&[&node], &[]).is_empty());
    let path = node.ledger().display().to_string();
    node.run(&["parts", &path]).expect(0).says("nothing has failed");
}

#[test]
fn a_board_without_a_serial_is_known_by_its_uuid_and_one_without_either_by_its_place() {
    let node = faulty("n1", None, 0, CaseState::Open);
    assert_eq!(parts(&[&node], &["--kind", "gpu"])[0]["name"], "GPU-of-n1");
    let zeros = faulty("n1", Some("0000"), 0, CaseState::Open);
    assert_eq!(parts(&[&zeros], &["--kind", "gpu"])[0]["name"], "GPU-of-0000");
    let unread = Node::with(a_gpu_dies_and_it_is_written_down);
    assert_eq!(parts(&[&unread], &["--kind", "gpu"])[0]["name"], "n1 gpu:0000:61:00.0");
}

#[test]
fn drains_that_were_done_and_those_that_were_only_wanted_are_told_apart() {
    for (node, drains, wanted) in [
        (Node::with(a_gpu_dies_and_it_is_seen_to), 1, 0),
        (Node::with(a_gpu_dies_and_it_is_written_down), 0, 1),
    ] {
        let part = &parts(&[&node], &["--kind", "node"])[0];
        assert_eq!((&part["drains"], &part["wanted"]), (&drains.into(), &wanted.into()));
        assert_eq!(part["jobs_lost"], 1);
    }
}

#[test]
fn a_serial_that_is_hostile_is_shown_and_not_obeyed() {
    let node = faulty("n1", Some("\u{1b}[2J</td>\u{202e}"), 0, CaseState::Open);
    let path = node.ledger().display().to_string();
    for args in [&["parts"][..], &["--json", "parts"]] {
        let out = node.run(&[args, &[path.as_str()]].concat()).expect(0).out;
        assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out}");
    }
}

#[test]
fn only_so_many_are_told_and_that_there_are_more() {
    let node = faulty("n1", Some("S1"), 0, CaseState::Open);
    let path = node.ledger().display().to_string();
    node.run(&["parts", "--limit", "1", &path]).expect(0).says("there are others");
    node.run(&["parts", "--all", &path]).expect(0).does_not_say("there are others");
    run(&["parts", "--kind", "fridge"]).expect(2);
}

#[test]
fn codes_that_find_no_room_are_counted() {
    let node = Node::with(|ledger| {
        for (n, code) in (0_u64..).zip(["xid.48", "xid.62", "xid.79", "xid.94"]) {
            let at = T0.plus_secs(60 + i64::try_from(n).unwrap());
            let line = line(n, at, "Xid");
            let event = event(&line, code);
            let case = Case { fault: code.to_owned(), ..case(&event, None) };
            let rows =
                Rows { observations: vec![line], events: vec![event], cases: vec![case], ..Rows::default() };
            rows.write(ledger, at);
        }
    });
    let path = node.ledger().display().to_string();
    node.run(&["parts", &path]).expect(0).says("xid.48 xid.62 xid.79 and 1 more");
}
