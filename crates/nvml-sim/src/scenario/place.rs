//! Where a scenario lies and which node it is for: what its relative paths and `%n` mean.
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The surroundings of a scenario file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    /// Folder of the file.
    pub(crate) folder: PathBuf,
    /// Node name, for `%n` and for made-up serial numbers.
    pub(crate) node: String,
    /// When the file was last modified: the default of `start`.
    pub(crate) modified: SystemTime,
}

impl Place {
    /// `path` with `%n` replaced, from this folder if it is relative.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.folder.join(Path::new(&path.replace("%n", &self.node)))
    }
}
