//! The calls about one GPU: each may be missing, fail or find the GPU gone, and the next is made all the same.
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{
    nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH as VERSION_MISMATCH,
    nvmlReturn_enum_NVML_ERROR_DEPRECATED as DEPRECATED,
};
use triage_core::reading::CallError;

use super::words;

/// Keeps book of the calls about one GPU.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Each failure once, in the order of the calls.
    pub(super) errors: Vec<CallError>,
    /// A call found the GPU lost. From then on no call is made: each could block.
    pub(super) lost: bool,
}

impl Calls {
    /// The value of a call; none if it failed or if driver or board do not have it, the former noted.
    pub(super) fn get<T>(&mut self, call: &str, make: impl FnOnce() -> Result<T, NvmlError>) -> Option<T> {
        if self.lost {
            return None;
        }
        match make() {
            Ok(value) => Some(value),
            Err(error) => {
                self.note(call, &error);
                None
            }
        }
    }

    /// Notes that a call failed, unless what it asks for does not exist here.
    pub(super) fn note(&mut self, call: &str, error: &NvmlError) {
        if is_absence(error) {
            return;
        }
        self.lost |= matches!(error, NvmlError::GpuLost);
        self.note_text(call, words::error(error));
    }

    /// Notes a failure in words of our own.
    pub(super) fn note_text(&mut self, call: &str, error: String) {
        let noted = CallError { call: call.to_owned(), error };
        if !self.errors.contains(&noted) {
            self.errors.push(noted);
        }
    }
}

/// Whether the driver or the board does not have what was asked for, which is no fault.
pub(super) fn is_absence(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::NotSupported
            | NvmlError::FunctionNotFound
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::UnexpectedVariant(VERSION_MISMATCH | DEPRECATED)
    )
}
