//! From what was read to a baseline.
use super::{BaseDisk, BaseGpu, BaseInterface, BasePort, BaseWidth, Baseline, Isolation};
use crate::facts::host::{Disk, Firmware};
use crate::facts::nic::{NetInterface, RdmaPort};
use crate::facts::pci::PciFacts;
use crate::facts::{NodeFacts, Sheet};
use crate::reading::{GpuReading, NvmlReading, NvmlState};

/// What this node has now, as far as it could be read.
pub fn learn(facts: &NodeFacts, nvml: Option<&NvmlReading>) -> Baseline {
    let nvml = nvml.filter(|reading| reading.state == NvmlState::Ok);
    let nics = said(facts.nic.as_ref());
    let pci = said(facts.pci.as_ref()).into_iter().flat_map(|pci| &pci.devices);
    let widths = pci.filter_map(|device| Some(BaseWidth { pci: device.address, lanes: device.link.width? }));
    let mounted = said(facts.mounts.as_ref()).into_iter().flat_map(|mounts| &mounts.mounted);
    Baseline {
        at: facts.at,
        boot: facts.boot.clone(),
        gpus: nvml.into_iter().flat_map(|reading| &reading.gpus).filter(|gpu| !gpu.lost).map(gpu).collect(),
        driver: nvml.and_then(|reading| reading.driver_version.clone()),
        ports: nics.into_iter().flat_map(|nics| &nics.ports).map(port).collect(),
        interfaces: nics.into_iter().flat_map(|nics| &nics.interfaces).map(interface).collect(),
        modules: said(facts.driver.as_ref()).map(|driver| driver.modules.clone()).unwrap_or_default(),
        widths: widths.collect(),
        memory_kib: said(facts.memory.as_ref()).map(|memory| memory.total_kib),
        swap_kib: said(facts.memory.as_ref()).and_then(|memory| memory.swap_kib),
        firmware: said(facts.firmware.as_ref()).filter(|firmware| **firmware != Firmware::default()).cloned(),
        disks: said(facts.disks.as_ref()).into_iter().flat_map(|d| &d.disks).filter_map(disk).collect(),
        mlx5: nics.and_then(|nics| nics.mlx5.clone()),
        isolation: said(facts.pci.as_ref()).and_then(isolation),
        mounts: sorted(mounted.map(|mount| mount.path.clone())),
        services: sorted(said(facts.services.as_ref()).into_iter().flat_map(|s| s.running.iter().cloned())),
    }
}

fn said<T>(sheet: Option<&Sheet<T>>) -> Option<&T> {
    sheet?.said.as_ref()
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn gpu(gpu: &GpuReading) -> BaseGpu {
    let links = gpu.nvlinks.iter().filter(|link| link.active).count();
    BaseGpu {
        pci: gpu.pci,
        serial: gpu.serial.clone(),
        uuid: gpu.uuid.clone(),
        name: gpu.name.clone(),
        vbios: gpu.vbios.clone(),
        inforom: gpu.inforom.clone(),
        gen_max: gpu.pcie_gen_max,
        nvlinks: u32::try_from(links).ok(),
        remapped: gpu.remap_corrected.zip(gpu.remap_uncorrected).map(|(a, b)| a.saturating_add(b)),
        power_limit_mw: gpu.power_limit_mw,
    }
}

/// One without a serial number cannot be told from another.
fn disk(disk: &Disk) -> Option<BaseDisk> {
    Some(BaseDisk {
        name: disk.name.clone(),
        serial: disk.serial.clone()?,
        model: disk.model.clone(),
        firmware: disk.firmware.clone(),
    })
}

/// `None` on a node with no GPU and no adapter on its bus.
pub(crate) fn isolation(pci: &PciFacts) -> Option<Isolation> {
    let devices = || pci.devices.iter().filter(|device| device.answers != Some(false));
    devices().next()?;
    let redirecting = devices().filter(|device| device.port_redirects == Some(true)).count();
    Some(Isolation {
        iommu: devices().any(|device| device.iommu_group.is_some()),
        redirecting: u32::try_from(redirecting).unwrap_or(u32::MAX),
    })
}

fn port(port: &RdmaPort) -> BasePort {
    let up = port.state == "active";
    BasePort {
        device: port.device.clone(),
        port: port.port,
        up,
        rate_mbps: port.rate_mbps.filter(|_| up),
        firmware: port.firmware.clone(),
    }
}

fn interface(interface: &NetInterface) -> BaseInterface {
    let up = interface.carrier == Some(true);
    BaseInterface { name: interface.name.clone(), up, rate_mbps: interface.speed_mbps.filter(|_| up) }
}
