//! One output file: opened so that nothing about it can hold or fool us, and read in pieces.
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;

/// Bytes read at once: stays in the cache while it is looked at.
const PIECE: usize = 256 << 10;

/// Opens a regular file; a FIFO does not block, a terminal does not become ours.
///
/// # Errors
/// Why there is nothing to read, in words.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), String> {
    // Opening a device may already do something to it. What is opened is looked at again, since the path may change.
    let meta = std::fs::metadata(path).map_err(|error| refusal(&error))?;
    if let Some(kind) = kind(&meta) {
        return Err(format!("it is {kind}"));
    }
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|error| refusal(&error))?;
    let meta = file.metadata().map_err(|error| refusal(&error))?;
    match kind(&meta) {
        None => Ok((file, meta)),
        Some(kind) => Err(format!("it is {kind}")),
    }
}

fn kind(meta: &Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_fifo() => Some("a FIFO"),
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("no regular file"),
    }
}

fn refusal(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT) => "there is no such file".to_owned(),
        Some(Errno::EACCES | Errno::EPERM) => "its owner may not read it".to_owned(),
        Some(Errno::ELOOP) => "its links lead in a circle".to_owned(),
        Some(Errno::ESTALE) => "its filesystem lost it (stale handle)".to_owned(),
        _ => error.to_string(),
    }
}

/// Names a file whatever path leads to it.
pub(super) fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// Takes `part` of `file` piece by piece; pieces end at line ends, and a line longer than a piece is cut. `take` gets a
/// piece and its place, and answers whether to go on.
///
/// # Errors
/// When the file cannot be read any further.
pub(super) fn read(file: &mut File, part: Part, take: &mut dyn FnMut(&[u8], u64) -> bool) -> io::Result<u64> {
    file.seek(SeekFrom::Start(part.start))?;
    let mut input = file.take(part.length);
    let mut buffer = vec![0; PIECE];
    let (mut held, mut offset) = (0, part.start);
    loop {
        let read = match input.read(buffer.get_mut(held..).unwrap_or_default()) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = held + read;
        let whole = buffer.get(..filled).unwrap_or_default();
        let line_end = whole.iter().rposition(|b| *b == b'\n').map(|at| at + 1);
        let end = match line_end {
            _ if read == 0 || (line_end.is_none() && filled == buffer.len()) => filled,
            end => end.unwrap_or(0),
        };
        let go_on = end == 0 || take(whole.get(..end).unwrap_or_default(), offset);
        offset += end as u64;
        if read == 0 || !go_on {
            return Ok(offset - part.start);
        }
        buffer.copy_within(end..filled, 0);
        held = filled - end;
    }
}
