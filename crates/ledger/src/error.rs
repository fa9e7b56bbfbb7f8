//! What can go wrong with the ledger. No caller may fail a job or drain a node over any of it.
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the ledger could not be used. Each message names the file and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no ledger at this path, and the caller may not begin one.
    #[error(
        "{path}: there is no ledger yet: it is begun by the first prolog, epilog or health check on this node"
    )]
    Missing {
        /// The ledger's path.
        path: PathBuf,
    },
    /// A file or folder could not be reached or made.
    #[error("{path}: cannot {doing}: {source}")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path does not lead to a regular file of its own.
    #[error("{path}: {what}: give the ledger a plain file of its own")]
    NotAPlainFile {
        /// The ledger's path.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// The file or its folder cannot be written, or may not be read.
    #[error("{path}: {why}: the ledger needs to be readable, and for the hooks writable, by this user")]
    NoPermission {
        /// The ledger's path.
        path: PathBuf,
        /// What SQLite said.
        why: String,
    },
    /// A later version wrote it. Nothing was changed.
    #[error(
        "{path}: written by a later slurm-triage (schema {found}, this one knows up to {known}): \
         upgrade the package on this node; nothing was written"
    )]
    Newer {
        /// The ledger's path.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The last version this program knows.
        known: i64,
    },
    /// An earlier version wrote it, and a reader may not change it.
    #[error(
        "{path}: written by an earlier slurm-triage (schema {found}, this one needs {known}): \
         the next health check on this node upgrades it"
    )]
    Older {
        /// The ledger's path.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The version this program needs.
        known: i64,
    },
    /// A sound SQLite file that belongs to something else. Nothing was changed.
    #[error(
        "{path}: an SQLite file of another program (application id {application_id:#010x}): name another path"
    )]
    NotOurs {
        /// The ledger's path.
        path: PathBuf,
        /// The id in its header.
        application_id: i32,
    },
    /// The file is damaged.
    #[error("{path}: damaged: {why}: a hook sets it aside and begins a new one")]
    Corrupt {
        /// The ledger's path.
        path: PathBuf,
        /// What SQLite said.
        why: String,
    },
    /// Another program held it for longer than this one may wait.
    #[error("{path}: in use by another program for longer than this one may wait")]
    Busy {
        /// The ledger's path.
        path: PathBuf,
    },
    /// The filesystem or the ledger's own size limit is reached.
    #[error("{path}: full: make room on the filesystem or raise the ledger's size limit")]
    Full {
        /// The ledger's path.
        path: PathBuf,
    },
    /// A record contradicts what the ledger holds. Nothing of the batch was written.
    #[error("contradicts the ledger: {what}")]
    Conflict {
        /// Which record, and what it contradicts.
        what: String,
    },
    /// Something of ours could not be put into JSON.
    #[error("cannot write {what} as JSON: {source}")]
    Json {
        /// What it was.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// Anything else SQLite reports.
    #[error("SQLite: {0}")]
    Sqlite(rusqlite::Error),
}

impl Error {
    /// Whether the file is damaged, so that [`crate::Ledger::set_aside`] is the way on.
    pub const fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt { .. })
    }

    /// Whether the same call may succeed later.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Whether there is no room.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    pub(crate) fn io(path: &Path, doing: &'static str, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }

    /// The raw SQLite error, sorted by what the caller can do about it.
    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { path, why },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NoPermission { path, why }
            }
            _ => Self::Sqlite(error),
        }
    }
}

/// Inside the crate a raw error travels until the ledger's method that knows the path sorts it.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
