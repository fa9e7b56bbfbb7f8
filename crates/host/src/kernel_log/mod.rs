//! The kernel's messages: from `/dev/kmsg`, or from the file a log daemon writes.
//!
//! A pass reads what came since the [`Cursor`] of the last one into one buffer ([`KernelRead`]), so that a prefilter
//! can run over the whole of it; only lines that may mean something are looked at one by one. What was overwritten
//! before it was read, or may have been, is said ([`Lost`]); a reader that lost something never looks like one that
//! saw nothing.
mod cursor;
mod file;
mod kmsg;
mod read;

use std::path::PathBuf;

use triage_core::{BootId, SourceKind, Stamp};

pub use cursor::{Cursor, FileCursor, KmsgCursor};
#[cfg(any(test, feature = "testkit"))]
pub use kmsg::read_pieces;
pub use read::{KernelLine, KernelRead, Lost};

use crate::clock::{Clock, Deadline};
use crate::config::{KernelLog as Settings, KernelLogSource};
use crate::proc::Root;

/// Bounds of one pass.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most bytes of text taken; the rest is left for the next pass.
    pub max_bytes: usize,
    /// When to stop, whatever is left. A pass that has not reached its old cursor by then has read nothing.
    pub until: Option<Deadline>,
}

/// The log cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum KernelLogError {
    /// It cannot be opened.
    #[error("{}: cannot be opened: {}", path.display(), remedy(source))]
    Open {
        /// The device or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Reading it failed.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The device or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be: a folder, a FIFO, another device.
    #[error("{}: is {found}, expected {expected}: correct [kernel_log] in triage.toml", path.display())]
    Kind {
        /// The device or file.
        path: PathBuf,
        /// What is there.
        found: &'static str,
        /// What should be.
        expected: &'static str,
    },
}

fn remedy(error: &std::io::Error) -> String {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "correct [kernel_log] in triage.toml",
        std::io::ErrorKind::PermissionDenied => "run as root, or with CAP_SYSLOG",
        _ => return error.to_string(),
    };
    format!("{error}: {hint}")
}

/// One of the two ways to the kernel's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLog {
    source: Source,
    boot: BootId,
    root: Root,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Kmsg { admit_user: bool },
    File(PathBuf),
}

impl KernelLog {
    /// As `[kernel_log]` says. `boot` is this boot's id.
    pub fn new(settings: &Settings, root: Root, boot: BootId) -> Self {
        let source = match settings.source {
            KernelLogSource::Kmsg => Source::Kmsg { admit_user: settings.admit_user_facility },
            KernelLogSource::File => Source::File(root.at(&settings.path)),
        };
        Self { source, boot, root }
    }

    /// Which kind of source its lines are of.
    pub const fn kind(&self) -> SourceKind {
        match self.source {
            Source::Kmsg { .. } => SourceKind::Kmsg,
            Source::File(_) => SourceKind::KernelFile,
        }
    }

    /// The name under which its cursor is kept and its observations are streamed: a file's path, empty for
    /// `/dev/kmsg`.
    pub fn stream(&self) -> String {
        match &self.source {
            Source::Kmsg { .. } => String::new(),
            Source::File(path) => path.display().to_string(),
        }
    }

    /// What came since `cursor`; without one, everything that is there. A cursor of the other kind of source, or of
    /// another file, counts as none.
    ///
    /// # Errors
    /// When the log cannot be read at all. What was lost of it is no error but part of the answer.
    pub fn read_new(
        &self,
        cursor: Option<&Cursor>,
        limits: Limits,
        clock: &dyn Clock,
    ) -> Result<KernelRead, KernelLogError> {
        match &self.source {
            Source::Kmsg { admit_user } => {
                let cursor = cursor.and_then(Cursor::as_kmsg);
                kmsg::read_new(&self.root.at("dev/kmsg"), &self.boot, *admit_user, cursor, limits, clock)
            }
            Source::File(path) => {
                let boot_time = self.root.boot_time().ok();
                let cursor = cursor.and_then(Cursor::as_file);
                file::read_new(path, &self.boot, boot_time, cursor, limits, clock)
            }
        }
    }
}

/// What every reader does with a moment a source tells: no line is from the future, and none that was not there at the
/// last look is older than that look. The kernel's clock drifts from the wall clock by minutes over months.
fn plausible(told: Stamp, since: Option<Stamp>, now: Stamp) -> Stamp {
    let told = told.min(now);
    since.filter(|since| *since <= now).map_or(told, |since| told.max(since))
}
