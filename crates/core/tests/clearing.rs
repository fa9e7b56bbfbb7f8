//! What proves a fault gone, and that nothing else does.
mod support;

use support::*;
use triage_core::pipeline::{Asked, Input, Output, Past, Trigger, step};
use triage_core::serd::Engine;
use triage_core::*;

/// A pass `secs` after the beginning with what earlier ones left.
struct Pass<'a> {
    now: i64,
    boot: &'a str,
    booted: i64,
    cases: &'a [Case],
    engines: &'a [Engine],
    trigger: Trigger,
}

const FIRST: Pass<'_> =
    Pass { now: 0, boot: "b1", booted: -86_400, cases: &[], engines: &[], trigger: Trigger::HealthCheck };

fn pass(at_: &Pass<'_>, seen: Vec<Observation>) -> Output {
    let (catalog, policy) = (catalog(), acting());
    let mut input: Input<'_> = input(&catalog, &policy, at_.trigger);
    input.now = at(at_.now);
    input.boot = BootId::from(at_.boot);
    input.cases = at_.cases.to_vec();
    input.past = Past { booted: Some(at(at_.booted)), engines: at_.engines.to_vec(), ..Past::default() };
    input.node_record = Asked::Answer(node_record("ALLOCATED", ""));
    input.observations = seen;
    step(&input)
}

fn one_case(lines: &[(i64, &str)]) -> Case {
    let seen = lines.iter().map(|(secs, text)| line(at(*secs), text)).collect();
    let now = lines.last().map_or(0, |(secs, _)| *secs + 1);
    let output = pass(&Pass { now, ..FIRST }, seen);
    assert_eq!(output.cases.len(), 1, "{:?}", output.cases);
    output.cases[0].clone()
}

const DOWN: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link down";
const UP: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link up";

#[test]
fn a_link_must_stay_up_for_ten_minutes_also_across_passes() {
    let case = one_case(&[(0, DOWN)]);
    let cases = [case];
    let up = pass(&Pass { now: 61, cases: &cases, ..FIRST }, vec![line(at(60), UP)]);
    assert!(up.cases.is_empty(), "not yet: it may flap");
    let early = pass(&Pass { now: 600, cases: &cases, engines: &up.engines, ..FIRST }, vec![]);
    assert!(early.cases.is_empty());
    let late = pass(&Pass { now: 660, cases: &cases, engines: &up.engines, ..FIRST }, vec![]);
    assert_eq!(late.cases[0].state, CaseState::Resolved, "{}", late.cases[0].why);
    assert!(late.engines[0].occurrences.is_empty(), "the mark is forgotten with its case");
}

#[test]
fn a_link_that_goes_down_again_begins_its_ten_minutes_anew() {
    let case = one_case(&[(0, DOWN)]);
    let up = pass(&Pass { now: 61, cases: std::slice::from_ref(&case), ..FIRST }, vec![line(at(60), UP)]);
    let again = Pass { now: 301, cases: std::slice::from_ref(&case), engines: &up.engines, ..FIRST };
    let down = pass(&again, vec![line(at(300), DOWN)]);
    assert_eq!(down.cases[0].last_seen, at(300));
    let late = pass(&Pass { now: 5_000, cases: &down.cases, engines: &up.engines, ..FIRST }, vec![]);
    assert!(late.cases.iter().all(Case::is_open), "it is down");
}

#[test]
fn silence_clears_no_link() {
    let case = one_case(&[(0, DOWN)]);
    let cases = [case];
    assert!(pass(&Pass { now: 900_000, cases: &cases, ..FIRST }, vec![]).cases.is_empty());
    let other = line(at(60), "mlx5_core 0000:5e:00.1 ens2f1np1: Link up");
    assert!(pass(&Pass { now: 900_000, cases: &cases, ..FIRST }, vec![other]).cases.is_empty());
}

const OOPS: &str = "BUG: kernel NULL pointer dereference, address: 0000000000000008";

