//! NVIDIA's driver and its services, as files tell of them: without asking NVML, which may hang or not be there.
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
    /// Why this could not be read, in one line.
    pub blind: Option<String>,
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
