//! Opening and closing the library, and what it means when that fails.
use std::ffi::OsStr;
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::NvmlLib;
use triage_core::reading::NvmlState;

use super::words;

/// The name that NVIDIA's driver packages install the library under.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// There while NVIDIA's kernel driver is loaded.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// Loads and initialises the library; otherwise the state that is to be reported, and one line why.
pub(super) fn open(library: Option<&Path>) -> Result<Nvml, (NvmlState, String)> {
    let name = library.map_or(OsStr::new(LIBRARY), Path::as_os_str);
    if library.is_none() && !Path::new(DRIVER).exists() {
        return Err(without_driver(name));
    }
    Nvml::builder().lib_path(name).init().map_err(|error| match &error {
        NvmlError::LibloadingError(cause) => load_failure(name, &cause.to_string()),
        _ => (state_of(&error), format!("{}: {}", name.display(), words::sentence(&error))),
    })
}

/// NVIDIA's library, initialised as root without the driver, loads the driver (through `nvidia-modprobe`) or makes its device
/// node. A sweep must not undo what an admin has unloaded, so that it goes no further than to see whether the library is there.
fn without_driver(name: &OsStr) -> (NvmlState, String) {
    // SAFETY: the library that the operator has installed as NVML; loading it runs no more than its initialisers.
    match unsafe { NvmlLib::new(name) } {
        Ok(_) => {
            (NvmlState::DriverNotLoaded, format!("no {DRIVER}: load the driver, as with nvidia-modprobe"))
        }
        Err(cause) => load_failure(name, &cause.to_string()),
    }
}

/// Shuts the library down. That it failed says nothing about a GPU; the process ends anyway.
pub(super) fn close(nvml: Nvml) {
    if nvml.lib().nvmlShutdown.is_ok() {
        let _ = nvml.shutdown();
    } else {
        // Dropping it would panic over the missing function.
        std::mem::forget(nvml);
    }
}

/// The state of NVML that an error of a call about all of it stands for.
pub(super) fn state_of(error: &NvmlError) -> NvmlState {
    match error {
        NvmlError::DriverNotLoaded => NvmlState::DriverNotLoaded,
        NvmlError::LibRmVersionMismatch => NvmlState::VersionMismatch,
        NvmlError::NoPermission => NvmlState::NoPermission,
        _ => NvmlState::Failed,
    }
}

/// Tells "no such library" from one that is there and cannot be loaded (no ELF file, not readable, another
/// library missing). The loader only has words for it, and they begin with the name of the file that is missing.
fn load_failure(name: &OsStr, said: &str) -> (NvmlState, String) {
    let name = name.to_string_lossy();
    let missing = said.contains("No such file") && said.contains(&format!("{name}: "));
    if missing {
        (NvmlState::LibraryMissing, format!("{name}: no such library"))
    } else {
        (NvmlState::Failed, words::one_line(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_missing_library_itself_is_missing() {
        let state = |name: &str, said: &str| load_failure(OsStr::new(name), said).0;
        let own = "libnvidia-ml.so.1: cannot open shared object file: No such file or directory";
        assert_eq!(state(LIBRARY, own), NvmlState::LibraryMissing);
        let musl = "Error loading shared library libnvidia-ml.so.1: No such file or directory";
        assert_eq!(state(LIBRARY, musl), NvmlState::LibraryMissing);
        let needed = "libother.so.2: cannot open shared object file: No such file or directory";
        assert_eq!(state(LIBRARY, needed), NvmlState::Failed);
        let denied = "/lib/x.so: cannot open shared object file: Permission denied";
        assert_eq!(state("/lib/x.so", denied), NvmlState::Failed);
        assert_eq!(state("/lib/x.so", "/lib/x.so: invalid ELF header"), NvmlState::Failed);
    }
}
