//! N in T through the pipeline, pass after pass with what a ledger would have kept.
mod support;

use support::*;
use triage_core::catalog::Catalog;
use triage_core::pipeline::{Asked, Input, Output, Past, Trigger, step};
use triage_core::policy::Policy;
use triage_core::reading::GpuReading;
use triage_core::serd::{Override, Thresholds};
use triage_core::*;

/// A node over many passes.
struct Node {
    catalog: Catalog,
    policy: Policy,
    past: Past,
    cases: Vec<Case>,
    last_reading: Option<(BootId, reading::NvmlReading)>,
}

impl Node {
    fn new() -> Self {
        let past = Past { since: Some(at(-99 * 86_400)), booted: Some(at(-86_400)), ..Past::default() };
        Self { catalog: catalog(), policy: acting(), past, cases: Vec::new(), last_reading: None }
    }

    fn pass(&mut self, now: Stamp, seen: Vec<Observation>, change: impl Fn(&mut Input<'_>)) -> Output {
        let mut input = input(&self.catalog, &self.policy, Trigger::HealthCheck);
        input.now = now;
        input.past = self.past.clone();
        input.cases.clone_from(&self.cases);
        input.last_reading.clone_from(&self.last_reading);
        input.node_record = Asked::Answer(node_record("ALLOCATED", ""));
        input.observations = seen;
        change(&mut input);
        let output = step(&input);
        assert_eq!(format!("{output:?}"), format!("{:?}", step(&input)), "a pass is deterministic");
        let seen = std::mem::take(&mut input.observations);
        self.keep(&seen, &output);
        output
    }

    fn keep(&mut self, seen: &[Observation], output: &Output) {
        for engine in &output.engines {
            self.past.engines.retain(|e| (&e.rule, &e.identity) != (&engine.rule, &engine.identity));
            if !engine.occurrences.is_empty() || engine.fired_at.is_some() {
                self.past.engines.push(engine.clone());
            }
        }
        for case in &output.cases {
            self.cases.retain(|c| c.id != case.id);
            if case.is_open() {
                self.cases.push(case.clone());
            }
        }
        for observation in seen {
            if let Payload::Nvml(reading) = &observation.payload {
                self.last_reading = Some((observation.boot.clone(), (**reading).clone()));
            }
        }
    }

    fn lines(&mut self, lines: &[(i64, &str)]) -> Output {
        let seen = lines.iter().map(|(secs, text)| line(at(*secs), text)).collect();
        let now = lines.last().map_or(at(0), |(secs, _)| at(*secs + 1));
        self.pass(now, seen, |_| ())
    }
}

fn opened(output: &Output) -> Vec<(&str, String)> {
    output.cases.iter().filter(|c| c.is_open()).map(|c| (c.fault.as_str(), c.resource.to_string())).collect()
}

const CE: &str = "EDAC MC3: 1 CE memory read error on CPU_SrcID#0_MC#3_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1 offset:0xec0 grain:32 syndrome:0x0)";

#[test]
fn corrected_errors_of_one_module_open_a_case_at_the_rate_and_only_once() {
    let mut node = Node::new();
    for n in 0..23 {
        assert_eq!(opened(&node.lines(&[(n * 600, CE)])), []);
    }
    let output = node.lines(&[(23 * 600, CE)]);
    assert_eq!(opened(&output), [("dimm.corrected", "dimm:CPU_SrcID#0_MC#3_Chan#0_DIMM#0".to_owned())]);
    let case = &output.cases[0];
    assert_eq!(
        (case.class, case.confidence, case.advice),
        (CauseClass::Hardware, Confidence::Suspected, Advice::Watch)
    );
    assert!(output.actions.iter().all(|action| action.kind() != "drain"));
    let more = node.lines(&[(24 * 600, CE)]);
    assert!(more.events.iter().all(|event| event.code.as_str() != "rate.dimm_corrected"));
    assert_eq!(node.cases.len(), 1);
}

#[test]
fn corrected_errors_of_many_modules_or_over_many_days_are_ordinary() {
    let mut node = Node::new();
    for n in 0..60 {
        assert_eq!(opened(&node.lines(&[(n * 4_000, CE)])), []);
    }
    for n in 0..40 {
        let other = CE.replace("DIMM#0 (", &format!("DIMM#{n} ("));
        assert_eq!(opened(&node.lines(&[(300_000 + n * 60, &other)])), []);
    }
}

#[test]
fn a_repair_lets_the_count_begin_anew_and_what_was_before_it_is_forgotten() {
    let mut node = Node::new();
    for n in 0..24 {
        node.lines(&[(n * 600, CE)]);
    }
    assert_eq!(node.cases.len(), 1);
    // A person acquitted it.
    let case = node.cases.remove(0);
    node.past.closed.push(pipeline::Closed {
        fault: case.fault,
        resource: case.resource,
        at: at(23 * 600 + 60),
        acquitted: true,
    });
    for n in 24..47 {
        assert_eq!(opened(&node.lines(&[(n * 600, CE)])), [], "{n}");
    }
    assert_eq!(opened(&node.lines(&[(47 * 600, CE)])).len(), 1);
}

#[test]
fn two_programs_that_read_the_same_lines_count_them_once() {
    let mut node = Node::new();
    for n in 0..20 {
        node.lines(&[(n * 600, CE)]);
        node.lines(&[(n * 600, CE)]);
    }
    assert!(node.cases.is_empty());
}

#[test]
fn a_link_that_flaps_is_a_case_though_each_loss_healed() {
    let mut node = Node::new();
    for n in 0..5 {
        let output = node.lines(&[
            (n * 3_600, "mlx5_core 0000:5e:00.0 ens2f0np0: Link down"),
            (n * 3_600 + 5, "mlx5_core 0000:5e:00.0 ens2f0np0: Link up"),
        ]);
        let expected: &[(&str, String)] = &[("nic.flapping", "nic:ens2f0np0".to_owned())];
        assert_eq!(opened(&output), if n == 4 { expected } else { &[] });
    }
}

fn fault(secs: i64) -> Observation {
    line(
        at(secs),
        "NVRM: Xid (PCI:0000:13:00): 31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7ed4_a0000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    )
}

fn under(node: &mut Node, n: i64, job: u32, uid: u32) -> Output {
    let begun = n * 7_200;
    node.pass(at(begun + 120), vec![fault(begun + 60), fault(begun + 60)], |input| {
        let mut span = span(&["n1"], None);
        (span.run.job, span.run.start, span.uid) = (job, at(begun), uid);
        input.spans = vec![span];
    })
}

#[test]
fn a_page_fault_under_one_users_program_again_and_again_is_the_programs() {
    let mut node = Node::new();
    for n in 0..8 {
        assert_eq!(opened(&under(&mut node, n, 100 + n as u32, 1000)), []);
    }
}

#[test]
fn a_page_fault_under_three_jobs_of_two_users_on_one_gpu_is_the_gpus() {
    let mut node = Node::new();
    assert_eq!(opened(&under(&mut node, 0, 100, 1000)), []);
    assert_eq!(opened(&under(&mut node, 1, 101, 1001)), []);
    let output = under(&mut node, 2, 102, 1001);
    assert_eq!(opened(&output), [("gpu.repeated_faults", BAD_GPU.to_owned())]);
    assert!(output.actions.iter().all(|action| action.kind() != "drain"), "a suspicion drains nobody");
}

fn with_serial(slot: u8, serial: &str, change: impl Fn(&mut GpuReading)) -> reading::NvmlReading {
    let mut reading = healthy();
    for gpu in &mut reading.gpus {
        gpu.serial = Some(format!("13200000000{}", gpu.index));
    }
    let gpu = &mut reading.gpus[usize::from(slot)];
    gpu.serial = Some(serial.to_owned());
    gpu.uuid = Some(format!("GPU-of-{serial}"));
    change(gpu);
    reading
}

#[test]
fn what_was_counted_follows_the_gpu_into_another_slot() {
    let mut node = Node::new();
    let remap = |slot: u8| {
        format!(
            "NVRM: Xid (PCI:0000:1{slot}:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate."
        )
    };
    for n in 0..8_i64 {
        let slot = if n < 4 { 3 } else { 5 };
        let when = n * 86_400;
        let seen = vec![
            line(at(when), &remap(slot)),
            sweep(at(when + 1), with_serial(slot, "1320111111111", |_| ())),
        ];
        let output = node.pass(at(when + 2), seen, |_| ());
        let rows = output.cases.iter().any(|case| case.fault == "gpu.row_remaps");
        assert_eq!(rows, n == 7, "{n}: {:?}", opened(&output));
    }
    assert!(node.past.engines.iter().any(|e| e.identity == "part:1320111111111"));
    assert!(
        node.cases
            .iter()
            .any(|case| case.fault == "gpu.row_remaps" && case.resource.to_string() == "gpu:0000:15:00.0")
    );
}

#[test]
fn another_gpu_in_the_slot_resolves_the_old_ones_case() {
    let mut node = Node::new();
    let failed = |gpu: &mut GpuReading| gpu.remap_failed = Some(true);
    let output = node.pass(at(0), vec![sweep(at(0), with_serial(3, "1320111111111", failed))], |_| ());
    assert_eq!(output.cases[0].part.as_deref(), Some("1320111111111"));
    let same = node.pass(at(60), vec![sweep(at(60), with_serial(3, "1320111111111", |_| ()))], |_| ());
    assert!(same.cases.is_empty(), "the same part is no news");
    let new = node.pass(at(120), vec![sweep(at(120), with_serial(3, "1320222222222", |_| ()))], |_| ());
    assert_eq!(new.cases[0].state, CaseState::Resolved);
    assert!(new.cases[0].why.starts_with("part replaced"), "{}", new.cases[0].why);
}

#[test]
fn a_sick_gpu_that_tells_no_serial_is_not_taken_for_another_one() {
    let mut node = Node::new();
    let failed = |gpu: &mut GpuReading| gpu.remap_failed = Some(true);
    node.pass(at(0), vec![sweep(at(0), with_serial(3, "1320111111111", failed))], |_| ());
    let mute = |gpu: &mut GpuReading| {
        failed(gpu);
        gpu.serial = None;
    };
    node.pass(at(60), vec![sweep(at(60), with_serial(3, "1320111111111", mute))], |_| ());
    assert_eq!(node.cases.len(), 1);
}

#[test]
fn corrected_errors_of_a_gpu_are_counted_from_sweep_to_sweep() {
    let mut node = Node::new();
    let counted = |n: u64| with(move |gpu| gpu.ecc_corrected = Some(n));
    node.pass(at(0), vec![sweep(at(0), counted(1_000_000))], |_| ());
    assert!(node.cases.is_empty(), "what was counted before anybody looked is no rate");
    node.pass(at(60), vec![sweep(at(60), counted(1_006_000))], |_| ());
    assert!(node.cases.is_empty());
    let output = node.pass(at(120), vec![sweep(at(120), counted(1_012_000))], |_| ());
    assert_eq!(opened(&output), [("gpu.corrected", BAD_GPU.to_owned())]);
}

#[test]
fn a_site_can_change_a_figure_and_switch_a_rate_off() {
    let set = |change: Override| {
        let mut node = Node::new();
        node.past.thresholds = Thresholds([("dimm_corrected".to_owned(), change)].into());
        for n in 0..40 {
            node.lines(&[(n * 60, CE)]);
        }
        node
    };
    assert_eq!(set(Override { enabled: Some(false), ..Override::default() }).cases.len(), 0);
    assert_eq!(set(Override { count: Some(41), ..Override::default() }).cases.len(), 0);
    assert_eq!(set(Override { count: Some(40), ..Override::default() }).cases.len(), 1);
}

#[test]
fn a_drill_counts_for_itself() {
    let mut node = Node::new();
    for n in 0..24 {
        let drill = Observation { synthetic: true, ..line(at(n * 600), CE) };
        node.pass(at(n * 600 + 1), vec![drill], |_| ());
    }
    assert!(node.cases[0].synthetic);
    assert!(node.past.engines.iter().all(|engine| engine.identity.starts_with("drill:")));
}
