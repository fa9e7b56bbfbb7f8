//! MIG devices: how many there are, handles for them, what each is made of.
use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t, nvmlReturn_t};

use crate::call;
use crate::ffi::{Out, device_functions};
use crate::scenario::{Code, MigMode};

/// Most MIG devices of one GPU: seven on every board so far.
const MOST: c_uint = 7;

pub(super) const ATTRIBUTES: &[&str] = &["nvmlDeviceGetAttributes_v2"];

device_functions! { FUNCTIONS;
    /// Most MIG devices this GPU can have; 0 for one that knows no MIG.
    fn nvmlDeviceGetMaxMigDeviceCount(gpu, count: Out<c_uint>) {
        count.set(if gpu.mig == MigMode::NotSupported { 0 } else { MOST })
    }

    /// Handle of a MIG device. Places may be empty.
    fn nvmlDeviceGetMigDeviceHandleByIndex(gpu, index: c_uint, handle: Out<nvmlDevice_t>) {
        if gpu.mig == MigMode::NotSupported {
            return Err(Code::NOT_SUPPORTED);
        }
        if index >= MOST {
            return Err(Code::INVALID_ARGUMENT);
        }
        let there = gpu.mig == MigMode::Enabled && (index as usize) < gpu.mig_devices.len();
        if there { handle.set(call::mig_handle(gpu.number, index)) } else { Err(Code::NOT_FOUND) }
    }
}

/// What a MIG device is made of: slices of compute and memory.
///
/// # Safety
/// `attributes` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAttributes_v2(
    device: nvmlDevice_t,
    attributes: Out<nvmlDeviceAttributes_t>,
) -> nvmlReturn_t {
    let (gpu, place) = call::mig_place(device);
    call::device("nvmlDeviceGetAttributes_v2", gpu, |gpu| {
        // A whole GPU has none: NVML's documentation, "only on MIG devices".
        let place = place.ok_or(Code::NOT_SUPPORTED)?;
        let profile = gpu.mig_devices.get(place as usize).ok_or(Code::NOT_FOUND)?;
        attributes.set(nvmlDeviceAttributes_t {
            multiprocessorCount: 16 * profile.compute,
            sharedCopyEngineCount: profile.compute,
            sharedDecoderCount: profile.compute,
            sharedEncoderCount: 0,
            sharedJpegCount: profile.compute,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: profile.slices,
            computeInstanceSliceCount: profile.compute,
            memorySizeMB: profile.memory_mib(),
        })
    })
}
