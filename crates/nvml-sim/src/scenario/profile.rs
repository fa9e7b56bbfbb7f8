//! The name of a MIG profile, `3g.40gb` or `1c.3g.40gb`, as `nvidia-smi mig -lgip` writes it.
use serde::Deserialize;

/// A MIG device's share of its GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Profile {
    /// Compute slices of the device.
    pub(crate) compute: u32,
    /// Slices of the GPU instance it is in.
    pub(crate) slices: u32,
    /// Memory, GiB as the name has it.
    gib: u32,
}

impl Profile {
    /// Memory of the device, MiB: NVIDIA's names are rounded up.
    pub(crate) fn memory_mib(self) -> u64 {
        (u64::from(self.gib) * 1024).saturating_sub(384)
    }
}

impl TryFrom<String> for Profile {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let parse = || {
            let (slices, memory) = name.split_once("g.")?;
            let gib = memory.strip_suffix("gb")?.parse().ok()?;
            let (compute, slices) = match slices.split_once("c.") {
                Some((compute, slices)) => (compute.parse().ok()?, slices.parse().ok()?),
                None => (slices.parse().ok()?, slices.parse().ok()?),
            };
            ((1..=7).contains(&slices) && compute <= slices && gib > 0).then_some(Self {
                compute,
                slices,
                gib,
            })
        };
        parse().ok_or_else(|| format!("\"{name}\" is no MIG profile: write one like 1g.10gb or 1c.3g.40gb"))
    }
}
