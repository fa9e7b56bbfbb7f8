//! Which file this is, and where the last pass stopped in it.
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use triage_core::digest;

use super::super::{FileCursor, KernelLogError};
use super::first_line;

/// An open log file.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    /// Digest of the first line; `None` while there is no whole one.
    pub(super) generation: Option<u64>,
}

/// Where to go on.
pub(super) enum Place<'a> {
    /// Never read before.
    First,
    /// The same file as before, from here.
    Same(u64),
    /// Another file has its name now.
    Rotated(&'a FileCursor),
    /// The same file, begun anew.
    Truncated,
}

impl Opened {
    /// Opens a regular file without waiting: a FIFO in its place must not hold the hook.
    pub(super) fn open(path: &Path) -> Result<Self, KernelLogError> {
        let failed = |source| KernelLogError::Open { path: path.to_owned(), source };
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
        let mut file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(KernelLogError::Kind {
                path: path.to_owned(),
                found: "no regular file",
                expected: "a log file",
            });
        }
        let read = |source| KernelLogError::Read { path: path.to_owned(), source };
        let generation = first_line(&mut file).map_err(read)?.map(|line| digest([line.as_slice()]));
        Ok(Self { file, device: meta.dev(), inode: meta.ino(), size: meta.len(), generation })
    }

    /// Where to go on after `cursor`.
    pub(super) fn place<'a>(&self, cursor: Option<&'a FileCursor>) -> Place<'a> {
        let Some(cursor) = cursor else { return Place::First };
        let same_inode = (cursor.device, cursor.inode) == (self.device, self.inode);
        // A file that had no whole line yet may have got its first one.
        let same_head = cursor.generation.is_none_or(|generation| self.generation == Some(generation));
        match (same_inode, same_head && cursor.offset <= self.size) {
            (true, true) => Place::Same(cursor.offset),
            (true, false) => Place::Truncated,
            (false, _) => Place::Rotated(cursor),
        }
    }
}
