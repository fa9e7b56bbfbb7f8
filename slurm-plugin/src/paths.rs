//! Where the spool is, and which node this is.
use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where the spool is unless plugstack.conf says otherwise.
const DEFAULT: &str = "/run/slurm-triage/spool";

/// Most arguments of plugstack.conf looked at.
const MAX_ARGUMENTS: usize = 16;

/// The arguments of the plugin's line in plugstack.conf.
///
/// # Safety
/// `argv` points to `argc` C strings.
pub(crate) unsafe fn arguments(argc: c_int, argv: *mut *mut c_char) -> Vec<String> {
    let count = usize::try_from(argc).unwrap_or(0).min(MAX_ARGUMENTS);
    if argv.is_null() {
        return Vec::new();
    }
    (0..count)
        .filter_map(|index| {
            // SAFETY: within the count the caller vouches for.
            let argument = unsafe { *argv.add(index) };
            // SAFETY: as above, a C string.
            (!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }.to_string_lossy().into_owned())
        })
        .collect()
}

static NODE: OnceLock<String> = OnceLock::new();

/// Keeps the node's name for [`node`]. It comes from the environment of the process, where slurmd put it: the variable
/// of the same name in the step's environment is the user's, and may name the node that sent the step. Read while
/// slurmstepd is young, for a later look could meet another thread that changes the environment.
pub(crate) fn remember_node() {
    let name = std::env::var("SLURMD_NODENAME").ok().filter(|name| is_node_name(name));
    let _ = NODE.set(name.unwrap_or_default());
}

/// The node's name; empty when it is not known.
pub(crate) fn node() -> &'static str {
    NODE.get().map_or("", String::as_str)
}

/// Letters, digits, dot, dash and underscore, no leading dot or dash: nothing that leaves a folder.
pub(crate) fn is_node_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !name.is_empty() && name.len() <= 255 && !name.starts_with(['.', '-']) && name.bytes().all(plain)
}

/// The spool's folder: `spool=PATH`, with `%n` for the node. `None` when the node is needed and not known.
pub(crate) fn spool(arguments: &[String], node: &str) -> Option<PathBuf> {
    let path = arguments.iter().find_map(|argument| argument.strip_prefix("spool=")).unwrap_or(DEFAULT);
    if !path.starts_with('/') || (path.contains("%n") && node.is_empty()) {
        return None;
    }
    Some(PathBuf::from(path.replace("%n", node)))
}
