//! One line into the spool, with one write, or nothing.
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use triage_wire::{TaskRecord, encode, spool_file_name};

/// Largest file a run may fill: an srun in a loop must not fill the disk. About 16,000 records.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Appends the record to its run's file. A missing folder, a full disk, a link or a FIFO in the way: the record is
/// lost, and nothing else happens.
pub(crate) fn append(folder: &Path, record: &TaskRecord) {
    let path = folder.join(spool_file_name(record.job, record.restart));
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let opened = File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let Ok(mut file) = opened else { return };
    let fits = |meta: std::fs::Metadata| meta.is_file() && meta.nlink() == 1 && meta.len() < MAX_FILE;
    if file.metadata().is_ok_and(fits) {
        // One write: lines of several slurmstepd do not mix. A short one leaves a torn line, which readers know.
        let _ = file.write(encode(record).as_bytes());
    }
}
