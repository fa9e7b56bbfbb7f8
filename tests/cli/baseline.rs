//! `baseline`: what a node had when it was admitted, what differs, and who may say so.
use triage_core::facts::nic::{NicFacts, RdmaPort};
use triage_core::facts::{NodeFacts, Sheet};
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};
use triage_host::clock::{Clock, SystemClock};
use triage_ledger::{Batch, Ledger, Reading};

use crate::support::*;

/// A health check a moment ago: two GPUs, the first with that serial number, and one port.
fn health_check(ledger: &mut Ledger, serial: &str, ago_s: i64) {
    let at = SystemClock.now().plus_secs(-ago_s);
    let gpu = |index: u32, serial: &str| GpuReading {
        index,
        pci: format!("0000:{:02x}:00.0", 0x1b + index).parse().ok(),
        serial: Some(serial.to_owned()),
        vbios: Some("96.00".to_owned()),
        ..GpuReading::default()
    };
    let gpus = vec![gpu(0, serial), gpu(1, "1651")];
    let reading = NvmlReading { state: NvmlState::Ok, gpus, ..NvmlReading::default() };
    let mut facts = NodeFacts::new(at, boot());
    let port =
        RdmaPort { device: "mlx5_0".to_owned(), port: 1, state: "active".to_owned(), ..RdmaPort::default() };
    facts.nic = Some(Sheet::read(NicFacts { ports: vec![port], ..NicFacts::default() }));
    let (node, boot) = (node(), boot());
    let reading = Reading { at, boot: boot.clone(), synthetic: false, reading };
    let batch = Batch {
        reading: Some(&reading),
        facts: Some(&facts),
        ..Batch::new(at, &node, &boot, "triage-healthcheck")
    };
    let _ = ledger.record(&batch).unwrap();
}

#[test]
fn a_node_is_learned_compared_and_a_swapped_board_is_told() {
    let node = Node::with(|ledger| health_check(ledger, "1650", 60));
    node.run(&["baseline"]).expect(1).says("n1 has no baseline").says("--learn");
    node.run(&["baseline", "--diff"]).expect(1).says("n1 has no baseline");
    node.run(&["baseline", "--learn"]).expect(2).says("--reason");
    node.run(&["baseline", "--learn", "--reason", "burn-in passed"])
        .expect(0)
        .says("burn-in passed")
        .says("0000:1b:00.0  1650")
        .says("it is the first one");
    node.run(&["baseline"]).expect(0).says("burn-in passed").says("mlx5_0/1");
    node.run(&["baseline", "--diff"]).expect(0).says("nothing differs");
    node.fill(|ledger| health_check(ledger, "1699", 30));
    node.run(&["baseline", "--diff"]).expect(1).says("gpu 0000:1b:00.0 board  1650  1699");
    let json = node.run(&["--json", "baseline", "--diff"]).expect(1).json();
    assert_eq!((&json["v"], &json["differences"][0]["now"]), (&1.into(), &"1699".into()));
    node.run(&["baseline", "--learn", "--reason", "GPU 0 replaced"])
        .expect(0)
        .says("Against the baseline before");
    node.run(&["baseline", "--diff"]).expect(0).says("nothing differs");
    node.run(&["trail"]).expect(0).says("burn-in passed").says("GPU 0 replaced");
}

#[test]
fn a_faulty_node_is_learned_only_by_force_and_what_was_wrong_stays_with_it() {
    let node = Node::with(|ledger| {
        a_gpu_dies_and_it_is_written_down(ledger);
        health_check(ledger, "1650", 60);
    });
    node.run(&["baseline", "--learn", "--reason", "x"])
        .expect(4)
        .says("not as it should be")
        .says("(xid.79 on gpu:0000:61:00.0) is open")
        .says("--force");
    node.run(&["baseline"]).expect(1);
    node.run(&["baseline", "--learn", "--reason", "spare board", "--force"]).expect(0);
    node.run(&["baseline"]).expect(0).says("spare board (forced, although case ");
}

#[test]
fn an_old_look_is_not_learned_from() {
    let node = Node::with(all_is_well);
    node.run(&["baseline", "--learn", "--reason", "x"])
        .expect(1)
        .says("no health check has looked at n1 yet");
    node.fill(|ledger| health_check(ledger, "1650", 7_200));
    node.run(&["baseline", "--learn", "--reason", "x"]).expect(4).says("run triage-healthcheck first");
}
