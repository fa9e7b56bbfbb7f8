//! What is learned, and what differs afterwards.
use proptest::prelude::*;

use super::*;
use crate::facts::NodeFacts;
use crate::facts::Sheet;
use crate::facts::nic::{NicFacts, RdmaPort};
use crate::reading::{GpuReading, NvmlReading, NvmlState};

fn reading() -> NvmlReading {
    let gpu = |index: u32| GpuReading {
        index,
        pci: format!("0000:{index:02x}:00.0").parse().ok(),
        serial: Some(format!("S{index}")),
        vbios: Some("96".to_owned()),
        ..GpuReading::default()
    };
    NvmlReading { state: NvmlState::Ok, gpus: (0..4).map(gpu).collect(), ..NvmlReading::default() }
}

#[test]
fn a_node_differs_from_itself_in_nothing() {
    let facts = NodeFacts::default();
    let learned = learn(&facts, Some(&reading()));
    assert_eq!(diff(&learned, &learned), []);
    assert!(!learned.is_empty() && learn(&facts, None).is_empty());
}

#[test]
fn a_swap_a_loss_and_a_new_firmware_are_one_difference_each() {
    let was = learn(&NodeFacts::default(), Some(&reading()));
    let mut later = reading();
    later.gpus.pop();
    later.gpus[0].serial = Some("S9".to_owned());
    later.gpus[0].vbios = Some("97".to_owned());
    later.gpus[1].vbios = Some("97".to_owned());
    let told: Vec<_> = diff(&was, &learn(&NodeFacts::default(), Some(&later)))
        .into_iter()
        .map(|d| format!("{}: {} -> {}", d.what, d.was.unwrap_or_default(), d.now.unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            "gpu 0000:00:00.0 board: S0 -> S9",
            "gpu 0000:00:00.0 vbios: 96 -> 97",
            "gpu 0000:01:00.0 vbios: 96 -> 97",
            "gpu 0000:03:00.0 board: S3 -> ",
        ]
    );
}

#[test]
fn a_lost_gpu_and_a_port_that_is_down_are_not_learned_as_they_should_be() {
    let mut sick = reading();
    sick.gpus[2].lost = true;
    let port = |number: u32, state: &str| RdmaPort {
        device: format!("mlx5_{number}"),
        port: 1,
        state: state.to_owned(),
        rate_mbps: Some(10_000),
        ..RdmaPort::default()
    };
    let mut facts = NodeFacts::default();
    let ports = vec![port(0, "active"), port(1, "down"), port(2, "")];
    facts.nic = Some(Sheet::read(NicFacts { ports, ..NicFacts::default() }));
    let learned = learn(&facts, Some(&sick));
    assert_eq!(learned.gpus.len(), 3);
    let ups: Vec<(bool, Option<u64>)> = learned.ports.iter().map(|port| (port.up, port.rate_mbps)).collect();
    assert_eq!(ups, [(true, Some(10_000)), (false, None), (false, None)]);
}

#[test]
fn a_changed_bios_and_a_disk_that_is_gone_are_told_and_the_rest_is_not() {
    use crate::facts::host::{Disk, Disks, Firmware, Memory};
    let disk = |serial: &str| Disk {
        name: "nvme0".to_owned(),
        serial: Some(serial.to_owned()),
        model: Some("PM9A3".to_owned()),
        ..Disk::default()
    };
    let facts = |bios: &str, disks: Vec<Disk>| NodeFacts {
        firmware: Some(Sheet::read(Firmware { bios: Some(bios.to_owned()), ..Firmware::default() })),
        disks: Some(Sheet::read(Disks { disks })),
        memory: Some(Sheet::read(Memory { swap_kib: Some(0), ..Memory::default() })),
        ..NodeFacts::default()
    };
    let was = learn(&facts("1.05", vec![disk("S0"), disk("S1")]), None);
    let now = learn(&facts("1.06", vec![disk("S1"), Disk { serial: None, ..disk("S9") }]), None);
    let told: Vec<_> = diff(&was, &now).into_iter().map(|d| (d.what, d.was, d.now)).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        told,
        [("BIOS".to_owned(), text("1.05"), text("1.06")), ("disk S0".to_owned(), text("PM9A3"), None)]
    );
}

#[test]
fn a_baseline_of_another_version_is_read_as_far_as_it_goes() {
    let text = r#"{"gpus":[{"serial":"S1","colour":"green"}],"later":{"a":1}}"#;
    let read: Baseline = serde_json::from_str(text).unwrap();
    assert_eq!(read.gpus[0].serial.as_deref(), Some("S1"));
}

proptest! {
    #[test]
    fn what_differs_one_way_differs_the_other_way(
        was in proptest::collection::vec("[a-d]", 0..5),
        now in proptest::collection::vec("[a-d]", 0..5),
    ) {
        let of = |mounts: &[String]| {
            let mut mounts = mounts.to_vec();
            mounts.sort_unstable();
            mounts.dedup();
            Baseline { mounts, ..Baseline::default() }
        };
        prop_assert_eq!(diff(&of(&was), &of(&now)).len(), diff(&of(&now), &of(&was)).len());
    }
}
