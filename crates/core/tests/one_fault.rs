//! One fault that the kernel's log and a state check both tell of: one case, whoever was first, and one proof.
mod support;

use std::collections::BTreeMap;

use support::looked::Node;
use support::*;
use triage_core::checks::*;
use triage_core::facts::host::{
    Answer, Array, Disk, Disks, Edac, Errors, Health, Mount, Mounts, Raid, Space,
};
use triage_core::facts::nic::{NetInterface, NicFacts, RdmaPort};
use triage_core::facts::{NodeFacts, Sheet};
use triage_core::*;

/// A fault, told by lines and by what is read of the node.
struct Told<'a> {
    well: NodeFacts,
    bad: NodeFacts,
    lines: &'a [&'a str],
    fault: &'a str,
}

/// Both orders, and both at once: always one case, with the evidence of both.
fn in_every_order(told: &Told<'_>, mut then: impl FnMut(&mut Node, i64)) {
    for (at_60, at_120) in [
        ((&told.bad, &[][..]), (&told.bad, told.lines)),
        ((&told.well, told.lines), (&told.bad, &[][..])),
        ((&told.bad, told.lines), (&told.bad, &[][..])),
    ] {
        let mut node = Node::new();
        node.pass(0, &told.well, &[]);
        node.pass(60, at_60.0, at_60.1);
        // What a check wants to see bad for a minute is a case in the second look.
        node.pass(120, at_120.0, at_120.1);
        node.pass(200, at_120.0, &[]);
        let case = node.only();
        assert_eq!(case.fault, told.fault);
        assert!(case.events.len() > told.lines.len(), "both are evidence: {:?}", case.events);
        assert_ne!(case.clears, ClearedBy::CheckPasses, "the line's proof is asked for");
        then(&mut node, 200);
    }
}

fn raid(working: u32) -> NodeFacts {
    let array = Array {
        name: "md0".to_owned(),
        state: "active".to_owned(),
        wanted: Some(2),
        working: Some(working),
        ..Array::default()
    };
    NodeFacts { raid: Some(Sheet::read(Raid { arrays: vec![array] })), ..NodeFacts::default() }
}

const MEMBER: &str = "md/raid1:md0: Disk failure on sdb1, disabling device.";

#[test]
fn an_array_that_lost_a_member_is_one_case_and_whole_again_it_is_none() {
    let told = Told { well: raid(2), bad: raid(1), lines: &[MEMBER], fault: "raid.degraded" };
    in_every_order(&told, |node, now| {
        // The kernel says that a recovery is done, and the array still misses a member: two were lost.
        node.pass(now + 60, &raid(1), &["md: md0: recovery done."]);
        assert!(node.only().is_open());
        for secs in [120, 180] {
            node.pass(now + secs, &raid(2), &[]);
        }
        assert_eq!(node.cases, [], "the word of the recovery holds once the check does not contradict it");
    });
    in_every_order(&told, |node, now| {
        node.pass(now + 60, &raid(2), &[]);
        assert_eq!(node.cases.len(), 1, "whole for a moment only");
        let output = node.pass(now + 361, &raid(2), &[]);
        assert_eq!(node.cases, [], "rebuilt where nobody read the log: the array itself is the proof");
        assert_eq!(output.cases[0].why, "the state check finds disk:md0 good again");
    });
}

fn nvme(state: &str) -> NodeFacts {
    let disk = Disk { name: "nvme3".to_owned(), state: state.to_owned(), ..Disk::default() };
    NodeFacts { disks: Some(Sheet::read(Disks { disks: vec![disk] })), ..NodeFacts::default() }
}

#[test]
fn a_controller_that_the_kernel_gave_up_is_one_case_and_its_coming_back_alone_proves_nothing() {
    let line = "nvme nvme3: Disabling device after reset failure: -19";
    let told = Told { well: nvme("live"), bad: nvme("dead"), lines: &[line], fault: "disk.failed" };
    in_every_order(&told, |node, now| {
        for secs in [60, 400] {
            node.pass(now + secs, &nvme("live"), &[]);
        }
        assert!(node.only().is_open(), "a disk that failed once is not well because it answers again");
    });
}

