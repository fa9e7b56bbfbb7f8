//! What a node had when it was admitted: learned once, on a person's word or when nothing speaks against the node, and compared
//! with ever after. A difference is told, never taken over in silence.
mod diff;
mod learn;

use serde::{Deserialize, Serialize};

pub use diff::{Difference, diff};
pub(crate) use learn::isolation;
pub use learn::learn;

use crate::facts::host::Firmware;
use crate::{BootId, PciAddress, Stamp};

/// What a node had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Baseline {
    /// When it was learned.
    pub at: Stamp,
    /// In which boot.
    pub boot: BootId,
    /// GPUs, in NVML's order.
    pub gpus: Vec<BaseGpu>,
    /// Driver version.
    pub driver: Option<String>,
    /// RDMA ports.
    pub ports: Vec<BasePort>,
    /// Network interfaces with hardware behind them.
    pub interfaces: Vec<BaseInterface>,
    /// Loaded kernel modules of those that are looked at.
    pub modules: Vec<String>,
    /// PCIe width of GPUs, switches and adapters, lanes.
    pub widths: Vec<BaseWidth>,
    /// Memory, KiB.
    pub memory_kib: Option<u64>,
    /// Swap space, KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_kib: Option<u64>,
    /// The machine's firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// Disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<BaseDisk>,
    /// Version of `mlx5_core`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mlx5: Option<String>,
    /// The IOMMU was on for the GPUs and adapters, and how many of the bridges above them redirected peer traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Mount points, sorted; of filesystems that hold data.
    pub mounts: Vec<String>,
    /// Running services of those that are looked at, sorted.
    pub services: Vec<String>,
}

/// One GPU. History follows its serial number, its place is where it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseGpu {
    /// Where it was.
    pub pci: Option<PciAddress>,
    /// Board serial number.
    pub serial: Option<String>,
    /// `GPU-...`.
    pub uuid: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// VBIOS version.
    pub vbios: Option<String>,
    /// InfoROM image version.
    pub inforom: Option<String>,
    /// Largest PCIe generation of card and slot.
    pub gen_max: Option<u32>,
    /// NVLinks that were up.
    pub nvlinks: Option<u32>,
    /// Rows remapped by then.
    pub remapped: Option<u32>,
    /// Power limit in force, milliwatts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_mw: Option<u32>,
}

/// One disk, known by its serial number: names are given anew at every boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseDisk {
    /// What it was called.
    pub name: String,
    /// Serial number or world-wide name.
    pub serial: String,
    /// Model.
    pub model: Option<String>,
    /// Firmware version.
    pub firmware: Option<String>,
}

/// What may stand between a GPU and an adapter that want to talk to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Isolation {
    /// The IOMMU is on for them.
    pub iommu: bool,
    /// Bridges that send peer traffic up to the root (Access Control Services).
    pub redirecting: u32,
}

/// One RDMA port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BasePort {
    /// `mlx5_0`.
    pub device: String,
    /// From 1.
    pub port: u32,
    /// It was active.
    pub up: bool,
    /// Rate, Mbit/s; of a port that was up.
    pub rate_mbps: Option<u64>,
    /// Firmware version.
    pub firmware: Option<String>,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseInterface {
    /// `eth0`.
    pub name: String,
    /// It had a carrier.
    pub up: bool,
    /// Speed, Mbit/s; of an interface that was up.
    pub rate_mbps: Option<u64>,
}

/// PCIe width of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseWidth {
    /// The function.
    pub pci: PciAddress,
    /// Lanes.
    pub lanes: u32,
}

/// A baseline with its circumstances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// What the node had.
    pub baseline: Baseline,
    /// Who learned it: a person's name or uid; empty: the health check by itself.
    pub by: String,
    /// Why.
    pub why: String,
}

impl Baseline {
    /// The GPU that was in this place.
    pub fn at(&self, address: PciAddress) -> Option<&BaseGpu> {
        self.gpus.iter().find(|gpu| gpu.pci == Some(address))
    }

    /// The GPU with this serial number.
    pub fn by_serial(&self, serial: &str) -> Option<&BaseGpu> {
        self.gpus.iter().find(|gpu| gpu.serial.as_deref() == Some(serial))
    }

    /// A port.
    pub fn port(&self, device: &str, port: u32) -> Option<&BasePort> {
        self.ports.iter().find(|p| p.device == device && p.port == port)
    }

    /// An interface.
    pub fn interface(&self, name: &str) -> Option<&BaseInterface> {
        self.interfaces.iter().find(|i| i.name == name)
    }

    /// The PCIe width of a function, lanes.
    pub fn width_at(&self, address: PciAddress) -> Option<u32> {
        self.widths.iter().find(|width| width.pci == address).map(|width| width.lanes)
    }

    /// Whether it says anything: nothing could be read on a node where it does not.
    pub fn is_empty(&self) -> bool {
        *self == Self { at: self.at, boot: self.boot.clone(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
