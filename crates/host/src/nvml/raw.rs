//! Calls that `nvml-wrapper` 0.13 does not have, or has in a form that hides what a newer driver says.
use std::mem::zeroed;

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings as nv;

use super::call::is_absence;

/// Remapped rows of a GPU.
pub(super) struct RemappedRows {
    pub(super) corrected: u32,
    pub(super) uncorrected: u32,
    pub(super) pending: bool,
    pub(super) failed: bool,
}

/// Registration of a GPU with the fabric manager.
pub(super) struct Fabric {
    pub(super) state: u64,
    /// Return code of the registration; means something only once it is completed.
    pub(super) status: u32,
}

/// Remapped rows (Ampere and newer).
pub(super) fn remapped_rows(gpu: &Device<'_>) -> Result<RemappedRows, NvmlError> {
    let call = nvml_sym(gpu.nvml().lib().nvmlDeviceGetRemappedRows.as_ref())?;
    let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: the handle is one that NVML gave; the pointers are valid for writes.
    let code = unsafe { call(gpu.handle(), &mut corrected, &mut uncorrected, &mut pending, &mut failed) };
    nvml_try(code)?;
    Ok(RemappedRows { corrected, uncorrected, pending: pending != 0, failed: failed != 0 })
}

/// Mask of the reasons why clocks are held down, with the bits that the wrapper does not know.
pub(super) fn throttle(gpu: &Device<'_>) -> Result<u64, NvmlError> {
    let lib = gpu.nvml().lib();
    // The new name came with driver 535, the old one is to go with CUDA 14.
    let call = nvml_sym(lib.nvmlDeviceGetCurrentClocksEventReasons.as_ref())
        .or_else(|_| nvml_sym(lib.nvmlDeviceGetCurrentClocksThrottleReasons.as_ref()))?;
    let mut mask = 0;
    // SAFETY: the handle is one that NVML gave; the pointer is valid for writes.
    nvml_try(unsafe { call(gpu.handle(), &mut mask) })?;
    Ok(mask)
}

/// Temperature of the GPU's core, degrees Celsius, in the call that stays (`nvmlDeviceGetTemperature` is to go with CUDA 14).
pub(super) fn temperature(gpu: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(gpu.nvml().lib().nvmlDeviceGetTemperatureV.as_ref())?;
    let mut answer = nv::nvmlTemperature_t {
        version: tag::<nv::nvmlTemperature_t>(1),
        sensorType: nv::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU,
        temperature: 0,
    };
    // SAFETY: the handle is one that NVML gave; the structure is tagged with its own version and size.
    nvml_try(unsafe { call(gpu.handle(), &mut answer) })?;
    // Below zero: a machine room that cold is not where an error is made of it.
    Ok(u32::try_from(answer.temperature).unwrap_or(0))
}

/// State of an NVLink as a number; the wrapper refuses the newer ones.
pub(super) fn link_state(gpu: &Device<'_>, link: u32) -> Result<u32, NvmlError> {
    let call = nvml_sym(gpu.nvml().lib().nvmlDeviceGetNvLinkState.as_ref())?;
    let mut state = 0;
    // SAFETY: the handle is one that NVML gave; the pointer is valid for writes.
    nvml_try(unsafe { call(gpu.handle(), link, &mut state) })?;
    Ok(state)
}

/// Registration with the fabric manager, in the newest version of the call that the driver has.
pub(super) fn fabric(gpu: &Device<'_>) -> Result<Fabric, NvmlError> {
    match fabric_versioned(gpu) {
        // A driver that has the call but not our version of its structure calls that a bad argument.
        Err(error) if is_absence(&error) || matches!(error, NvmlError::InvalidArg) => fabric_first(gpu),
        other => other,
    }
}

fn fabric_versioned(gpu: &Device<'_>) -> Result<Fabric, NvmlError> {
    let call = nvml_sym(gpu.nvml().lib().nvmlDeviceGetGpuFabricInfoV.as_ref())?;
    // SAFETY: numbers and arrays of numbers, for which zero is a value.
    let mut info: nv::nvmlGpuFabricInfoV_t = unsafe { zeroed() };
    // Version 2 is what every driver with this call knows (from 545 on), and a prefix of version 3, which the
    // parameter's type is.
    info.version = tag::<nv::nvmlGpuFabricInfo_v2_t>(2);
    // SAFETY: the handle is one that NVML gave; the structure is at least as long as its tag says.
    nvml_try(unsafe { call(gpu.handle(), &mut info) })?;
    Ok(Fabric { state: info.state.into(), status: info.status })
}

fn fabric_first(gpu: &Device<'_>) -> Result<Fabric, NvmlError> {
    let call = nvml_sym(gpu.nvml().lib().nvmlDeviceGetGpuFabricInfo.as_ref())?;
    // SAFETY: numbers and arrays of numbers, for which zero is a value.
    let mut info: nv::nvmlGpuFabricInfo_t = unsafe { zeroed() };
    // SAFETY: the handle is one that NVML gave; the pointer is valid for writes.
    nvml_try(unsafe { call(gpu.handle(), &mut info) })?;
    Ok(Fabric { state: info.state.into(), status: info.status })
}

/// Version tag of a structure of NVML: its size, and its number in the highest byte.
const fn tag<T>(version: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "structures of NVML are small")]
    let size = size_of::<T>() as u32;
    size | (version << 24)
}