/// A disk at work that tells this of itself, or nothing at all.
fn smart(warnings: Option<u64>) -> NodeFacts {
    let health = warnings.map(|warnings| Health { warnings, ..Health::default() });
    let answer = Answer { error: health.is_none().then(|| "EACCES".to_owned()), health, ..Answer::default() };
    let disks = BTreeMap::from([("nvme3".to_owned(), answer)]);
    NodeFacts { space: Some(Sheet::read(Space { disks, ..Space::default() })), ..nvme("live") }
}

#[test]
fn a_disk_that_calls_itself_read_only_is_one_case_with_the_kernels_word_about_it() {
    let line = "nvme nvme3: Disabling device after reset failure: -19";
    let told = Told { well: smart(Some(0)), bad: smart(Some(8)), lines: &[line], fault: "disk.failed" };
    in_every_order(&told, |node, now| {
        for secs in [60, 400] {
            node.pass(now + secs, &smart(Some(0)), &[]);
        }
        assert!(node.only().is_open(), "what the kernel lost is not back because the disk says so");
    });
}

#[test]
fn only_the_disk_itself_takes_its_warning_back() {
    let mut node = Node::new();
    for secs in [0, 60] {
        node.pass(secs, &smart(Some(8)), &[]);
    }
    let case = node.only();
    assert_eq!((case.fault.as_str(), case.clears), ("disk.failed", ClearedBy::CheckPasses));
    assert_eq!(case.advice, Advice::Watch, "noted as shipped, as a dead disk is");
    for secs in [120, 600] {
        node.pass(secs, &smart(None), &[]);
    }
    assert!(node.only().is_open(), "a disk that does not tell takes nothing back");
    node.pass(660, &smart(Some(0)), &[]);
    assert!(node.only().is_open(), "not yet for good");
    node.pass(961, &smart(Some(0)), &[]);
    assert_eq!(node.cases, []);
}

fn dimm(uncorrected: u64) -> NodeFacts {
    let of = BTreeMap::from([("CPU0_C1".to_owned(), Errors { corrected: 0, uncorrected })]);
    NodeFacts { edac: Some(Sheet::read(Edac { of })), ..NodeFacts::default() }
}

#[test]
fn a_memory_module_with_uncorrected_errors_is_one_case_and_a_reboot_proves_it() {
    let line = "EDAC MC0: 1 UE memory read error on CPU0_C1 (channel:1 slot:0 page:0x1 offset:0x0 grain:32)";
    let told = Told { well: dimm(0), bad: dimm(1), lines: &[line], fault: "memory.dimm" };
    in_every_order(&told, |node, now| {
        // Somebody sets the counters to zero.
        node.pass(now + 60, &dimm(0), &[]);
        node.pass(now + 600, &dimm(0), &[]);
        assert!(node.only().is_open());
        (node.boot, node.booted) = ("b2", now + 700);
        node.pass(now + 1_200, &dimm(0), &[]);
        assert_eq!(node.cases, []);
    });
}

fn scratch(source: &str, device: &str, read_only: bool) -> NodeFacts {
    let mount = Mount {
        path: "/scratch".to_owned(),
        kind: "ext4".to_owned(),
        source: source.to_owned(),
        device: device.to_owned(),
        read_only,
    };
    let fstab = vec![Mount { device: String::new(), read_only: false, ..mount.clone() }];
    NodeFacts { mounts: Some(Sheet::read(Mounts { mounted: vec![mount], fstab })), ..NodeFacts::default() }
}

#[test]
fn a_filesystem_turned_read_only_is_one_case_by_whatever_name_the_kernel_has_for_its_device() {
    for (source, device, kernels) in [
        ("/dev/nvme3n1p1", "259:4", "nvme3n1p1"),
        ("/dev/mapper/vg-scratch", "253:3", "dm-3"),
        ("/dev/md/scratch", "9:127", "md127"),
    ] {
        let line = format!("EXT4-fs ({kernels}): Remounting filesystem read-only");
        let told = Told {
            well: scratch(source, device, false),
            bad: scratch(source, device, true),
            lines: &[&line],
            fault: "fs.local",
        };
        in_every_order(&told, |node, now| {
            assert_eq!(node.only().advice, Advice::Drain);
            for secs in [60, 600] {
                node.pass(now + secs, &scratch(source, device, false), &[]);
            }
            assert!(node.only().is_open(), "what was written meanwhile is lost all the same");
            (node.boot, node.booted) = ("b2", now + 700);
            node.pass(now + 1_200, &scratch(source, device, true), &[]);
            assert!(node.only().is_open(), "read-only still after the reboot");
        });
    }
}

