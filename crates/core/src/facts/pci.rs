//! What the PCI bus says of the functions that matter here: NVIDIA GPUs and NVSwitches, network adapters. A GPU that NVML has
//! lost is still on the bus or it is not, and only the bus can tell.
use serde::{Deserialize, Serialize};

use crate::PciAddress;

/// The functions of interest, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PciFacts {
    /// GPUs, NVSwitches and network adapters; virtual functions are left out.
    pub devices: Vec<PciDevice>,
}

impl PciFacts {
    /// Functions of one kind, by address.
    pub fn of(&self, kind: PciKind) -> impl Iterator<Item = &PciDevice> {
        self.devices.iter().filter(move |device| device.kind == kind)
    }

    /// The function at that address.
    pub fn at(&self, address: PciAddress) -> Option<&PciDevice> {
        self.devices.iter().find(|device| device.address == address)
    }
}

/// What a function is, by its class code and vendor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PciKind {
    /// NVIDIA, class 0300 (VGA) or 0302 (3D controller).
    Gpu,
    /// NVIDIA, class 0680 (bridge of another kind).
    NvSwitch,
    /// Class 0200 (Ethernet) or 0207 (InfiniBand).
    Nic,
    /// Anything else, which is not kept.
    #[default]
    Other,
}

/// One function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PciDevice {
    /// Where it is.
    pub address: PciAddress,
    /// What it is.
    pub kind: PciKind,
    /// Vendor and device number: `10de:2330`.
    pub id: String,
    /// The kernel driver bound to it.
    pub driver: Option<String>,
    /// Whether its configuration space answers. One that reads as all ones has left the bus, though the kernel still lists it
    /// (`lspci` shows "rev ff"). `None`: not asked, because the function is powered down, or could not be read.
    pub answers: Option<bool>,
    /// Its link, as the function itself tells it.
    pub link: PcieLink,
    /// The bridge right above it, a switch's port or the root port.
    pub port: Option<PciAddress>,
    /// The root port it hangs under; the same as `port` without a switch between.
    pub root_port: Option<PciAddress>,
    /// The width that the bridge above could do, lanes. A card in a slot of eight lanes is no fault of the card.
    pub port_width_max: Option<u32>,
    /// The speed that the bridge above could do, hundredths of GT/s.
    pub port_speed_max: Option<u32>,
    /// Advanced error reporting of the function, since it was enumerated.
    pub aer: Option<AerCounts>,
    /// Advanced error reporting of the bridge above: errors that the link's other end noticed.
    pub port_aer: Option<AerCounts>,
    /// The bridge above sends traffic between its devices up to the root (Access Control Services, P2P request redirect);
    /// `None`: it cannot, or its extended configuration space may not be read.
    pub port_redirects: Option<bool>,
    /// Group of the IOMMU; `None` where it is off.
    pub iommu_group: Option<u32>,
    /// NUMA node; `None` where the firmware does not tell.
    pub numa: Option<u32>,
}

/// A PCI Express link. A value the kernel calls unknown is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PcieLink {
    /// Current speed, hundredths of GT/s: 250, 500, 800, 1600, 3200, 6400. Falls while idle.
    pub speed: Option<u32>,
    /// Largest speed of the function, hundredths of GT/s.
    pub speed_max: Option<u32>,
    /// Current width, lanes.
    pub width: Option<u32>,
    /// Largest width of the function, lanes.
    pub width_max: Option<u32>,
}

/// Totals of advanced error reporting: the `TOTAL_ERR_*` lines of `aer_dev_correctable`, `_nonfatal`, `_fatal`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AerCounts {
    /// Corrected by the link itself, by a replay for instance.
    pub correctable: u64,
    /// Uncorrected; the link goes on.
    pub nonfatal: u64,
    /// Uncorrected; the link is down until it is reset.
    pub fatal: u64,
}
