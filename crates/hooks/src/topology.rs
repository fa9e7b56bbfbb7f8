//! What hangs below a PCIe port. Only read when a line speaks of one.
use triage_core::facts::pci::{PciDevice, PciKind};
use triage_core::pipeline::Endpoint;
use triage_core::{Payload, PciAddress, Resource};
use triage_host::facts::pci;

use crate::ctx::Ctx;
use crate::look::Look;

/// Words of the kernel's lines about PCIe ports.
const PORTS: &[&str] = &["pcieport", "pciehp", "AER", "DPC", "PCIe Bus Error"];

/// GPUs and network adapters with the bridges above them; none where nothing of this pass asks for it.
pub(crate) fn endpoints(ctx: &Ctx<'_>, look: &Look) -> Vec<Endpoint> {
    let speaks_of_ports = look.observations.iter().any(|observation| match &observation.payload {
        Payload::Line(line) => PORTS.iter().any(|word| line.contains(word)),
        _ => false,
    });
    if !speaks_of_ports {
        return Vec::new();
    }
    let facts = pci::read(&ctx.root);
    let devices = facts.said.iter().flat_map(|facts| &facts.devices);
    devices.filter_map(|device| endpoint(ctx, device)).collect()
}

fn endpoint(ctx: &Ctx<'_>, device: &PciDevice) -> Option<Endpoint> {
    let address = device.address;
    let resource = match device.kind {
        PciKind::Gpu => Resource::Gpu(address),
        PciKind::NvSwitch => Resource::NvSwitch(address),
        PciKind::Nic => adapter(ctx, address).map_or(Resource::Pci(address), Resource::Nic),
        PciKind::Other => return None,
    };
    let above = device.root_port.into_iter().chain(device.port).collect();
    Some(Endpoint { resource, address, above })
}

/// The name the kernel's lines use of an adapter: that of its RDMA device, else of its interface.
fn adapter(ctx: &Ctx<'_>, address: PciAddress) -> Option<String> {
    let folder = ctx.root.at(format!("/sys/bus/pci/devices/{address}"));
    ["infiniband", "net"].iter().find_map(|kind| {
        let entries = std::fs::read_dir(folder.join(kind)).ok()?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.into_iter().next()
    })
}