#[test]
fn another_filesystems_device_is_another_case() {
    let mut node = Node::new();
    node.pass(0, &scratch("/dev/mapper/vg-scratch", "253:3", false), &[]);
    let line = "EXT4-fs (dm-4): Remounting filesystem read-only";
    node.pass(60, &scratch("/dev/mapper/vg-scratch", "253:3", true), &[line]);
    assert_eq!(node.cases.len(), 2);
}

fn nics(state: &str, interfaces: &[&str]) -> NodeFacts {
    let pci: Option<PciAddress> = "0000:5e:00.0".parse().ok();
    let port = RdmaPort {
        device: "mlx5_0".to_owned(),
        port: 1,
        state: state.to_owned(),
        pci,
        ..RdmaPort::default()
    };
    let interface = |name: &&str| NetInterface {
        name: (*name).to_owned(),
        wanted: true,
        carrier: Some(state == "active"),
        pci,
        ..NetInterface::default()
    };
    let interfaces = interfaces.iter().map(interface).collect();
    NodeFacts {
        nic: Some(Sheet::read(NicFacts { ports: vec![port], interfaces, ..NicFacts::default() })),
        ..NodeFacts::default()
    }
}

const DOWN: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link down";
const UP: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link up";

#[test]
fn a_link_that_kernel_port_and_interface_call_down_is_one_case_and_ends_once() {
    let well = || nics("active", &["ens2f0np0"]);
    let told = Told { well: well(), bad: nics("down", &["ens2f0np0"]), lines: &[DOWN], fault: "nic.link" };
    in_every_order(&told, |node, now| {
        node.pass(now + 60, &nics("down", &["ens2f0np0"]), &[UP]);
        node.pass(now + 700, &nics("down", &["ens2f0np0"]), &[]);
        assert!(node.only().is_open(), "the kernel said up, and the port is not");
        for secs in [760, 820] {
            node.pass(now + secs, &well(), &[]);
        }
        assert_eq!(node.cases, []);
    });
}

#[test]
fn an_adapter_taken_out_on_purpose_is_waited_for_until_a_person_closes_its_case() {
    let word = |node: &Node| node.last.iter().find(|state| state.name == "nic_port").unwrap().state;
    let mut node = Node::new();
    node.pass(0, &nics("active", &[]), &[]);
    node.pass(60, &nics("down", &[]), &[]);
    node.pass(130, &nics("down", &[]), &[]);
    let without = NodeFacts { nic: Some(Sheet::read(NicFacts::default())), ..NodeFacts::default() };
    for secs in [190, 4_000] {
        node.pass(secs, &without, &[]);
        assert_eq!((word(&node), node.only().is_open()), (CheckWord::Blind, true), "gone is not good");
    }
    // A person says so: slurm-triage ack.
    node.cases.clear();
    node.pass(4_060, &without, &[]);
    assert_eq!(word(&node), CheckWord::Ok, "nobody waits for it any more");
    node.pass(4_400, &without, &[]);
    assert_eq!((word(&node), node.cases.len()), (CheckWord::Ok, 0));
}

#[test]
fn two_interfaces_on_one_function_are_not_taken_for_each_other() {
    let mut node = Node::new();
    node.pass(0, &nics("active", &["ens2d0", "ens2d1"]), &[]);
    for secs in [60, 130] {
        node.pass(secs, &nics("down", &["ens2d0", "ens2d1"]), &[]);
    }
    assert_eq!(node.cases.len(), 3, "which of them is the port nobody can say");
}

#[test]
fn a_fault_that_a_check_shares_is_one_the_catalogue_or_the_sweep_knows() {
    let catalog = catalog();
    let known: Vec<String> = catalog.entries().iter().map(|entry| catalog.fault_of(&entry.code)).collect();
    let of_sweep = ["gpu.off_bus", "gpu.memory", "gpu.recovery"];
    // Several checks find it, nobody else does.
    let own = ["nic.errors", "nic.rate", "gpu.nvlink_errors"];
    for check in ALL.iter().filter(|check| !check.fault.is_empty() && !own.contains(&check.fault)) {
        let fault = check.fault;
        assert!(
            known.iter().any(|known| known == fault) || of_sweep.contains(&fault),
            "{}: {fault}",
            check.name
        );
    }
}
