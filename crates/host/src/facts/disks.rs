//! Disks as the kernel shows them: the node's own NVMe controllers and its SCSI disks (SATA and SAS among them). No disk is asked
//! for anything: these files are the kernel's memory of it.
use std::io::ErrorKind;
use std::path::Path;

use triage_core::facts::Sheet;
use triage_core::facts::host::{Disk, Disks};

use super::attr;
use crate::proc::Root;

const NVME: &str = "/sys/class/nvme";
const BLOCK: &str = "/sys/block";

/// Most disks that are kept: a storage server has about a hundred.
const MAX_DISKS: usize = 256;

/// Reads what there is below `root`. `before`: what was read earlier in this boot; only the state is read again of a disk that
/// is known. A machine without either folder has no disks of that kind.
pub(super) fn read(root: &Root, before: Option<&Disks>) -> Sheet<Disks> {
    let mut blind = Vec::new();
    let mut disks = Vec::new();
    for (folder, one) in [(NVME, nvme as Reader), (BLOCK, scsi)] {
        match attr::names(&root.at(folder)) {
            Ok(names) => {
                let known = |name: &str| before?.disks.iter().find(|disk| disk.name == name);
                disks.extend(
                    names.iter().filter_map(|name| one(&root.at(folder).join(name), name, known(name))),
                );
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => blind.push(format!("{folder}: {error}")),
        }
    }
    disks.truncate(MAX_DISKS);
    Sheet { said: Some(Disks { disks }), blind, cost_us: 0 }
}

/// Names of the node's own NVMe controllers: what of them [`read`] lists, for little. What cannot be listed it tells as well.
pub(super) fn controllers(root: &Root, before: Option<&Disks>) -> Vec<String> {
    let folder = root.at(NVME);
    let mut names = attr::names(&folder).unwrap_or_default();
    names.retain(|name| {
        let known = before.is_some_and(|before| before.disks.iter().any(|disk| disk.name == *name));
        known || is_own(&folder.join(name))
    });
    names
}

/// Controllers of another machine's disks (NVMe over fabrics) come and go with their connections.
fn is_own(at: &Path) -> bool {
    attr::text(&at.join("transport")).is_none_or(|transport| transport == "pcie")
}

type Reader = fn(&Path, &str, Option<&Disk>) -> Option<Disk>;

/// `nvme0`.
fn nvme(at: &Path, name: &str, known: Option<&Disk>) -> Option<Disk> {
    let state = attr::text(&at.join("state")).unwrap_or_default();
    if let Some(known) = known {
        return Some(Disk { state, ..known.clone() });
    }
    if !is_own(at) {
        return None;
    }
    Some(Disk {
        name: name.to_owned(),
        state,
        model: attr::text(&at.join("model")),
        serial: attr::text(&at.join("serial")),
        firmware: attr::text(&at.join("firmware_rev")),
    })
}

/// `sda`. What can be taken out, as a person's stick, is nobody's loss.
fn scsi(at: &Path, name: &str, known: Option<&Disk>) -> Option<Disk> {
    if !name.starts_with("sd") {
        return None;
    }
    let state = attr::text(&at.join("device/state")).unwrap_or_default();
    if let Some(known) = known {
        return Some(Disk { state, ..known.clone() });
    }
    if attr::text(&at.join("removable")).is_none_or(|removable| removable != "0") {
        return None;
    }
    Some(Disk {
        name: name.to_owned(),
        state,
        model: attr::text(&at.join("device/model")),
        serial: attr::text(&at.join("device/wwid")),
        firmware: attr::text(&at.join("device/rev")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Machine;

    fn machine() -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        for (name, text) in [
            ("sys/class/nvme/nvme0/state", "live\n"),
            ("sys/class/nvme/nvme0/transport", "pcie\n"),
            ("sys/class/nvme/nvme0/model", "SAMSUNG MZQL23T8HCLS-00A07              \n"),
            ("sys/class/nvme/nvme0/serial", "S64HNE0T500001      \n"),
            ("sys/class/nvme/nvme0/firmware_rev", "GDC5602Q\n"),
            ("sys/class/nvme/nvme1/state", "live\n"),
            ("sys/class/nvme/nvme1/transport", "rdma\n"),
            ("sys/block/sda/device/state", "running\n"),
            ("sys/block/sda/device/wwid", "naa.5002538f\n"),
            ("sys/block/sda/removable", "0\n"),
            ("sys/block/sdb/device/state", "running\n"),
            ("sys/block/sdb/removable", "1\n"),
            ("sys/block/nvme0n1/size", "1\n"),
            ("sys/block/dm-0/size", "1\n"),
        ] {
            machine.file(name, text).unwrap();
        }
        (folder, machine)
    }

    fn said(machine: &Machine, before: Option<&Disks>) -> Disks {
        let sheet = read(&machine.root(), before);
        assert_eq!(sheet.blind, [""; 0]);
        let disks = sheet.said.unwrap();
        let listed = disks.disks.iter().map(|disk| &disk.name).filter(|name| name.starts_with("nvme"));
        assert_eq!(
            controllers(&machine.root(), before).iter().collect::<Vec<_>>(),
            listed.collect::<Vec<_>>()
        );
        disks
    }

    #[test]
    fn the_nodes_own_disks_are_read_and_a_stick_and_another_machines_are_not() {
        let (_folder, machine) = machine();
        let disks = said(&machine, None).disks;
        assert_eq!(disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["nvme0", "sda"]);
        assert_eq!(
            disks[0],
            Disk {
                name: "nvme0".to_owned(),
                state: "live".to_owned(),
                model: Some("SAMSUNG MZQL23T8HCLS-00A07".to_owned()),
                serial: Some("S64HNE0T500001".to_owned()),
                firmware: Some("GDC5602Q".to_owned()),
            }
        );
        assert_eq!((disks[1].serial.as_deref(), disks[1].firmware.as_deref()), (Some("naa.5002538f"), None));
    }

    #[test]
    fn of_a_disk_that_is_known_only_the_state_is_read_again() {
        let (_folder, machine) = machine();
        let before = said(&machine, None);
        machine.file("sys/class/nvme/nvme0/state", "dead\n").unwrap();
        std::fs::remove_file(machine.at("sys/class/nvme/nvme0/serial")).unwrap();
        let now = said(&machine, Some(&before));
        assert_eq!((now.disks[0].state.as_str(), &now.disks[0].serial), ("dead", &before.disks[0].serial));
        std::fs::remove_dir_all(machine.at("sys/block/sda")).unwrap();
        assert_eq!(said(&machine, Some(&before)).disks.len(), 1, "a disk that is gone is not remembered");
    }

    #[test]
    fn hostile_attributes_are_unknown_values_and_an_unreadable_folder_is_blindness() {
        let (_folder, machine) = machine();
        std::fs::write(machine.at("sys/class/nvme/nvme0/state"), [0xff, 0, b'x']).unwrap();
        std::fs::write(machine.at("sys/class/nvme/nvme0/model"), vec![b'm'; 1 << 20]).unwrap();
        let disk = said(&machine, None).disks.remove(0);
        assert_eq!((disk.state.as_str(), disk.model.map(|model| model.len())), ("", Some(4096)));
        std::fs::remove_dir_all(machine.at("sys/block")).unwrap();
        machine.file("sys/block", "no folder").unwrap();
        assert!(read(&machine.root(), None).blind[0].starts_with("/sys/block: "));
    }

    #[test]
    fn a_machine_without_disks_is_not_blind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&Root::new(folder.path()), None), Sheet::read(Disks::default()));
    }
}
