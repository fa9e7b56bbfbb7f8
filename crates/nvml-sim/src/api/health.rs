//! Memory errors and what the board did about them; the fabric.
use std::ffi::{c_uchar, c_uint, c_ulonglong};

use nv::{
    nvmlEccCounterType_t, nvmlEnableState_t, nvmlGpuFabricInfo_t, nvmlGpuFabricInfo_v2_t,
    nvmlGpuFabricInfo_v3_t, nvmlMemoryErrorType_t, nvmlPageRetirementCause_t,
};
use nvml_wrapper_sys::bindings as nv;

use super::identity::switch;
use crate::call::{Answer, Gpu};
use crate::ffi::{Out, device_functions};
use crate::scenario::Code;

/// Address of the first retired page; the others follow at this distance.
const PAGE: c_ulonglong = 0x1_0000;

device_functions! { FUNCTIONS;
    /// ECC errors of one kind, over all memories of the GPU.
    fn nvmlDeviceGetTotalEccErrors(
        gpu, error: nvmlMemoryErrorType_t, counter: nvmlEccCounterType_t, count: Out<c_ulonglong>
    ) {
        count.set(ecc_errors(gpu, error, counter)?)
    }

    /// Rows remapped after corrected and after uncorrected errors, whether one waits, whether one failed.
    fn nvmlDeviceGetRemappedRows(
        gpu, corrected: Out<c_uint>, uncorrected: Out<c_uint>, pending: Out<c_uint>, failed: Out<c_uint>
    ) {
        corrected.set(gpu.remap_corrected)?;
        uncorrected.set(gpu.remap_uncorrected)?;
        pending.set(gpu.remap_pending.into())?;
        failed.set(gpu.remap_failed.into())
    }

    /// Addresses of the retired pages.
    fn nvmlDeviceGetRetiredPages(
        gpu, cause: nvmlPageRetirementCause_t, count: Out<c_uint>, addresses: Out<c_ulonglong>
    ) {
        retired_pages(gpu, cause, count, addresses).map(|_| ())
    }

    /// Addresses of the retired pages and when they were retired, which is not known.
    fn nvmlDeviceGetRetiredPages_v2(
        gpu, cause: nvmlPageRetirementCause_t, count: Out<c_uint>, addresses: Out<c_ulonglong>, times: Out<c_ulonglong>
    ) {
        let pages = retired_pages(gpu, cause, count, addresses)?;
        if pages == 0 { Ok(()) } else { times.set_all(std::iter::repeat_n(0, pages)) }
    }

    /// Whether a page retirement waits for a reset.
    fn nvmlDeviceGetRetiredPagesPendingStatus(gpu, pending: Out<nvmlEnableState_t>) {
        if gpu.retired_single_bit.or(gpu.retired_double_bit).is_none() {
            return Err(Code::NOT_SUPPORTED);
        }
        pending.set(switch(gpu.retired_pending))
    }

    /// Registration with the fabric manager, first version.
    fn nvmlDeviceGetGpuFabricInfo(gpu, info: Out<nvmlGpuFabricInfo_t>) {
        info.fill_in(|info| {
            info.status = gpu.fabric_status.0;
            info.state = small(gpu.fabric_state.number());
        })
    }

    /// Registration with the fabric manager, in the version that the caller's structure is tagged with.
    fn nvmlDeviceGetGpuFabricInfoV(gpu, info: Out<nvmlGpuFabricInfo_v3_t>) {
        match info.version()? {
            FABRIC_V2 => info.as_version().fill_in(|info: &mut nvmlGpuFabricInfo_v2_t| {
                info.version = FABRIC_V2;
                info.status = gpu.fabric_status.0;
                info.state = small(gpu.fabric_state.number());
            }),
            FABRIC_V3 => info.fill_in(|info| {
                info.version = FABRIC_V3;
                info.status = gpu.fabric_status.0;
                info.state = small(gpu.fabric_state.number());
                info.healthSummary = small(gpu.fabric_health.number());
            }),
            _ => Err(Code::VERSION_MISMATCH),
        }
    }
}

/// Version tag of a structure: its size, and its number in the highest byte.
pub(super) const fn tag<T>(version: u32) -> c_uint {
    #[expect(clippy::cast_possible_truncation, reason = "structures of NVML are small")]
    let size = size_of::<T>() as c_uint;
    size | (version << 24)
}

const FABRIC_V2: c_uint = tag::<nvmlGpuFabricInfo_v2_t>(2);
const FABRIC_V3: c_uint = tag::<nvmlGpuFabricInfo_v3_t>(3);

/// The ECC counter that these two arguments of NVML mean.
pub(super) fn ecc_errors(
    gpu: &Gpu,
    error: nvmlMemoryErrorType_t,
    counter: nvmlEccCounterType_t,
) -> Result<c_ulonglong, Code> {
    const CORRECTED: nvmlMemoryErrorType_t = nv::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED;
    const UNCORRECTED: nvmlMemoryErrorType_t =
        nv::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED;
    const VOLATILE: nvmlEccCounterType_t = nv::nvmlEccCounterType_enum_NVML_VOLATILE_ECC;
    const AGGREGATE: nvmlEccCounterType_t = nv::nvmlEccCounterType_enum_NVML_AGGREGATE_ECC;
    if !gpu.ecc {
        return Err(Code::NOT_SUPPORTED);
    }
    match (error, counter) {
        (CORRECTED, VOLATILE) => Ok(gpu.ecc_corrected),
        (CORRECTED, AGGREGATE) => Ok(gpu.ecc_corrected_aggregate),
        (UNCORRECTED, VOLATILE) => Ok(gpu.ecc_uncorrected),
        (UNCORRECTED, AGGREGATE) => Ok(gpu.ecc_uncorrected_aggregate),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Writes the addresses, as far as the caller has room, and says how many there are.
fn retired_pages(
    gpu: &Gpu,
    cause: nvmlPageRetirementCause_t,
    count: Out<c_uint>,
    addresses: Out<c_ulonglong>,
) -> Result<usize, Code> {
    const SINGLE: nvmlPageRetirementCause_t =
        nv::nvmlPageRetirementCause_enum_NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS;
    const DOUBLE: nvmlPageRetirementCause_t =
        nv::nvmlPageRetirementCause_enum_NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR;
    let pages = match cause {
        SINGLE => gpu.retired_single_bit,
        DOUBLE => gpu.retired_double_bit,
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    let pages = pages.ok_or(Code::NOT_SUPPORTED)?;
    fill_array(count, addresses, (1..).map(|page| page * PAGE).take(pages as usize), pages)?;
    Ok(pages as usize)
}

/// NVML's manner with arrays: an in-out count, "insufficient size" with the count needed where room lacks.
pub(super) fn fill_array<T>(
    count: Out<c_uint>,
    target: Out<T>,
    values: impl Iterator<Item = T>,
    needed: c_uint,
) -> Answer {
    let room = count.get()?;
    count.set(needed)?;
    if needed == 0 {
        Ok(())
    } else if room < needed {
        Err(Code::INSUFFICIENT_SIZE)
    } else {
        target.set_all(values)
    }
}

/// A number that NVML keeps in one byte; all of them are below four.
fn small(number: u32) -> c_uchar {
    c_uchar::try_from(number).unwrap_or(c_uchar::MAX)
}
