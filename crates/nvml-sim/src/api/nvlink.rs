//! The links between GPUs and switches.
use std::ffi::{c_uint, c_ulonglong};

use nv::{nvmlEnableState_t, nvmlNvLinkErrorCounter_t};
use nvml_wrapper_sys::bindings as nv;

use crate::ffi::{Out, device_functions};
use crate::scenario::Code;

device_functions! { FUNCTIONS;
    /// State of a link.
    fn nvmlDeviceGetNvLinkState(gpu, link: c_uint, state: Out<nvmlEnableState_t>) {
        state.set(gpu.link(link).ok_or(Code::INVALID_ARGUMENT)?.state.number())
    }

    /// An error counter of a link.
    fn nvmlDeviceGetNvLinkErrorCounter(
        gpu, link: c_uint, counter: nvmlNvLinkErrorCounter_t, value: Out<c_ulonglong>
    ) {
        let link = gpu.link(link).ok_or(Code::INVALID_ARGUMENT)?;
        value.set(match counter {
            nv::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_REPLAY => link.replay,
            nv::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_RECOVERY => link.recovery,
            nv::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_CRC_FLIT => link.crc_flit,
            nv::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_CRC_DATA => link.crc_data,
            other if other < nv::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_COUNT => {
                return Err(Code::NOT_SUPPORTED);
            }
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    }
}
