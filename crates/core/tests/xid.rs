//! Kernel lines through the pipeline with the shipped catalogue.
mod support;

use support::*;
use triage_core::pipeline::{Asked, Input, Output, Trigger, step};
use triage_core::*;

const OFF_BUS: &str = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";

fn pass(lines: &[(i64, &str)], change: impl Fn(&mut Input<'_>)) -> Output {
    let (catalog, policy) = (catalog(), acting());
    let mut input = input(&catalog, &policy, Trigger::HealthCheck);
    input.node_record = Asked::Answer(node_record("ALLOCATED", ""));
    for (cursor, (secs, text)) in lines.iter().enumerate() {
        input.observations.push(Observation { cursor: cursor as u64, ..line(at(*secs), text) });
    }
    change(&mut input);
    step(&input)
}

fn drains(output: &Output) -> usize {
    output.actions.iter().filter(|action| action.kind() == "drain").count()
}

#[test]
fn xid_79_alone_drains_with_the_code_in_the_reason() {
    let output = pass(&[(590, OFF_BUS)], |_| ());
    assert_eq!(drains(&output), 1);
    let case = &output.cases[0];
    assert_eq!((case.fault.as_str(), case.code.as_str()), ("gpu.off_bus", "xid.79"));
    match &output.actions[0] {
        Action::Drain { reason, .. } => {
            assert_eq!(*reason, format!("slurm-triage: xid.79 {BAD_GPU} [case {}]", case.id));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn kernel_log_and_nvml_make_one_case_and_one_drain() {
    let output =
        pass(&[(590, OFF_BUS)], |input| input.observations.push(sweep(at(595), with(|gpu| gpu.lost = true))));
    assert_eq!((output.cases.len(), drains(&output)), (1, 1));
    assert_eq!(output.cases[0].events.len(), 2);
}

#[test]
fn what_a_crashing_program_throws_drains_nothing() {
    let lines = [
        (
            500,
            "NVRM: Xid (PCI:0000:13:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        ),
        (500, "NVRM: Xid (PCI:0000:13:00): 43, pid=4711, name=python3, Ch 00000008"),
        (501, "NVRM: Xid (PCI:0000:10:00): 45, pid=4710, name=python3, Ch 00000009"),
        (
            501,
            "NVRM: Xid (PCI:0000:11:00): 13, pid=4709, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address",
        ),
    ];
    let output = pass(&lines, |_| ());
    assert_eq!(output.events.len(), 4);
    assert_eq!((output.cases, output.actions), (vec![], vec![]));
}

#[test]
fn an_xid_nobody_knows_drains_nothing() {
    let output = pass(&[(500, "NVRM: Xid (PCI:0000:13:00): 9999, pid=1, name=x, something new")], |_| ());
    assert_eq!(output.events[0].code.as_str(), "xid.9999");
    assert_eq!((output.cases, output.actions), (vec![], vec![]));
}

#[test]
fn a_flood_of_one_line_is_kept_in_part_and_counted() {
    let flood: Vec<(i64, &str)> = (0..5_000)
        .map(|_| (500, "NVRM: Xid (PCI:0000:13:00): 43, pid=4711, name=python3, Ch 00000008"))
        .collect();
    let output = pass(&flood, |_| ());
    assert!(output.events.len() < 100, "{}", output.events.len());
    let counted: u64 = output.repeats.values().sum();
    assert_eq!(output.events.len() as u64 + counted, 5_000);
}

#[test]
fn reading_the_log_twice_adds_no_evidence() {
    let first = pass(&[(590, OFF_BUS)], |_| ());
    let again = pass(&[(590, OFF_BUS)], |input| input.cases.clone_from(&first.cases));
    assert_eq!(again.cases, [], "nothing changed");
}

#[test]
fn nvlink_errors_after_a_forced_kill_are_only_suspected() {
    let nvlink = [(
        520,
        "NVRM: Xid (PCI:0000:13:00): 74, pid=4711, name=python3, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    )];
    let killed = |input: &mut Input<'_>| {
        let edge = TaskEdge {
            job: 42,
            array: None,
            restart: 0,
            step: "0".to_owned(),
            rank: 3,
            local: 3,
            pid: 4711,
            what: TaskWhat::End(ExitStatus::Signal(9)),
            ask: JobAsk::Default,
            gpus: Vec::new(),
        };
        input.tasks.push((at(510), edge));
    };
    let output = pass(&nvlink, killed);
    assert!(output.cases.iter().all(|case| case.confidence == Confidence::Suspected), "{:?}", output.cases);
    assert_eq!(drains(&output), 0);
}

#[test]
fn a_driver_that_wants_nothing_is_no_fault() {
    let output = pass(
        &[(
            500,
            "NVRM: Xid (PCI:0000:13:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        )],
        |_| (),
    );
    assert_eq!((output.cases, output.actions), (vec![], vec![]));
}

#[test]
fn what_the_driver_asks_for_joins_the_open_case() {
    let lines = [
        (590, OFF_BUS),
        (
            591,
            "NVRM: Xid (PCI:0000:13:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        ),
    ];
    let output = pass(&lines, |_| ());
    assert_eq!(output.cases.len(), 1, "{:#?}", output.cases);
    assert_eq!((output.cases[0].code.as_str(), output.cases[0].events.len()), ("xid.79", 2));
}

#[test]
fn what_the_driver_asks_for_opens_no_case_of_its_own() {
    // It names no cause; the sweep that follows reads the same wish and knows the GPU's state.
    let line = "NVRM: Xid (PCI:0000:13:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    let output = pass(&[(591, line)], |_| ());
    assert_eq!((output.events.len(), output.cases.len()), (1, 0));
}

#[test]
fn a_lost_gpu_that_no_longer_tells_its_address_is_found_by_elimination() {
    let nameless = with(|gpu| {
        gpu.lost = true;
        gpu.pci = None;
        gpu.uuid = None;
    });
    for boot in ["b1", "b0"] {
        let output = pass(&[(590, OFF_BUS)], |input| {
            input.last_reading = Some((BootId::from(boot), healthy()));
            input.observations.push(sweep(at(595), nameless.clone()));
        });
        assert_eq!((output.cases.len(), output.cases[0].events.len()), (1, 2), "known from boot {boot}");
    }
}

#[test]
fn of_two_nameless_gpus_none_is_guessed() {
    let mut two = healthy();
    for index in [3, 5] {
        two.gpus[index].lost = true;
        two.gpus[index].pci = None;
    }
    let output = pass(&[], |input| {
        input.last_reading = Some((BootId::from("b0"), healthy()));
        input.observations.push(sweep(at(595), two.clone()));
    });
    let resources: Vec<String> = output.cases.iter().map(|case| case.resource.to_string()).collect();
    assert_eq!(resources, ["gpu:3", "gpu:5"]);
}

#[test]
fn a_nameless_lost_gpu_is_the_one_the_kernel_named() {
    let nameless = with(|gpu| {
        gpu.lost = true;
        gpu.pci = None;
        gpu.uuid = None;
    });
    let output = pass(&[(590, OFF_BUS)], |input| input.observations.push(sweep(at(595), nameless.clone())));
    assert_eq!((output.cases.len(), output.cases[0].events.len()), (1, 2), "no earlier sweep is known");
}
