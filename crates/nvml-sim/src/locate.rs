//! Finds the scenario: the environment, then the library's own folder, then a healthy node.
use std::ffi::{CStr, OsStr, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::call;
use crate::scenario::{Place, Scenario};

/// Largest scenario read, bytes. A written-out one of 64 GPUs is 100 KiB.
const MAX_BYTES: u64 = 4 << 20;

/// Loads the scenario that applies to this process. The error is one line that names the file.
pub(crate) fn load() -> Result<Scenario, String> {
    let node = node();
    let asked = std::env::var_os("NVML_SIM_SCENARIO").filter(|path| !path.is_empty());
    let path = match asked {
        Some(path) => Some(expand(&path, &node)),
        None => beside_library().filter(|path| path.exists()),
    };
    let Some(path) = path else {
        return Scenario::healthy(&Place { folder: PathBuf::new(), node, modified: SystemTime::UNIX_EPOCH });
    };
    read(&path, node).map_err(|error| format!("{}: {error}", path.display()))
}

/// Says why `nvmlInit` fails: on standard error, and in the file that `NVML_SIM_LOG` names.
pub(crate) fn report(error: &str) {
    let line = format!("nvml-sim: {error}\n");
    // Nothing can be done about a closed standard error or an unwritable log; the caller still gets the return code.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("NVML_SIM_LOG").filter(|path| !path.is_empty()) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = log.and_then(|mut log| log.write_all(line.as_bytes()));
    }
}

fn read(path: &Path, node: String) -> Result<Scenario, String> {
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!("not a regular file of at most {MAX_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let modified = metadata.modified().map_err(|error| error.to_string())?;
    Scenario::parse(&text, &Place { folder, node, modified }, &call::functions())
}

fn node() -> String {
    let from_environment = ["TRIAGE_NODE", "SLURMD_NODENAME"].iter().find_map(|name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(|value| value.to_string_lossy().into_owned())
    });
    from_environment.unwrap_or_else(|| {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        host.trim().split('.').next().unwrap_or_default().to_owned()
    })
}

fn expand(path: &OsStr, node: &str) -> PathBuf {
    match path.to_str() {
        Some(text) => PathBuf::from(text.replace("%n", node)),
        None => PathBuf::from(path),
    }
}

/// `nvml-sim.toml` in the folder of the file this code was loaded from.
fn beside_library() -> Option<PathBuf> {
    // SAFETY: `Dl_info` is a structure of plain pointers, for which zero is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = beside_library as *const c_void;
    // SAFETY: `here` is an address in this library, `found` is valid for writes.
    let known = unsafe { libc::dladdr(here, &raw mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success `dli_fname` is a NUL-terminated path that lives as long as the library is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())).parent()?.join("nvml-sim.toml"))
}
