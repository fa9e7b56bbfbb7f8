//! What the GPU is doing: heat, power, clocks, memory, processes.
use std::ffi::{c_int, c_uint, c_ulonglong};

use nv::{
    nvmlClockType_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t,
    nvmlTemperature_t, nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlUtilization_t,
};
use nvml_wrapper_sys::bindings as nv;

use super::health::{fill_array, tag};
use crate::call::{Answer, Gpu};
use crate::ffi::{Out, device_functions};
use crate::scenario::Code;

/// Instance ids of a process that runs in no MIG instance.
const NO_INSTANCE: c_uint = c_uint::MAX;

const TEMPERATURE_V1: c_uint = tag::<nvmlTemperature_t>(1);
const MEMORY_V2: c_uint = tag::<nvmlMemory_v2_t>(2);

device_functions! { FUNCTIONS;
    /// Temperature, degrees Celsius.
    fn nvmlDeviceGetTemperature(gpu, sensor: nvmlTemperatureSensors_t, temperature: Out<c_uint>) {
        only_gpu_sensor(sensor)?;
        temperature.set(gpu.temperature_c)
    }

    /// Temperature, degrees Celsius, in a versioned structure.
    fn nvmlDeviceGetTemperatureV(gpu, temperature: Out<nvmlTemperature_t>) {
        if temperature.version()? != TEMPERATURE_V1 {
            return Err(Code::VERSION_MISMATCH);
        }
        let asked = temperature.get()?;
        only_gpu_sensor(asked.sensorType)?;
        let degrees = c_int::try_from(gpu.temperature_c).map_err(|_| Code::UNKNOWN)?;
        temperature.set(nvmlTemperature_t { temperature: degrees, ..asked })
    }

    /// A temperature threshold, degrees Celsius.
    fn nvmlDeviceGetTemperatureThreshold(gpu, which: nvmlTemperatureThresholds_t, temperature: Out<c_uint>) {
        match which {
            nv::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_SHUTDOWN => {
                temperature.set(gpu.temperature_shutdown_c)
            }
            nv::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_SLOWDOWN => {
                temperature.set(gpu.temperature_slowdown_c)
            }
            other if other < nv::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_COUNT => {
                Err(Code::NOT_SUPPORTED)
            }
            _ => Err(Code::INVALID_ARGUMENT),
        }
    }

    /// Power draw, milliwatts.
    fn nvmlDeviceGetPowerUsage(gpu, power: Out<c_uint>) { power.set(gpu.power_w.milliwatts()) }

    /// Power limit in force, milliwatts.
    fn nvmlDeviceGetEnforcedPowerLimit(gpu, limit: Out<c_uint>) { limit.set(gpu.power_limit_w.milliwatts()) }

    /// Power limit set, milliwatts; here always the one in force.
    fn nvmlDeviceGetPowerManagementLimit(gpu, limit: Out<c_uint>) { limit.set(gpu.power_limit_w.milliwatts()) }

    /// Why the clocks are held down.
    fn nvmlDeviceGetCurrentClocksEventReasons(gpu, reasons: Out<c_ulonglong>) { reasons.set(gpu.throttle_mask()) }

    /// Why the clocks are held down; the former name.
    fn nvmlDeviceGetCurrentClocksThrottleReasons(gpu, reasons: Out<c_ulonglong>) { reasons.set(gpu.throttle_mask()) }

    /// A clock, MHz.
    fn nvmlDeviceGetClockInfo(gpu, which: nvmlClockType_t, clock: Out<c_uint>) {
        clock.set(pick(which, gpu.clock_sm_mhz, gpu.clock_memory_mhz)?)
    }

    /// Highest value of a clock, MHz.
    fn nvmlDeviceGetMaxClockInfo(gpu, which: nvmlClockType_t, clock: Out<c_uint>) {
        clock.set(pick(which, gpu.clock_sm_max_mhz, gpu.clock_memory_max_mhz)?)
    }

    /// How busy GPU and memory are, percent.
    fn nvmlDeviceGetUtilizationRates(gpu, rates: Out<nvmlUtilization_t>) {
        rates.set(nvmlUtilization_t { gpu: gpu.utilization_gpu, memory: gpu.utilization_memory })
    }

    /// Memory, bytes.
    fn nvmlDeviceGetMemoryInfo(gpu, memory: Out<nvmlMemory_t>) {
        let (total, used) = (gpu.memory_total(), gpu.memory_used());
        memory.set(nvmlMemory_t { total, free: total.saturating_sub(used), used })
    }

    /// Memory, bytes, in a versioned structure that has the reserved part apart.
    fn nvmlDeviceGetMemoryInfo_v2(gpu, memory: Out<nvmlMemory_v2_t>) {
        if memory.version()? != MEMORY_V2 {
            return Err(Code::VERSION_MISMATCH);
        }
        let (total, used) = (gpu.memory_total(), gpu.memory_used());
        memory.set(nvmlMemory_v2_t { version: MEMORY_V2, total, reserved: 0, free: total.saturating_sub(used), used })
    }

    /// Processes with a compute context, first version of the structure.
    fn nvmlDeviceGetComputeRunningProcesses(gpu, count: Out<c_uint>, infos: Out<nvmlProcessInfo_v1_t>) {
        let old = |process: nvmlProcessInfo_v2_t| {
            nvmlProcessInfo_v1_t { pid: process.pid, usedGpuMemory: process.usedGpuMemory }
        };
        fill_array(count, infos, processes(gpu).map(old), process_count(gpu))
    }

    /// Processes with a compute context.
    fn nvmlDeviceGetComputeRunningProcesses_v2(gpu, count: Out<c_uint>, infos: Out<nvmlProcessInfo_v2_t>) {
        fill_array(count, infos, processes(gpu), process_count(gpu))
    }

    /// Processes with a compute context.
    fn nvmlDeviceGetComputeRunningProcesses_v3(gpu, count: Out<c_uint>, infos: Out<nvmlProcessInfo_v2_t>) {
        fill_array(count, infos, processes(gpu), process_count(gpu))
    }
}

fn only_gpu_sensor(sensor: nvmlTemperatureSensors_t) -> Answer {
    if sensor == nv::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU {
        Ok(())
    } else {
        Err(Code::INVALID_ARGUMENT)
    }
}

/// Graphics and video clocks follow the SM clock here.
fn pick(which: nvmlClockType_t, sm: c_uint, memory: c_uint) -> Result<c_uint, Code> {
    match which {
        nv::nvmlClockType_enum_NVML_CLOCK_MEM => Ok(memory),
        other if other < nv::nvmlClockType_enum_NVML_CLOCK_COUNT => Ok(sm),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

fn process_count(gpu: &Gpu) -> c_uint {
    c_uint::try_from(gpu.processes.len()).unwrap_or(c_uint::MAX)
}

fn processes(gpu: &Gpu) -> impl Iterator<Item = nvmlProcessInfo_v2_t> {
    gpu.processes.iter().map(|process| nvmlProcessInfo_v2_t {
        pid: process.pid,
        usedGpuMemory: process.memory(),
        gpuInstanceId: NO_INSTANCE,
        computeInstanceId: NO_INSTANCE,
    })
}
