//! Opening and closing the library, and what it means when that fails.
use std::ffi::OsStr;
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use triage_core::reading::NvmlState;

use super::words;

/// The name that NVIDIA's driver packages install the library under.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Loads and initialises the library; otherwise the state that is to be reported, and one line why.
pub(super) fn open(library: Option<&Path>) -> Result<Nvml, (NvmlState, String)> {
    let name = library.map_or(OsStr::new(LIBRARY), Path::as_os_str);
    Nvml::builder().lib_path(name).init().map_err(|error| match &error {
        NvmlError::LibloadingError(cause) => load_failure(name, &cause.to_string()),
        _ => (state_of(&error), format!("{}: {}", name.display(), words::sentence(&error))),
    })
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
