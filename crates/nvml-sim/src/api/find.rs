//! How many GPUs there are, and handles for them.
use std::ffi::c_uint;
use std::time::SystemTime;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::call;
use crate::ffi::{Out, Text};
use crate::scenario::{Code, PciAddress, Scenario, Values};

pub(super) const FUNCTIONS: &[&str] = &[
    "nvmlDeviceGetCount",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByPciBusId",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetHandleBySerial",
];

fn count(function: &str, count: Out<c_uint>) -> nvmlReturn_t {
    call::system(function, |scenario| {
        let present = scenario.present(SystemTime::now()).len();
        count.set(c_uint::try_from(present).unwrap_or(c_uint::MAX))
    })
}

fn by_index(function: &str, index: c_uint, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    call::find(function, device, |_, present| {
        present.get(index as usize).copied().ok_or(Code::INVALID_ARGUMENT)
    })
}

fn by_pci(function: &str, text: &Text, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    call::find(function, device, |scenario, present| {
        let address: PciAddress = text.get()?.parse().map_err(|_| Code::INVALID_ARGUMENT)?;
        the(scenario, present, |values| values.pci == address)
    })
}

/// The GPU whose identity fits. Identities do not depend on faults, unless a `set` changes them.
fn the(scenario: &Scenario, present: &[u32], fits: impl Fn(&Values) -> bool) -> Result<u32, Code> {
    let now = SystemTime::now();
    let fitting = |gpu: &&u32| scenario.values(**gpu, now).is_some_and(|values| fits(&values));
    present.iter().find(fitting).copied().ok_or(Code::NOT_FOUND)
}

/// Number of GPUs, lost ones included.
///
/// # Safety
/// `device_count` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount(device_count: Out<c_uint>) -> nvmlReturn_t {
    count("nvmlDeviceGetCount", device_count)
}

/// Number of GPUs, lost ones included.
///
/// # Safety
/// `device_count` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(device_count: Out<c_uint>) -> nvmlReturn_t {
    count("nvmlDeviceGetCount_v2", device_count)
}

/// Handle of the GPU with that index.
///
/// # Safety
/// `device` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    by_index("nvmlDeviceGetHandleByIndex", index, device)
}

/// Handle of the GPU with that index.
///
/// # Safety
/// `device` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    by_index("nvmlDeviceGetHandleByIndex_v2", index, device)
}

/// Handle of the GPU at that bus address.
///
/// # Safety
/// `bus_id` is null or a C string, `device` null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(bus_id: Text, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    by_pci("nvmlDeviceGetHandleByPciBusId", &bus_id, device)
}

/// Handle of the GPU at that bus address.
///
/// # Safety
/// `bus_id` is null or a C string, `device` null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus_id: Text,
    device: Out<nvmlDevice_t>,
) -> nvmlReturn_t {
    by_pci("nvmlDeviceGetHandleByPciBusId_v2", &bus_id, device)
}

/// Handle of the GPU with that UUID.
///
/// # Safety
/// `uuid` is null or a C string, `device` null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: Text, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    call::find("nvmlDeviceGetHandleByUUID", device, |scenario, present| {
        let uuid = uuid.get()?;
        the(scenario, present, |values| values.uuid == uuid)
    })
}

/// Handle of the GPU with that serial number.
///
/// # Safety
/// `serial` is null or a C string, `device` null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: Text, device: Out<nvmlDevice_t>) -> nvmlReturn_t {
    call::find("nvmlDeviceGetHandleBySerial", device, |scenario, present| {
        let serial = serial.get()?;
        the(scenario, present, |values| values.serial == serial)
    })
}
