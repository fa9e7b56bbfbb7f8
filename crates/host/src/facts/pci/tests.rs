//! The bus as the kernel shows it, healthy and broken.
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::testkit::Machine;

fn machine() -> (tempfile::TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::eight_gpus(folder.path()).unwrap();
    (folder, machine)
}

fn said(machine: &Machine) -> PciFacts {
    let sheet = read(&machine.root());
    assert!(sheet.blind.is_empty());
    sheet.said.unwrap()
}

fn gpu_at(machine: &Machine, bus: u8) -> PciDevice {
    let facts = said(machine);
    facts.at(PciAddress { bus, ..PciAddress::default() }).cloned().unwrap()
}

#[test]
fn a_healthy_server_is_read_whole() {
    let (_folder, machine) = machine();
    let facts = said(&machine);
    assert_eq!((facts.of(PciKind::Gpu).count(), facts.of(PciKind::Nic).count()), (8, 8));
    let gpu = gpu_at(&machine, 0x9d);
    let link = PcieLink { speed: Some(3200), speed_max: Some(3200), width: Some(16), width_max: Some(16) };
    let port = Some("0000:9c:01.0".parse().unwrap());
    assert_eq!(
        gpu,
        PciDevice {
            address: "0000:9d:00.0".parse().unwrap(),
            kind: PciKind::Gpu,
            id: "10de:2330".to_owned(),
            driver: Some("nvidia".to_owned()),
            answers: Some(true),
            link,
            port,
            root_port: port,
            port_width_max: Some(16),
            port_speed_max: Some(3200),
            aer: Some(AerCounts::default()),
            port_aer: Some(AerCounts::default()),
            port_redirects: None,
            iommu_group: None,
            numa: Some(0),
        }
    );
}

#[test]
fn one_that_left_the_bus_is_told_from_one_that_is_not_listed() {
    let (_folder, machine) = machine();
    fs::write(machine.function(0x9d).join("config"), [0xff; 64]).unwrap();
    fs::write(machine.function(0x9d).join("current_link_width"), "63\n").unwrap();
    fs::write(machine.function(0x9d).join("current_link_speed"), "Unknown\n").unwrap();
    machine.remove(0xc3).unwrap();
    let gpu = gpu_at(&machine, 0x9d);
    assert_eq!((gpu.answers, gpu.link.width, gpu.link.speed), (Some(false), None, None));
    assert_eq!(said(&machine).of(PciKind::Gpu).count(), 7);
}

#[test]
fn a_sleeping_function_is_not_woken() {
    let (_folder, machine) = machine();
    fs::write(machine.function(0x1b).join("power_state"), "D3cold\n").unwrap();
    fs::write(machine.function(0x1b).join("config"), [0xff; 64]).unwrap();
    assert_eq!(gpu_at(&machine, 0x1b).answers, None);
}

#[test]
fn virtual_functions_and_audio_are_left_out() {
    let (_folder, machine) = machine();
    fs::write(machine.function(0x1b).join("class"), "0x040300\n").unwrap();
    std::os::unix::fs::symlink("../0000:43:00.0", machine.function(0x43).join("physfn")).unwrap();
    fs::create_dir_all(machine.function(0x43).parent().unwrap().join("0000:43:00.0")).unwrap();
    assert_eq!(said(&machine).of(PciKind::Gpu).count(), 6);
}

#[test]
fn hostile_attributes_are_unknown_values() {
    let (_folder, machine) = machine();
    let at = machine.function(0x1b);
    for name in ["current_link_width", "max_link_speed", "aer_dev_fatal", "numa_node", "config"] {
        fs::write(at.join(name), [b"\xff\0".as_slice(), &[b'9'; 9000]].concat()).unwrap();
    }
    let gpu = gpu_at(&machine, 0x1b);
    assert_eq!((gpu.link.width, gpu.link.speed_max, gpu.aer, gpu.numa), (None, None, None, None));
    fs::remove_file(at.join("vendor")).unwrap();
    assert_eq!(said(&machine).of(PciKind::Gpu).count(), 7);
}

#[test]
fn no_bus_is_no_blindness_but_an_unreadable_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::new(folder.path());
    assert_eq!(said(&machine), PciFacts::default());
    machine.file("sys/bus/pci/devices", "not a folder").unwrap();
    let sheet = read(&machine.root());
    assert!(sheet.said.is_none() && sheet.blind.len() == 1);
}

#[test]
fn speeds_of_old_and_new_kernels_are_alike() {
    for (text, expected) in [
        ("16.0 GT/s PCIe", Some(1600)),
        ("2.5 GT/s", Some(250)),
        ("8 GT/s", Some(800)),
        ("Unknown", None),
        ("Unknown speed", None),
        (" GT/s", None),
        ("9999999999 GT/s", None),
    ] {
        assert_eq!(speed(text), expected, "{text}");
    }
}

#[test]
fn the_bridges_above_are_named_through_a_switch() {
    let own = "0000:1b:00.0".parse().unwrap();
    let target = Path::new("../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0");
    let (root, port) = upstream(target, own);
    assert_eq!(root.unwrap().to_string(), "0000:15:01.0");
    assert_eq!(port.unwrap().to_string(), "0000:17:02.0");
    assert_eq!(upstream(Path::new("../../../devices/pci0000:15/0000:1b:00.0"), own), (None, None));
}

fn redirects_in(config: &[u8]) -> Option<bool> {
    redirects(|at| {
        let at = usize::try_from(at).unwrap();
        config.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
    })
}

#[test]
fn access_control_is_found_among_the_extended_capabilities() {
    let mut config = vec![0_u8; 4096];
    let mut put = |at: usize, word: u32| config[at..at + 4].copy_from_slice(&word.to_le_bytes());
    put(0x100, 0x0001_0001 | 0x200 << 20);
    put(0x140, 0x0001_000d);
    put(0x144, 0b1_0100 << 16);
    assert_eq!(redirects_in(&config), None, "the first header points elsewhere");
    config[0x100..0x104].copy_from_slice(&(0x0001_0001_u32 | 0x140 << 20).to_le_bytes());
    assert_eq!(redirects_in(&config), Some(true));
    config[0x146] = 0;
    assert_eq!(redirects_in(&config), Some(false));
    assert_eq!(redirects_in(&config[..64]), None, "without root only the first 64 bytes are given");
    config[0x140..0x144].copy_from_slice(&(0x0001_0001_u32 | 0x100 << 20).to_le_bytes());
    assert_eq!(redirects_in(&config), None, "a ring");
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = (speed(&text), total(&bytes), upstream(Path::new(&text), PciAddress::default()), redirects_in(&bytes));
    }
}
