//! Field values: one function, many numbers. Only fields that a scenario knows are there; each of the others is
//! answered "not supported", as an older driver answers it.
use std::ffi::{c_int, c_longlong};
use std::time::{SystemTime, UNIX_EPOCH};

use nv::field_id as id;
use nv::{nvmlFieldValue_t, nvmlValue_t};
use nvml_wrapper_sys::bindings as nv;

use super::health::ecc_errors;
use crate::call::Gpu;
use crate::ffi::{Out, device_functions};
use crate::scenario::Code;

device_functions! { FUNCTIONS;
    /// Fills in the value, its type and a return code of its own for each field.
    fn nvmlDeviceGetFieldValues(gpu, count: c_int, values: Out<nvmlFieldValue_t>) {
        let count = usize::try_from(count).ok().filter(|&count| count > 0).ok_or(Code::INVALID_ARGUMENT)?;
        values.update_all(count, |asked| answer(gpu, asked))
    }
}

/// A value with its type.
enum Field {
    Int(u32),
    Long(u64),
}

fn answer(gpu: &Gpu, asked: nvmlFieldValue_t) -> nvmlFieldValue_t {
    let (value_type, result, value) = match look_up(gpu, asked.fieldId, asked.scopeId) {
        Ok(Field::Int(value)) => {
            (nv::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT, Code::SUCCESS, nvmlValue_t { uiVal: value })
        }
        Ok(Field::Long(value)) => (
            nv::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
            Code::SUCCESS,
            nvmlValue_t { ullVal: value },
        ),
        Err(code) => (asked.valueType, code, nvmlValue_t { ullVal: 0 }),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    nvmlFieldValue_t {
        timestamp: c_longlong::try_from(now).unwrap_or(c_longlong::MAX),
        latencyUsec: 0,
        valueType: value_type,
        nvmlReturn: result.0,
        value,
        ..asked
    }
}

fn look_up(gpu: &Gpu, field: u32, scope: u32) -> Result<Field, Code> {
    const CORRECTED: u32 = nv::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED;
    const UNCORRECTED: u32 = nv::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED;
    const VOLATILE: u32 = nv::nvmlEccCounterType_enum_NVML_VOLATILE_ECC;
    const AGGREGATE: u32 = nv::nvmlEccCounterType_enum_NVML_AGGREGATE_ECC;
    let link = || gpu.link(scope).ok_or(Code::INVALID_ARGUMENT);
    Ok(match field {
        id::NVML_FI_DEV_ECC_CURRENT => Field::Int(gpu.ecc.into()),
        id::NVML_FI_DEV_ECC_SBE_VOL_TOTAL => Field::Long(ecc_errors(gpu, CORRECTED, VOLATILE)?),
        id::NVML_FI_DEV_ECC_DBE_VOL_TOTAL => Field::Long(ecc_errors(gpu, UNCORRECTED, VOLATILE)?),
        id::NVML_FI_DEV_ECC_SBE_AGG_TOTAL => Field::Long(ecc_errors(gpu, CORRECTED, AGGREGATE)?),
        id::NVML_FI_DEV_ECC_DBE_AGG_TOTAL => Field::Long(ecc_errors(gpu, UNCORRECTED, AGGREGATE)?),
        id::NVML_FI_DEV_NVLINK_LINK_COUNT => Field::Int(gpu.nvlinks),
        id::NVML_FI_DEV_PCIE_REPLAY_COUNTER => Field::Int(gpu.pcie_replays),
        id::NVML_FI_DEV_REMAPPED_COR => Field::Int(gpu.remap_corrected),
        id::NVML_FI_DEV_REMAPPED_UNC => Field::Int(gpu.remap_uncorrected),
        id::NVML_FI_DEV_REMAPPED_PENDING => Field::Int(gpu.remap_pending.into()),
        id::NVML_FI_DEV_REMAPPED_FAILURE => Field::Int(gpu.remap_failed.into()),
        id::NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY => Field::Long(link()?.replay),
        id::NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY => Field::Long(link()?.recovery),
        id::NVML_FI_DEV_NVLINK_ERROR_DL_CRC => Field::Long(link()?.crc_flit),
        id::NVML_FI_DEV_NVLINK_GET_STATE => Field::Int(link()?.state.number()),
        id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => {
            Field::Int(gpu.recovery_action.number().ok_or(Code::NOT_SUPPORTED)?)
        }
        _ => return Err(Code::NOT_SUPPORTED),
    })
}
