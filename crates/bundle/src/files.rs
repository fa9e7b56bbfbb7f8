//! Opening files of a bundle that somebody else packed: no links are followed, nothing but regular files is read, and
//! never more than a bound.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use triage_core::arrange::Arrange as _;

/// Opens a regular file. A FIFO does not block, a link is not followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The whole of a small file.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most} bytes")));
    }
    Ok(bytes)
}

/// The last `most` bytes of a file, from the beginning of a line on, and whether something was left out.
pub(crate) fn read_tail(path: &Path, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(most);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if skipped > 0 {
        let first = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..first);
    }
    Ok((bytes, skipped > 0))
}

/// Most files of one folder that are looked at.
const MOST_FILES: usize = 8192;

/// The regular files of a folder, by name. A folder that is a link is not entered.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a folder"));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.take(MOST_FILES) {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.arrange();
    Ok(files)
}
