//! The device itself.
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;

use super::super::KernelLogError;

/// Where records come from: the device, or a test's list.
pub(super) trait Records {
    /// Reads the next record into `buffer`; `EAGAIN` at the end, `EPIPE` when the next one was overwritten.
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Goes back to the oldest record.
    fn rewind(&mut self) -> Result<(), Errno>;
}

/// `/dev/kmsg`, at its oldest record.
#[derive(Debug)]
pub(super) struct Kmsg(File);

impl Kmsg {
    /// Opens the device for reading without waiting.
    pub(super) fn open(path: &Path) -> Result<Self, KernelLogError> {
        let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path);
        let file = opened.map_err(|source| KernelLogError::Open { path: path.to_owned(), source })?;
        let kind =
            file.metadata().map_err(|source| KernelLogError::Open { path: path.to_owned(), source })?;
        if !kind.file_type().is_char_device() {
            return Err(KernelLogError::Kind {
                path: path.to_owned(),
                found: "no character device",
                expected: "/dev/kmsg",
            });
        }
        Ok(Self(file))
    }
}

impl Records for Kmsg {
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        nix::unistd::read(&self.0, buffer)
    }

    fn rewind(&mut self) -> Result<(), Errno> {
        nix::unistd::lseek(&self.0, 0, nix::unistd::Whence::SeekSet).map(drop)
    }
}
