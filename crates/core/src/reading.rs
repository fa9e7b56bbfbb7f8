//! What NVML says of a node's GPUs in one sweep. The field names of [`GpuReading`] are those of `gpus.json` in an
//! incident bundle; every one but the index may be missing, because drivers and boards differ.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::PciAddress;

/// One sweep over NVML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct NvmlReading {
    /// Whether NVML could be used at all.
    pub state: NvmlState,
    /// What the state says in words, one line; empty when it is `ok`.
    pub detail: String,
    /// Driver version, such as `570.86.15`.
    pub driver_version: Option<String>,
    /// NVML library version.
    pub nvml_version: Option<String>,
    /// Every GPU NVML counts, by index; one that is lost is listed with `lost`.
    pub gpus: Vec<GpuReading>,
}

/// Whether NVML could be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum NvmlState {
    /// It answered.
    Ok,
    /// No `libnvidia-ml.so.1`: a node without NVIDIA's driver.
    #[default]
    LibraryMissing,
    /// The library is there, the kernel driver is not loaded.
    DriverNotLoaded,
    /// Library and kernel module are of different versions.
    VersionMismatch,
    /// The caller may not use it.
    NoPermission,
    /// Any other failure; the detail says which.
    Failed,
}

/// One GPU in one sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct GpuReading {
    /// NVML index.
    pub index: u32,
    /// `GPU-...`.
    pub uuid: Option<String>,
    /// PCI address.
    pub pci: Option<PciAddress>,
    /// Board serial number.
    pub serial: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// Minor number: N of `/dev/nvidiaN`.
    pub minor: Option<u32>,
    /// NVML says the GPU is lost.
    pub lost: bool,
    /// Uncorrected ECC errors since the driver was loaded.
    pub ecc_uncorrected: Option<u64>,
    /// Uncorrected ECC errors over the board's life.
    pub ecc_uncorrected_aggregate: Option<u64>,
    /// Corrected ECC errors since the driver was loaded.
    pub ecc_corrected: Option<u64>,
    /// Corrected ECC errors over the board's life.
    pub ecc_corrected_aggregate: Option<u64>,
    /// Rows remapped because of corrected errors.
    pub remap_corrected: Option<u32>,
    /// Rows remapped because of uncorrected errors.
    pub remap_uncorrected: Option<u32>,
    /// A row remap waits for a GPU reset.
    pub remap_pending: Option<bool>,
    /// A row could not be remapped: the board is to be replaced.
    pub remap_failed: Option<bool>,
    /// Retired pages (boards before Ampere), single and double bit together.
    pub retired_pages: Option<u32>,
    /// Page retirements that wait for a reboot.
    pub retired_pending: Option<bool>,
    /// What the driver asks for: `none`, `gpu_reset`, `node_reboot`, `drain_p2p`, `drain_and_reset`.
    pub recovery_action: Option<String>,
    /// Active clock event (throttle) reasons: `hw_thermal`, `hw_power_brake`, `sw_thermal`, `sw_power_cap`, `hw_slowdown` ...
    pub throttle: Option<Vec<String>>,
    /// GPU temperature, degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Temperature at which hardware slows down, degrees Celsius.
    pub temperature_slowdown_c: Option<u32>,
    /// Power draw, milliwatts.
    pub power_mw: Option<u32>,
    /// Enforced power limit, milliwatts.
    pub power_limit_mw: Option<u32>,
    /// Share of the last sample period in which a kernel ran, percent.
    pub utilization: Option<u32>,
    /// Current PCIe width, lanes.
    pub pcie_width: Option<u32>,
    /// Largest PCIe width of card and slot, lanes.
    pub pcie_width_max: Option<u32>,
    /// Current PCIe generation. Falls while idle: power saving, no fault.
    pub pcie_gen: Option<u32>,
    /// Largest PCIe generation of card and slot.
    pub pcie_gen_max: Option<u32>,
    /// PCIe replays since the driver was loaded.
    pub pcie_replays: Option<u32>,
    /// NVLinks, in link order.
    pub nvlinks: Vec<NvLinkReading>,
    /// MIG mode is on.
    pub mig: Option<bool>,
    /// MIG devices by profile (`1g.10gb`), where MIG mode is on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mig_profiles: BTreeMap<String, u32>,
    /// Persistence mode is on.
    pub persistence: Option<bool>,
    /// VBIOS version.
    pub vbios: Option<String>,
    /// InfoROM image version.
    pub inforom: Option<String>,
    /// Fabric registration: `not_supported`, `not_started`, `in_progress`, `completed`.
    pub fabric_state: Option<String>,
    /// Fabric registration status: `success`, or an error's name.
    pub fabric_status: Option<String>,
    /// Memory in use, bytes.
    pub memory_used: Option<u64>,
    /// Memory installed, bytes.
    pub memory_total: Option<u64>,
    /// Processes with a compute context.
    pub processes: Vec<GpuProcess>,
    /// Calls that failed for another reason than "not supported".
    pub errors: Vec<CallError>,
}

/// One NVLink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct NvLinkReading {
    /// Link number on the GPU.
    pub link: u32,
    /// The link is up.
    pub active: bool,
    /// Replay errors.
    pub replays: Option<u64>,
    /// Recovery errors.
    pub recoveries: Option<u64>,
    /// Flit CRC errors.
    pub crc: Option<u64>,
}

/// A process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct GpuProcess {
    /// Process id.
    pub pid: u32,
    /// Memory it uses, bytes, where NVML tells.
    pub memory: Option<u64>,
}

/// An NVML call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct CallError {
    /// The function's name in NVML.
    pub call: String,
    /// NVML's word for the error.
    pub error: String,
}
