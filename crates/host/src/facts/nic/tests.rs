//! Ports and interfaces as the kernel shows them.
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::testkit::Machine;

fn machine() -> (tempfile::TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::eight_gpus(folder.path()).unwrap();
    (folder, machine)
}

fn said(machine: &Machine, before: Option<&NicFacts>) -> NicFacts {
    let sheet = read(&machine.root(), before);
    assert!(sheet.blind.is_empty());
    sheet.said.unwrap()
}

#[test]
fn a_healthy_server_is_read_whole() {
    let (_folder, machine) = machine();
    let facts = said(&machine, None);
    assert_eq!((facts.ports.len(), facts.interfaces.len()), (8, 8));
    let port = facts.port("mlx5_3", 1).unwrap();
    assert_eq!(
        (port.state.as_str(), port.phys_state.as_str(), port.link_layer.as_str()),
        ("active", "linkup", "infiniband")
    );
    assert_eq!((port.rate_mbps, port.firmware.as_deref()), (Some(400_000), Some("28.39.1002")));
    assert_eq!(port.pci.unwrap().to_string(), "0000:62:00.0");
    assert_eq!((port.counter("link_downed"), port.counter("port_rcv_errors")), (Some(0), None));
    assert!(port.is_up() && port.reading().is_up());
    let interface = facts.interface("ib3").unwrap();
    assert_eq!(
        (interface.speed_mbps, interface.carrier, interface.carrier_down),
        (Some(400_000), Some(true), Some(1))
    );
    assert!(!interface.is_down());
}

#[test]
fn a_port_that_is_down_and_an_interface_without_carrier_are_seen() {
    let (_folder, machine) = machine();
    machine.file("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n").unwrap();
    machine.file("sys/class/infiniband/mlx5_0/ports/1/phys_state", "2: Polling\n").unwrap();
    machine.file("sys/class/net/ib0/carrier", "0\n").unwrap();
    machine.file("sys/class/net/ib1/flags", "0x1002\n").unwrap();
    machine.file("sys/class/net/ib1/operstate", "down\n").unwrap();
    let facts = said(&machine, None);
    assert!(!facts.port("mlx5_0", 1).unwrap().is_up());
    assert!(facts.interface("ib0").unwrap().is_down());
    assert!(!facts.interface("ib1").unwrap().is_down(), "nobody brought it up");
}

#[test]
fn what_has_no_hardware_is_left_out() {
    let (_folder, machine) = machine();
    for name in ["lo", "docker0", "veth1"] {
        machine.file(&format!("sys/class/net/{name}/operstate"), "up\n").unwrap();
    }
    machine.file("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n").unwrap();
    let facts = said(&machine, None);
    assert_eq!((facts.ports.len(), facts.interfaces.len()), (8, 8));
}

#[test]
fn a_counter_that_was_refused_is_not_asked_for_again() {
    let (_folder, machine) = machine();
    let counter = machine.at("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed");
    fs::remove_file(&counter).unwrap();
    // A folder is refused as the firmware refuses: opening works, reading does not.
    fs::create_dir(&counter).unwrap();
    let first = said(&machine, None);
    assert!(first.port("mlx5_0", 1).unwrap().counters_refused);
    assert!(!first.port("mlx5_1", 1).unwrap().counters_refused);
    fs::remove_dir(&counter).unwrap();
    fs::write(&counter, "7\n").unwrap();
    let second = said(&machine, Some(&first));
    assert!(second.port("mlx5_0", 1).unwrap().counters_refused, "still not asked");
    assert!(second.port("mlx5_0", 1).unwrap().counters.is_empty());
    assert_eq!(said(&machine, None).port("mlx5_0", 1).unwrap().counter("link_downed"), Some(7));
}

#[test]
fn hostile_attributes_are_unknown_values() {
    let (_folder, machine) = machine();
    for name in ["state", "rate", "link_layer", "counters/link_downed", "counters/symbol_error"] {
        let at = machine.at("sys/class/infiniband/mlx5_0/ports/1").join(name);
        fs::write(at, [b"\xff\0".as_slice(), &[b'9'; 9000]].concat()).unwrap();
    }
    machine.file("sys/class/infiniband/mlx5_0/ports/nonsense/state", "1: DOWN\n").unwrap();
    let facts = said(&machine, None);
    assert_eq!(facts.ports.len(), 8);
    let port = facts.port("mlx5_0", 1).unwrap();
    assert!(port.is_up() && port.rate_mbps.is_none() && port.counter("link_downed").is_none());
}

#[test]
fn a_machine_without_network_adapters_is_not_blind() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(said(&Machine::new(folder.path()), None), NicFacts::default());
    fs::create_dir_all(folder.path().join("sys/class")).unwrap();
    fs::write(folder.path().join("sys/class/net"), "").unwrap();
    assert_eq!(read(&Root::new(folder.path()), None).blind.len(), 1);
}

#[test]
fn rates_are_read_to_the_thousandth() {
    for (text, expected) in [
        ("400 Gb/sec (4X NDR)", Some(400_000)),
        ("2.5 Gb/sec (1X SDR)", Some(2_500)),
        ("14.0625 Gb/sec", Some(14_062)),
        ("fast", None),
        (" Gb/sec", None),
        ("1.x Gb/sec", None),
        ("99999999999999999999 Gb/sec", None),
    ] {
        assert_eq!(rate(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "[0-9.]{0,30}( Gb/sec)?.{0,20}") {
        let _ = rate(&text);
    }
}
