//! Links that are lost and come back: what the log tells and what the counters tell is one loss.
mod support;

use support::looked::Node;
use support::*;
use triage_core::facts::nic::{NetInterface, NicFacts, RdmaPort};
use triage_core::facts::{NodeFacts, Sheet};
use triage_core::pipeline::Closed;
use triage_core::*;

/// An adapter whose port was lost so often, and the interface on it.
fn nics(port: Option<u64>, interface: Option<u64>) -> NodeFacts {
    let pci: Option<PciAddress> = "0000:5e:00.0".parse().ok();
    let ports = port.map(|lost| RdmaPort {
        device: "mlx5_0".to_owned(),
        port: 1,
        state: "active".to_owned(),
        pci,
        counters: std::iter::once(("link_downed".to_owned(), lost)).collect(),
        ..RdmaPort::default()
    });
    let interfaces = interface.map(|lost| NetInterface {
        name: "ens2f0np0".to_owned(),
        wanted: true,
        carrier: Some(true),
        carrier_down: Some(lost),
        pci,
        ..NetInterface::default()
    });
    let (ports, interfaces) = (ports.into_iter().collect(), interfaces.into_iter().collect());
    let nics = NicFacts { ports, interfaces, ..NicFacts::default() };
    NodeFacts { nic: Some(Sheet::read(nics)), ..NodeFacts::default() }
}

const DOWN: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link down";
const UP: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link up";

/// What the rate has counted so far, over all names of the link.
fn counted(node: &Node) -> u64 {
    let of_rate = node.engines.iter().filter(|engine| engine.rule == "link_flaps");
    of_rate.flat_map(|engine| &engine.occurrences).map(|known| known.times).sum()
}

fn flapping(node: &Node) -> Vec<String> {
    let mine = node.cases.iter().filter(|case| case.code.as_str() == "rate.link_flaps");
    mine.map(|case| case.resource.to_string()).collect()
}

#[test]
fn losses_that_no_line_tells_of_are_counted_from_the_counters() {
    let mut node = Node::new();
    for n in 0..5 {
        node.pass(n * 3_600, &nics(Some(7 + n.unsigned_abs()), None), &[]);
        assert_eq!((counted(&node), flapping(&node).len()), (n.unsigned_abs(), 0));
    }
    node.pass(5 * 3_600, &nics(Some(12), None), &[]);
    assert_eq!(flapping(&node), ["nic:mlx5_0"]);
    assert!(
        node.cases.iter().all(|case| case.confidence == Confidence::Suspected),
        "a suspicion drains nobody"
    );
}

#[test]
fn a_loss_that_line_port_and_interface_tell_of_is_one() {
    let mut node = Node::new();
    node.pass(0, &nics(Some(7), Some(3)), &[]);
    node.pass_with(3_600, &nics(Some(8), Some(4)), vec![line(at(3_500), DOWN), line(at(3_505), UP)]);
    assert_eq!(counted(&node), 1);
    node.pass_with(7_200, &nics(Some(10), Some(6)), vec![line(at(7_000), DOWN), line(at(7_005), UP)]);
    assert_eq!(counted(&node), 3, "two losses, one line: the kernel's log is rate limited");
    node.pass(10_800, &nics(Some(10), Some(6)), &[]);
    assert_eq!(counted(&node), 3);
    // Nothing was lost twice, so nothing fires at three of five.
    assert!(flapping(&node).is_empty());
}

#[test]
fn a_line_that_is_read_after_the_counters_told_of_it_is_not_counted_again() {
    let mut node = Node::new();
    node.pass(0, &nics(None, Some(3)), &[]);
    node.pass(3_600, &nics(None, Some(4)), &[]);
    assert_eq!(counted(&node), 1);
    // Written at 3,599, when the log had been read already.
    let late = line(at(3_599), DOWN);
    node.pass_with(3_660, &nics(None, Some(4)), vec![late]);
    assert_eq!(counted(&node), 1);
    node.pass(3_720, &nics(None, Some(5)), &[DOWN, UP]);
    assert_eq!(counted(&node), 2);
}

#[test]
fn counters_that_rise_while_the_node_starts_or_that_were_reset_tell_of_no_loss() {
    let mut node = Node::new();
    node.booted = -60;
    node.pass(0, &nics(Some(1), Some(1)), &[]);
    node.pass(300, &nics(Some(9), Some(9)), &[]);
    assert_eq!(counted(&node), 0, "drivers load, switches negotiate");
    node.pass(700, &nics(Some(9), Some(9)), &[]);
    node.pass(1_300, &nics(Some(0), Some(0)), &[]);
    assert_eq!(counted(&node), 0, "the driver was loaded again");
    node.boot = "b2";
    node.pass(1_900, &nics(Some(5), Some(5)), &[]);
    assert_eq!(counted(&node), 0, "another boot counts from zero");
}

#[test]
fn what_the_counters_told_before_a_repair_is_forgotten() {
    let mut node = Node::new();
    for n in 0..6 {
        node.pass(n * 60, &nics(Some(n.unsigned_abs()), None), &[]);
    }
    assert_eq!(flapping(&node).len(), 1);
    for case in std::mem::take(&mut node.cases) {
        node.closed.push(Closed {
            fault: case.fault,
            resource: case.resource,
            at: at(330),
            acquitted: false,
        });
    }
    node.pass(360, &nics(Some(9), None), &[]);
    assert_eq!(counted(&node), 0, "the look before was before the repair");
    for n in 7..11 {
        node.pass(n * 60, &nics(Some(3 + n.unsigned_abs()), None), &[]);
    }
    assert_eq!((counted(&node), flapping(&node).len()), (4, 0));
}
