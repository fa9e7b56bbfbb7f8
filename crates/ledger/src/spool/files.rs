//! The spool's files: which there are, what is new in each, and when one may go.
//!
//! ```text
//!  4711.jsonl ── all imported, idle, job gone ──► 4711.jsonl.<inode>.done ── all imported, a while later ──► removed
//! ```
//! The plugin opens by name, writes one line and closes. After the rename a new line goes into a new `4711.jsonl`;
//! one that was being written meanwhile goes into the renamed file and is read before that is removed.
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use triage_core::arrange::Arrange as _;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

/// A file nobody has written to for this long has no writer in the middle of a line.
const IDLE_S: i64 = 60;
/// Files looked at in one pass; thousands of short jobs may have come between two passes.
const MAX_FILES: usize = 2048;

/// One file of the spool.
#[derive(Debug, Clone)]
pub(super) struct SpoolFile {
    pub(super) path: PathBuf,
    /// Its first name, by which its offset is kept.
    pub(super) name: String,
    pub(super) inode: u64,
    pub(super) size: u64,
    /// It was renamed: no new line is begun in it.
    pub(super) retired: bool,
    /// Nobody has written to it, nor renamed it, for a while.
    pub(super) idle: bool,
}

impl SpoolFile {
    /// The job whose records it holds: the number its name begins with.
    pub(super) fn job(&self) -> Option<u32> {
        job_of(&self.name)
    }

    fn of(path: PathBuf, full: String, now_s: i64) -> Option<Self> {
        let meta = fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
        let inode = meta.ino();
        let (name, retired) = match full.strip_suffix(&format!(".{inode}.done")) {
            Some(name) => (name.to_owned(), true),
            None => (full, false),
        };
        let touched = meta.mtime().max(if retired { meta.ctime() } else { i64::MIN });
        name.ends_with(".jsonl").then(|| Self {
            path,
            name,
            inode,
            size: meta.len(),
            retired,
            idle: now_s.saturating_sub(touched) >= IDLE_S,
        })
    }

    /// From `offset` on, at most `max` bytes. Never waits, never follows a link.
    pub(super) fn read(&self, offset: u64, max: u64) -> io::Result<Vec<u8>> {
        let mut file = self.open()?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn open(&self) -> io::Result<File> {
        let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(&self.path)?;
        let meta = file.metadata()?;
        if !meta.is_file() || meta.ino() != self.inode {
            return Err(io::Error::other("replaced while the spool was read"));
        }
        Ok(file)
    }

    /// No new line will be begun in it from now on.
    pub(super) fn retire(&self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_file_name(format!("{}.{}.done", self.name, self.inode)))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn job_of(name: &str) -> Option<u32> {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    name.get(..digits)?.parse().ok()
}

/// The spool's files, those of `first` in front, then by name. A spool that is not there is an empty one.
pub(super) fn list(folder: &Path, first: Option<u32>, now_s: i64) -> io::Result<Vec<SpoolFile>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<(bool, String)> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".jsonl") || name.ends_with(".done"))
        .map(|name| (first.is_none() || job_of(&name) != first, name))
        .collect();
    names.arrange();
    let file = |(_, name): (bool, String)| SpoolFile::of(folder.join(&name), name, now_s);
    Ok(names.into_iter().filter_map(file).take(MAX_FILES).collect())
}
