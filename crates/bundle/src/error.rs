//! Why a bundle cannot be used at all.
use std::io;
use std::path::PathBuf;

/// Why a bundle cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file that makes a folder a bundle cannot be read.
    #[error("{path}: {source}: a bundle is a folder with an incident.toml in it")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is read, and is no incident.
    #[error("{path}:{line}: {problem}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
}
