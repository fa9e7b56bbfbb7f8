//! The link between GPU and host.
use std::ffi::c_uint;

use crate::ffi::{Out, device_functions};

device_functions! { FUNCTIONS;
    /// Generation in use.
    fn nvmlDeviceGetCurrPcieLinkGeneration(gpu, generation: Out<c_uint>) { generation.set(gpu.pcie_gen) }

    /// Highest generation of GPU and slot.
    fn nvmlDeviceGetMaxPcieLinkGeneration(gpu, generation: Out<c_uint>) { generation.set(gpu.pcie_gen_max) }

    /// Lanes in use.
    fn nvmlDeviceGetCurrPcieLinkWidth(gpu, width: Out<c_uint>) { width.set(gpu.pcie_width) }

    /// Most lanes of GPU and slot.
    fn nvmlDeviceGetMaxPcieLinkWidth(gpu, width: Out<c_uint>) { width.set(gpu.pcie_width_max) }

    /// Replays since the driver was loaded.
    fn nvmlDeviceGetPcieReplayCounter(gpu, replays: Out<c_uint>) { replays.set(gpu.pcie_replays) }
}