#[test]
fn a_reboot_clears_what_a_reboot_clears_once_the_new_boot_has_shown_nothing_for_a_while() {
    let case = one_case(&[(0, OOPS)]);
    let cases = [case];
    let rebooted = Pass { now: 1_000, boot: "b2", booted: 500, cases: &cases, ..FIRST };
    let early = pass(&Pass { now: 700, ..rebooted }, vec![]);
    assert!(early.cases.is_empty(), "two hundred seconds are too few");
    let blind = Payload::Blind { reason: "no /dev/kmsg".to_owned(), hung: false };
    let unseen = pass(&rebooted, vec![observe("b2", at(999), SourceKind::Kmsg, blind)]);
    assert!(unseen.cases.is_empty(), "who sees nothing cannot say that nothing was there");
    let prolog = pass(&Pass { trigger: Trigger::Prolog, ..rebooted }, vec![]);
    assert!(prolog.cases.is_empty());
    let done = pass(&rebooted, vec![]);
    assert_eq!(done.cases[0].state, CaseState::Resolved);
    let same_boot = pass(&Pass { boot: "b1", booted: -86_400, now: 90_000, ..rebooted }, vec![]);
    assert!(same_boot.cases.is_empty());
}

#[test]
fn a_reboot_does_not_clear_what_asks_for_a_person() {
    let case = one_case(&[(0, "md/raid1:md0: Disk failure on sdb1, disabling device.")]);
    assert_eq!(case.clears, ClearedBy::Ack);
    let rebooted = Pass { now: 90_000, boot: "b2", booted: 500, cases: &[case], ..FIRST };
    assert!(pass(&rebooted, vec![]).cases.is_empty());
}

const GSP: &str = "NVRM: Xid (PCI:0000:13:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x0).";
const DONE: &str = "NVRM: Xid (PCI:0000:13:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";

#[test]
fn the_driver_acknowledges_a_reset() {
    let case = one_case(&[(0, GSP)]);
    assert_eq!(case.clears, ClearedBy::GpuReset);
    let cases = [case];
    let after = Pass { now: 100, cases: &cases, ..FIRST };
    assert_eq!(pass(&after, vec![line(at(90), DONE)]).cases[0].state, CaseState::Resolved);
    let elsewhere = DONE.replace("0000:13", "0000:14");
    assert!(pass(&after, vec![line(at(90), &elsewhere)]).cases.is_empty(), "another GPU was reset");
    let sick = sweep(at(95), with(|gpu| gpu.ecc_uncorrected = Some(3)));
    let doubted = pass(&after, vec![line(at(90), DONE), sick]);
    assert!(doubted.cases.iter().all(Case::is_open), "NVML still reads it as sick");
}

#[test]
fn a_switch_is_well_when_all_gpus_behind_it_are_after_a_reboot() {
    let case =
        one_case(&[(0, "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")]);
    assert!(matches!(case.resource, Resource::NvSwitch(_)), "{}", case.resource);
    let cases = [case];
    let rebooted = Pass { now: 1_000, boot: "b2", booted: 500, cases: &cases, ..FIRST };
    let of_b2 = |reading| observe("b2", at(990), SourceKind::Nvml, Payload::Nvml(Box::new(reading)));
    assert!(pass(&rebooted, vec![of_b2(with(|gpu| gpu.lost = true))]).cases.iter().all(Case::is_open));
    let well = pass(&rebooted, vec![of_b2(healthy())]);
    assert_eq!(well.cases[0].state, CaseState::Resolved);
}

#[test]
fn a_fault_seen_by_a_clock_that_was_ahead_is_proven_gone_as_any_other() {
    let ahead = |lines: &[(i64, &str)]| Case { last_seen: at(8 * 3_600), ..one_case(lines) };
    let oops = [ahead(&[(0, OOPS)])];
    let rebooted = Pass { now: 1_000, boot: "b2", booted: 500, cases: &oops, ..FIRST };
    let closed = pass(&rebooted, vec![]);
    assert_eq!(closed.cases.first().map(|case| case.state), Some(CaseState::Resolved));
    let lost = [ahead(&[(0, "NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.")])];
    let rebooted = Pass { cases: &lost, ..rebooted };
    let sweep = Payload::Nvml(Box::new(healthy()));
    let closed = pass(&rebooted, vec![observe("b2", at(999), SourceKind::Nvml, sweep)]);
    assert_eq!(closed.cases.first().map(|case| case.state), Some(CaseState::Resolved));
}
