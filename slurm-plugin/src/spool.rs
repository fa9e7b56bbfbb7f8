//! One line into the spool, with one write, or nothing.
use std::fs::{File, Metadata};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use triage_wire::{End, TaskRecord, What, encode, spool_file_name};

/// Largest file a run may fill, bytes: an srun in an endless loop must not fill the disk. About 20,000 records.
const MAX_FILE: u64 = 4 << 20;

/// Where a file takes no more but the failures, bytes: what a long run dies of comes last.
const MAX_HEALTHY: u64 = MAX_FILE / 4 * 3;

/// One part in so many of a filesystem is left to others: the spool lies beside the sockets of system services.
const LEFT_TO_OTHERS: u64 = 20;

/// And of a large one no more than so many bytes: on a disk that is 96 % full there is room for our lines still.
const MOST_LEFT: u64 = 1 << 30;

/// Appends the record to its run's file. A missing folder, a full disk, a link or a FIFO in the way: the record is
/// lost, and nothing else happens.
pub(crate) fn append(folder: &Path, record: &TaskRecord) {
    let path = folder.join(spool_file_name(record.job, record.restart));
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let opened = File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let Ok(mut file) = opened else { return };
    let most = if is_failure(record) { MAX_FILE } else { MAX_HEALTHY };
    if file.metadata().is_ok_and(|meta| is_ours(&meta) && meta.len() < most) && has_room(&file) {
        // One write: lines of several slurmstepd do not mix. A short one leaves a torn line, which readers know.
        let _ = file.write(encode(record).as_bytes());
    }
}

const fn is_failure(record: &TaskRecord) -> bool {
    !matches!(record.what, What::Start | What::End(End::Exit(0)))
}

/// A file that we made: no device or FIFO, no second name of another file, no file that another user put there.
fn is_ours(meta: &Metadata) -> bool {
    // SAFETY: takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    meta.is_file() && meta.nlink() == 1 && meta.uid() == me
}

/// Whether the filesystem has more left than what belongs to others. One that does not tell (a tmpfs without a limit
/// has no size) is left to say so itself.
fn has_room(file: &File) -> bool {
    // SAFETY: a structure of plain numbers, for which zero is a value.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor, and a structure that is valid for writes.
    let known = unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut stat) } == 0;
    !known || stat.f_blocks == 0 || stat.f_bavail > left_to_others(stat.f_blocks, stat.f_frsize)
}

/// How many of so many blocks of this size are not for us.
fn left_to_others(blocks: u64, size: u64) -> u64 {
    (blocks / LEFT_TO_OTHERS).min(MOST_LEFT / size.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_is_left_to_others_and_of_a_large_filesystem_a_gigabyte() {
        for (filesystem, left) in [(64 << 10, 3 << 10), (10 << 30, 512 << 20), (250 << 30, 1 << 30)] {
            let blocks = left_to_others(filesystem / 1024, 1024);
            assert_eq!(blocks * 1024, left, "of {filesystem} bytes");
        }
    }
}
