//! Everything NVML says of one GPU.
use nvml_wrapper::enum_wrappers::device::{
    EccCounter, MemoryError, RetirementCause, TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::NVML_GPU_FABRIC_STATE_COMPLETED;
use triage_core::PciAddress;
use triage_core::reading::{GpuProcess, GpuReading};

use super::call::{Calls, is_absence};
use super::{link, mig, raw, words};

/// Reads the GPU with that index. One that is lost keeps its place in the list.
pub(super) fn read(nvml: &Nvml, index: u32) -> GpuReading {
    let mut calls = Calls::default();
    let mut reading = GpuReading { index, ..GpuReading::default() };
    if let Some(gpu) = calls.get("nvmlDeviceGetHandleByIndex_v2", || nvml.device_by_index(index)) {
        identity(&gpu, &mut calls, &mut reading);
        setup(&gpu, &mut calls, &mut reading);
        ecc(&gpu, &mut calls, &mut reading);
        repairs(&gpu, &mut calls, &mut reading);
        heat_and_power(&gpu, &mut calls, &mut reading);
        pcie(&gpu, &mut calls, &mut reading);
        fabric(&gpu, &mut calls, &mut reading);
        use_of(&gpu, &mut calls, &mut reading);
        reading.nvlinks = link::read(&gpu, &mut calls);
    }
    reading.lost = calls.lost;
    reading.errors = calls.errors;
    reading
}

fn identity(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    reading.uuid = calls.get("nvmlDeviceGetUUID", || gpu.uuid());
    reading.serial = calls.get("nvmlDeviceGetSerial", || gpu.serial());
    reading.name = calls.get("nvmlDeviceGetName", || gpu.name());
    reading.minor = calls.get("nvmlDeviceGetMinorNumber", || gpu.minor_number());
    let pci = calls.get("nvmlDeviceGetPciInfo_v3", || gpu.pci_info());
    reading.pci = pci.and_then(|pci| match pci.bus_id.parse::<PciAddress>() {
        Ok(address) => Some(address),
        Err(error) => {
            calls.note_text("nvmlDeviceGetPciInfo_v3", words::one_line(&error.to_string()));
            None
        }
    });
}

fn setup(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    reading.vbios = calls.get("nvmlDeviceGetVbiosVersion", || gpu.vbios_version());
    reading.inforom = calls.get("nvmlDeviceGetInforomImageVersion", || gpu.info_rom_image_version());
    reading.persistence = calls.get("nvmlDeviceGetPersistenceMode", || gpu.is_in_persistent_mode());
    reading.mig = calls.get("nvmlDeviceGetMigMode", || gpu.mig_mode()).map(|mode| mode.current != 0);
    if reading.mig == Some(true) {
        reading.mig_profiles = mig::profiles(gpu, calls);
    }
}

fn ecc(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    let mut total = |error: MemoryError, counter: EccCounter| {
        calls.get("nvmlDeviceGetTotalEccErrors", || gpu.total_ecc_errors(error, counter))
    };
    reading.ecc_uncorrected = total(MemoryError::Uncorrected, EccCounter::Volatile);
    reading.ecc_uncorrected_aggregate = total(MemoryError::Uncorrected, EccCounter::Aggregate);
    reading.ecc_corrected = total(MemoryError::Corrected, EccCounter::Volatile);
    reading.ecc_corrected_aggregate = total(MemoryError::Corrected, EccCounter::Aggregate);
}

fn repairs(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    if let Some(rows) = calls.get("nvmlDeviceGetRemappedRows", || raw::remapped_rows(gpu)) {
        reading.remap_corrected = Some(rows.corrected);
        reading.remap_uncorrected = Some(rows.uncorrected);
        reading.remap_pending = Some(rows.pending);
        reading.remap_failed = Some(rows.failed);
    }
    let mut retired = |cause: RetirementCause| {
        let pages = calls.get("nvmlDeviceGetRetiredPages_v2", || gpu.retired_pages(cause))?;
        u32::try_from(pages.len()).ok()
    };
    let single = retired(RetirementCause::MultipleSingleBitEccErrors);
    let double = retired(RetirementCause::DoubleBitEccError);
    // One of two counts is not their sum.
    reading.retired_pages = single.zip(double).map(|(single, double)| single.saturating_add(double));
    reading.retired_pending =
        calls.get("nvmlDeviceGetRetiredPagesPendingStatus", || gpu.are_pages_pending_retired());
    reading.recovery_action = calls.get("nvmlDeviceGetFieldValues", || recovery_action(gpu)).flatten();
}

/// The recovery action, a field that drivers before 565 do not have. Its number is not among those that CUDA 13.0
/// Update 1 gave to other fields (251 to 273).
fn recovery_action(gpu: &Device<'_>) -> Result<Option<String>, NvmlError> {
    let mut samples = match gpu.field_values_for(&[FieldId(NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)]) {
        Err(NvmlError::InvalidArg) => return Ok(None),
        samples => samples?,
    };
    let Some(sample) = samples.pop() else { return Ok(None) };
    let number = match sample?.value {
        Ok(SampleValue::U32(number)) => u64::from(number),
        Ok(SampleValue::U64(number)) => number,
        Ok(SampleValue::I64(_) | SampleValue::F64(_)) | Err(NvmlError::InvalidArg) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(words::recovery(number)))
}

fn heat_and_power(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    let throttle = calls.get("nvmlDeviceGetCurrentClocksEventReasons", || raw::throttle(gpu));
    reading.throttle = throttle.map(words::throttle);
    reading.temperature_c = temperature(gpu, calls);
    reading.temperature_slowdown_c = calls.get("nvmlDeviceGetTemperatureThreshold", || {
        gpu.temperature_threshold(TemperatureThreshold::Slowdown)
    });
    let rates = calls.get("nvmlDeviceGetUtilizationRates", || gpu.utilization_rates());
    reading.utilization = rates.map(|rates| rates.gpu);
    reading.power_mw = calls.get("nvmlDeviceGetPowerUsage", || gpu.power_usage());
    reading.power_limit_mw = calls.get("nvmlDeviceGetEnforcedPowerLimit", || gpu.enforced_power_limit());
}

fn temperature(gpu: &Device<'_>, calls: &mut Calls) -> Option<u32> {
    if calls.lost {
        return None;
    }
    match raw::temperature(gpu) {
        Err(error) if is_absence(&error) || matches!(error, NvmlError::InvalidArg) => {
            calls.get("nvmlDeviceGetTemperature", || gpu.temperature(TemperatureSensor::Gpu))
        }
        answer => calls.get("nvmlDeviceGetTemperatureV", || answer),
    }
}

fn pcie(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    reading.pcie_gen = calls.get("nvmlDeviceGetCurrPcieLinkGeneration", || gpu.current_pcie_link_gen());
    reading.pcie_gen_max = calls.get("nvmlDeviceGetMaxPcieLinkGeneration", || gpu.max_pcie_link_gen());
    reading.pcie_width = calls.get("nvmlDeviceGetCurrPcieLinkWidth", || gpu.current_pcie_link_width());
    reading.pcie_width_max = calls.get("nvmlDeviceGetMaxPcieLinkWidth", || gpu.max_pcie_link_width());
    reading.pcie_replays = calls.get("nvmlDeviceGetPcieReplayCounter", || gpu.pcie_replay_counter());
}

fn fabric(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    let Some(fabric) = calls.get("nvmlDeviceGetGpuFabricInfoV", || raw::fabric(gpu)) else { return };
    reading.fabric_state = Some(words::fabric_state(fabric.state));
    let completed = fabric.state == u64::from(NVML_GPU_FABRIC_STATE_COMPLETED);
    reading.fabric_status = completed.then(|| words::fabric_status(fabric.status));
}

fn use_of(gpu: &Device<'_>, calls: &mut Calls, reading: &mut GpuReading) {
    if let Some(memory) = calls.get("nvmlDeviceGetMemoryInfo_v2", || gpu.memory_info()) {
        reading.memory_used = Some(memory.used);
        reading.memory_total = Some(memory.total);
    }
    let processes = calls.get("nvmlDeviceGetComputeRunningProcesses_v3", || gpu.running_compute_processes());
    let processes = processes.unwrap_or_default().into_iter().map(|process| GpuProcess {
        pid: process.pid,
        memory: match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        },
    });
    reading.processes = processes.collect();
}
