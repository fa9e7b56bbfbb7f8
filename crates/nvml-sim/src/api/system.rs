//! Start, end, versions, error texts.
use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::nvmlReturn_t;

use crate::ffi::Out;
use crate::scenario::Code;
use crate::{call, state};

pub(super) const FUNCTIONS: &[&str] = &[
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetNVMLVersion",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
];

/// Initialises the library.
#[unsafe(no_mangle)]
extern "C" fn nvmlInit() -> nvmlReturn_t {
    call::bare(call::init)
}

/// Initialises the library.
#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    call::bare(call::init)
}

/// Initialises the library; the flags change nothing here.
#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    call::bare(call::init)
}

/// Undoes one initialisation.
#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    call::system("nvmlShutdown", |_| state::leave())
}

/// Text of a return code. Needs no initialisation and cannot be made to fail.
#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let known = Code::TABLE.iter().find(|(_, code, _)| code.0 == result);
    known.map_or(c"unknown error", |&(_, _, text)| text).as_ptr()
}

/// Version of the kernel driver.
///
/// # Safety
/// `version` is null or has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(version: Out<c_char>, length: c_uint) -> nvmlReturn_t {
    call::system("nvmlSystemGetDriverVersion", |scenario| version.set_text(&scenario.driver.version, length))
}

/// Version of the library.
///
/// # Safety
/// `version` is null or has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: Out<c_char>, length: c_uint) -> nvmlReturn_t {
    call::system("nvmlSystemGetNVMLVersion", |scenario| version.set_text(&scenario.driver.nvml, length))
}

/// CUDA version of the driver: 1000 x major + 10 x minor.
///
/// # Safety
/// `version` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: Out<c_int>) -> nvmlReturn_t {
    call::system("nvmlSystemGetCudaDriverVersion", |scenario| version.set(scenario.driver.cuda))
}

/// CUDA version of the driver: 1000 x major + 10 x minor.
///
/// # Safety
/// `version` is null or valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) -> nvmlReturn_t {
    call::system("nvmlSystemGetCudaDriverVersion_v2", |scenario| version.set(scenario.driver.cuda))
}
