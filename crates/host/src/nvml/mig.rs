//! MIG devices of a GPU, by profile.
use std::collections::BTreeMap;

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;

use super::call::Calls;

/// Most places of one GPU that are looked at: boards have seven.
const MAX_PLACES: u32 = 16;

/// How many devices there are of each profile. Empty where the driver does not tell, which the calls note unless it is too old.
pub(super) fn profiles(gpu: &Device<'_>, calls: &mut Calls) -> BTreeMap<String, u32> {
    let mut profiles = BTreeMap::new();
    let places = calls.get("nvmlDeviceGetMaxMigDeviceCount", || gpu.mig_device_count()).unwrap_or(0);
    for place in 0..places.min(MAX_PLACES) {
        // Places may be empty, before others that are not.
        let device =
            calls.get("nvmlDeviceGetMigDeviceHandleByIndex", || match gpu.mig_device_by_index(place) {
                Err(NvmlError::NotFound) => Ok(None),
                device => device.map(Some),
            });
        let Some(device) = device.flatten() else { continue };
        if let Some(name) = calls.get("nvmlDeviceGetAttributes_v2", || name(&device)) {
            *profiles.entry(name).or_default() += 1;
        }
    }
    profiles
}

/// The profile's name as `nvidia-smi` and Slurm make it: slices, and memory rounded up to GiB. A compute instance that has not all
/// of its GPU instance is told with its own slices in front.
fn name(device: &Device<'_>) -> Result<String, NvmlError> {
    let made_of = device.attributes()?;
    let (slices, compute) = (made_of.gpu_instance_slice_count, made_of.compute_instance_slice_count);
    let gib = made_of.memory_size_mb.div_ceil(1024);
    let part = if compute < slices { format!("{compute}c.") } else { String::new() };
    Ok(format!("{part}{slices}g.{gib}gb"))
}
