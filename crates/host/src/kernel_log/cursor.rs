//! Where the last pass stopped. Kept in the ledger as JSON.
use serde::{Deserialize, Serialize};
use triage_core::{BootId, Stamp};

/// Where the last pass stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "source")]
pub enum Cursor {
    /// In `/dev/kmsg`.
    Kmsg(KmsgCursor),
    /// In a file.
    File(FileCursor),
}

/// A place in the kernel's ring of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KmsgCursor {
    /// Sequence numbers begin anew with every boot.
    pub boot: BootId,
    /// The next record's number.
    pub next: u64,
    /// When everything before it had been read.
    pub read_at: Stamp,
}

/// A place in a file that grows, and is rotated or truncated behind our back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCursor {
    /// The boot in which it was read last: that of lines older than this boot.
    pub boot: BootId,
    /// The file's path.
    pub path: String,
    /// The file's device number.
    pub device: u64,
    /// The file's inode number.
    pub inode: u64,
    /// The next byte.
    pub offset: u64,
    /// Digest of the file's first line: tells a file that was truncated and grew again, or an inode that was given to
    /// another file. `None` while there is no whole line.
    pub generation: Option<u64>,
    /// When everything before `offset` had been read.
    pub read_at: Stamp,
}

impl Cursor {
    pub(super) const fn as_kmsg(&self) -> Option<&KmsgCursor> {
        match self {
            Self::Kmsg(cursor) => Some(cursor),
            Self::File(_) => None,
        }
    }

    pub(super) const fn as_file(&self) -> Option<&FileCursor> {
        match self {
            Self::File(cursor) => Some(cursor),
            Self::Kmsg(_) => None,
        }
    }
}
