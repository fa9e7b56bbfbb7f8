//! One open log file.
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use triage_core::digest;

use super::super::{FileCursor, KernelLogError};

/// How much of a first line tells one file from another, bytes. It begins with a time in every format that has one.
const FIRST_LINE_MAX: u64 = 4096;

/// An open log file.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    /// Digest of the first line; `None` while there is no whole one.
    pub(super) generation: Option<u64>,
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
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Self { file, device: meta.dev(), inode: meta.ino(), size: meta.len(), modified, generation })
    }

    /// Whether it is the file of the cursor under whatever name, grown at most.
    pub(super) fn continues(&self, cursor: &FileCursor) -> bool {
        // A file that had no whole line yet may have got its first one.
        let same_head = cursor.generation.is_none_or(|generation| self.generation == Some(generation));
        self.is_inode_of(cursor) && same_head && cursor.offset <= self.size
    }

    /// Whether it is a copy of the file of the cursor, as logrotate's `copytruncate` makes them.
    pub(super) fn is_copy_of(&self, cursor: &FileCursor) -> bool {
        cursor.generation.is_some() && self.generation == cursor.generation && cursor.offset <= self.size
    }

    pub(super) const fn is_inode_of(&self, cursor: &FileCursor) -> bool {
        cursor.device == self.device && cursor.inode == self.inode
    }

    /// At most `room` bytes from `offset` on.
    pub(super) fn bytes(&mut self, offset: u64, room: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(offset))?;
        Read::by_ref(&mut self.file).take(room as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn first_line(file: &mut File) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    Read::by_ref(file).take(FIRST_LINE_MAX).read_to_end(&mut head)?;
    match head.iter().position(|b| *b == b'\n') {
        Some(end) => head.truncate(end),
        None if head.len() as u64 == FIRST_LINE_MAX => {}
        None => return Ok(None),
    }
    Ok(Some(head))
}
