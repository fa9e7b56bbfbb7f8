//! What Slurm's own files say this node has: the GPUs of `gres.conf` and `slurm.conf`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The generic resources of this node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GresFacts {
    /// The GPUs Slurm is told of; `None`: no file names any.
    pub gpus: Option<ConfiguredGpus>,
}

/// GPUs as Slurm's files name them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfiguredGpus {
    /// How many. MIG devices count one each, as they do in Slurm.
    pub count: u32,
    /// Who says so: `gres.conf` or `slurm.conf`.
    pub from: String,
    /// Numbers N of the `/dev/nvidiaN` that are named, sorted.
    pub files: Vec<u32>,
    /// slurmd looks for the GPUs itself (`AutoDetect`).
    pub autodetect: bool,
    /// The files speak of NVIDIA's devices: a `/dev/nvidiaN`, or `AutoDetect=nvml` or `nvidia`. Without that they may be
    /// another maker's, or stand-ins of a test cluster.
    pub nvidia: bool,
    /// Some of them are MIG devices: the count is then not one of boards.
    pub mig: bool,
    /// How many of each `Type`, where one is given.
    pub types: BTreeMap<String, u32>,
}

impl ConfiguredGpus {
    /// How many boards the node must have; `None` where MIG devices hide it.
    pub fn boards(&self) -> Option<u32> {
        if !self.mig {
            return Some(self.count);
        }
        u32::try_from(self.files.len()).ok().filter(|boards| *boards > 0)
    }
}
