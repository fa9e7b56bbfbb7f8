//! The few files of `/proc` that are needed, under a root that tests can move.
mod stat;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use triage_core::{BootId, Stamp};

pub use stat::ProcStat;

/// Where the filesystem begins: one of the three seams for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// The tree below `path` stands for the machine's own.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// `path` of the machine, in this tree.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// This boot's id.
    ///
    /// # Errors
    /// When `/proc/sys/kernel/random/boot_id` cannot be read.
    pub fn boot_id(&self) -> io::Result<BootId> {
        let text = fs::read_to_string(self.at("proc/sys/kernel/random/boot_id"))?;
        Ok(BootId::new(text.trim()))
    }

    /// When the kernel started, to the second: `btime` of `/proc/stat`. Moves when the wall clock is set.
    ///
    /// # Errors
    /// When `/proc/stat` cannot be read or holds no `btime`.
    pub fn boot_time(&self) -> io::Result<Stamp> {
        let text = fs::read_to_string(self.at("proc/stat"))?;
        let seconds = text.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
        seconds.map(Stamp::from_secs).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// What `/proc/<pid>/stat` says; `None` when there is no such process.
    pub fn process(&self, pid: u32) -> Option<ProcStat> {
        let text = fs::read(self.at(format!("proc/{pid}/stat"))).ok()?;
        ProcStat::parse(&text)
    }

    /// The kernel function a process sleeps in (`/proc/<pid>/wchan`); `None` when it runs, is gone, or the kernel
    /// does not say.
    pub fn wchan(&self, pid: u32) -> Option<String> {
        let text = fs::read_to_string(self.at(format!("proc/{pid}/wchan"))).ok()?;
        let name = text.trim();
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
        (!matches!(name, "" | "0") && plain).then(|| name.to_owned())
    }

    /// The name of a process (`/proc/<pid>/comm`), which it may have given itself; `None` when it is gone or the name is
    /// not of printable ASCII.
    pub fn comm(&self, pid: u32) -> Option<String> {
        let text = fs::read_to_string(self.at(format!("proc/{pid}/comm"))).ok()?;
        let name = text.strip_suffix('\n').unwrap_or(&text);
        let plain = !name.is_empty() && name.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        plain.then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests;
