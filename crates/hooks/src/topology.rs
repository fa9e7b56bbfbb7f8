//! What hangs below a PCIe port. Only read when a line speaks of one.
use triage_core::arrange::Arrange as _;
use triage_core::facts::pci::{PciDevice, PciKind};
use triage_core::pipeline::Endpoint;
use triage_core::{Payload, PciAddress, Resource};
use triage_host::facts::pci;
use triage_host::proc::Root;

use crate::look::Look;

/// Words of the kernel's lines about PCIe ports.
const PORTS: &[&str] = &["pcieport", "pciehp", "AER", "DPC", "PCIe Bus Error"];

/// GPUs and network adapters with the bridges above them; none where nothing of this pass asks for it.
pub(crate) fn endpoints(root: &Root, look: &Look) -> Vec<Endpoint> {
    let speaks_of_ports = look.observations.iter().any(|observation| match &observation.payload {
        Payload::Line(line) => PORTS.iter().any(|word| line.contains(word)),
        _ => false,
    });
    if !speaks_of_ports {
        return Vec::new();
    }
    let facts = pci::read(root);
    let devices = facts.said.iter().flat_map(|facts| &facts.devices);
    devices.filter_map(|device| endpoint(root, device)).collect()
}

fn endpoint(root: &Root, device: &PciDevice) -> Option<Endpoint> {
    let address = device.address;
    let resource = match device.kind {
        PciKind::Gpu => Resource::Gpu(address),
        PciKind::NvSwitch => Resource::NvSwitch(address),
        PciKind::Nic => adapter(root, address).map_or(Resource::Pci(address), Resource::Nic),
        PciKind::Other => return None,
    };
    let above = device.root_port.into_iter().chain(device.port).collect();
    Some(Endpoint { resource, address, above })
}

/// The name the kernel's lines use of an adapter: that of its RDMA device, else of its interface.
fn adapter(root: &Root, address: PciAddress) -> Option<String> {
    let folder = root.at(format!("/sys/bus/pci/devices/{address}"));
    ["infiniband", "net"].iter().find_map(|kind| {
        let entries = std::fs::read_dir(folder.join(kind)).ok()?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.arrange();
        names.into_iter().next()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use triage_core::{BootId, NodeName, Observation, Provenance, SourceKind, Stamp};

    use super::*;

    fn look(line: &str) -> Look {
        let observation = Observation {
            node: NodeName::from("n1"),
            boot: BootId::from("b1"),
            source: SourceKind::Kmsg,
            stream: String::new(),
            cursor: 1,
            at: Stamp::from_secs(1),
            provenance: Provenance::Trusted,
            synthetic: false,
            payload: Payload::Line(line.to_owned()),
        };
        Look { observations: vec![observation], ..Look::default() }
    }

    /// A GPU and an adapter, each behind a root port of its own.
    fn machine() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let bus = folder.path().join("sys/bus/pci/devices");
        fs::create_dir_all(&bus).unwrap();
        for (port, function, class, vendor) in [
            ("0000:40:01.1", "0000:41:00.0", "0x030200", "0x10de"),
            ("0000:40:03.1", "0000:42:00.0", "0x020700", "0x15b3"),
        ] {
            let real = folder.path().join("sys/devices/pci0000:40").join(port).join(function);
            fs::create_dir_all(&real).unwrap();
            for (name, text) in [("class", class), ("vendor", vendor), ("device", "0x2330")] {
                fs::write(real.join(name), format!("{text}\n")).unwrap();
            }
            symlink(&real, bus.join(function)).unwrap();
        }
        fs::create_dir_all(bus.join("0000:42:00.0/infiniband/mlx5_3")).unwrap();
        folder
    }

    #[test]
    fn what_hangs_below_a_port_is_named_as_the_kernels_lines_name_it() {
        let folder = machine();
        let look = look("pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:40:01.1");
        let found = endpoints(&Root::new(folder.path()), &look);
        let told: Vec<(String, bool)> = found
            .iter()
            .map(|e| (e.resource.to_string(), e.above.contains(&"0000:40:01.1".parse().unwrap())))
            .collect();
        assert_eq!(told, [("gpu:0000:41:00.0".to_owned(), true), ("nic:mlx5_3".to_owned(), false)]);
    }

    #[test]
    fn nobody_looks_at_the_bus_for_a_line_about_something_else() {
        let folder = machine();
        assert!(endpoints(&Root::new(folder.path()), &look("nfs: server filer1 OK")).is_empty());
    }
}
