//! NVML in one sweep: open, read every GPU, close. Nothing is kept, because an open NVML blocks a GPU reset.
//!
//! Any of these calls can block in the kernel when a GPU is sick. [`read`] is therefore for `triage-probe` alone, a process that
//! may be left behind; nothing else in the suite calls it.
mod call;
mod gpu;
mod link;
mod mig;
mod open;
mod raw;
mod words;

use std::path::Path;

use nvml_wrapper::Nvml;
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};

/// Most GPUs that are read. NVML itself knows no more than 32 on a node; a library that claims more is not believed.
const MAX_GPUS: u32 = 64;

/// Where a sweep is, for whoever has to say later what it hung in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Loading and initialising the library.
    Opening,
    /// Reading the GPU with this index.
    Gpu(u32),
    /// Shutting the library down.
    Closing,
}

/// Reads all GPUs through `library`, or through the loader's `libnvidia-ml.so.1` when there is none given.
///
/// Without a library given and without the kernel driver the library is loaded but not initialised, as that would load the
/// driver. A library that is given (the simulator, for one) needs no driver.
///
/// Never fails: what went wrong is part of the reading. `state` says whether NVML could be used, each GPU's `errors` which
/// calls about it failed; a value that driver or board does not have is absent and no error.
pub fn read(library: Option<&Path>, mut progress: impl FnMut(Progress)) -> NvmlReading {
    progress(Progress::Opening);
    let nvml = match open::open(library) {
        Ok(nvml) => nvml,
        Err((state, detail)) => return NvmlReading { state, detail, ..NvmlReading::default() },
    };
    let reading = sweep(&nvml, &mut progress);
    progress(Progress::Closing);
    open::close(nvml);
    reading
}

fn sweep(nvml: &Nvml, progress: &mut impl FnMut(Progress)) -> NvmlReading {
    let mut reading = NvmlReading {
        state: NvmlState::Ok,
        driver_version: nvml.sys_driver_version().ok(),
        nvml_version: nvml.sys_nvml_version().ok(),
        ..NvmlReading::default()
    };
    match nvml.device_count() {
        Ok(count) if count <= MAX_GPUS => {
            reading.gpus = (0..count).map(|index| read_gpu(nvml, index, progress)).collect();
        }
        Ok(count) => {
            reading.state = NvmlState::Failed;
            reading.detail = format!("nvmlDeviceGetCount_v2: {count} GPUs, at most {MAX_GPUS} are believed");
        }
        Err(error) => {
            reading.state = open::state_of(&error);
            reading.detail = format!("nvmlDeviceGetCount_v2: {}", words::error(&error));
        }
    }
    reading
}

fn read_gpu(nvml: &Nvml, index: u32, progress: &mut impl FnMut(Progress)) -> GpuReading {
    progress(Progress::Gpu(index));
    gpu::read(nvml, index)
}
