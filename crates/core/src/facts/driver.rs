//! NVIDIA's driver and its services, as files tell of them: without asking NVML, which may hang or not be there.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the kernel and `/run` say of NVIDIA's software.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriverFacts {
    /// Loaded kernel modules of the names in [`MODULES`].
    pub modules: Vec<String>,
    /// Version of the loaded driver, from `/proc/driver/nvidia/version`.
    pub version: Option<String>,
    /// Numbers N of the `/dev/nvidiaN` that exist.
    pub device_files: Vec<u32>,
    /// `/dev/nvidiactl` exists.
    pub control_file: bool,
    /// IMEX channels below `/dev/nvidia-caps-imex-channels`; `None`: no such folder.
    pub imex_channels: Option<u32>,
    /// `nv-fabricmanager` runs; `None`: `/proc` could not be looked through.
    pub fabric_manager: Option<bool>,
    /// `nvidia-imex` runs; `None`: `/proc` could not be looked through.
    pub imex: Option<bool>,
    /// An IMEX domain is configured (`/etc/nvidia-imex/nodes_config.cfg` names a node).
    pub imex_configured: bool,
    /// MIG devices (compute instances) by the number N of their GPU's `/dev/nvidiaN`; GPUs without any are not named.
    pub mig_devices: BTreeMap<u32, u32>,
    /// The processes NVML names on the GPUs, as `/proc` knows them.
    pub owners: Vec<GpuOwner>,
}

/// A process on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuOwner {
    /// Process id.
    pub pid: u32,
    /// Its name; empty where `/proc` does not know it.
    pub name: String,
    /// Its owner.
    pub uid: Option<u32>,
    /// The Slurm job whose control group it is in.
    pub job: Option<u32>,
}

/// Kernel modules that are looked for.
pub const MODULES: &[&str] =
    &["nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "mlx5_core", "mlx5_ib"];

impl DriverFacts {
    /// Whether a module is loaded.
    pub fn has_module(&self, name: &str) -> bool {
        self.modules.iter().any(|module| module == name)
    }
}
