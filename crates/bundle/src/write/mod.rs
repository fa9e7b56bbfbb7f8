//! Writing a bundle: what [`read`](crate::read) reads, in a new folder that only its owner may enter.
mod addresses;
mod incident;
mod nodes;
mod paths;
mod redact;

pub use redact::Redactor;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use triage_core::attribute::{JobEvidence, PastRun};
use triage_core::catalog::Catalog;

use crate::JobRules;

/// One file of the job's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputText {
    /// Its name without a folder, unique.
    pub name: String,
    /// Its bytes; between two parts something was left out.
    pub parts: Vec<Vec<u8>>,
}

/// What goes into a bundle.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// What is known of the run; its `output` is not written but `files` are.
    pub evidence: &'a JobEvidence,
    /// What Slurm and the job allow to be done with the job.
    pub rules: JobRules,
    /// What the job printed.
    pub files: &'a [OutputText],
    /// What lines mean, for telling those of the kernel from what was concluded of them.
    pub catalog: &'a Catalog,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Bytes in them.
    pub bytes: u64,
}

/// Why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Something has that name already.
    #[error("{path}: is there already: nothing is ever written over, name another folder with -o")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// A part cannot be written as TOML or JSON.
    #[error("{path}: {problem}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// Writes the bundle into `folder`, which must not be there yet. `told` is called with each file's name before it is
/// written. What was begun is removed when it fails.
///
/// # Errors
/// See [`WriteError`].
pub fn write(
    folder: &Path,
    content: Content<'_>,
    redactor: Option<Redactor<'_>>,
    told: &mut dyn FnMut(&str),
) -> Result<Written, WriteError> {
    DirBuilder::new().mode(0o700).create(folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: folder.to_owned() },
        _ => WriteError::Io { path: folder.to_owned(), source },
    })?;
    // Where the folder lies in one that others may write to, its name may come to lead elsewhere at any moment, and
    // files of a user's choosing would be written there. What is held open stays what was made.
    let held = hold(folder).map_err(|source| WriteError::Io { path: folder.to_owned(), source })?;
    let at = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let written = Written::default();
    let mut writer = Writer { folder, at, redactor, catalog: content.catalog, told, written };
    match writer.all(content) {
        Ok(()) => Ok(writer.written),
        Err(error) => {
            // Half a bundle would tell half a truth.
            let _ = fs::remove_dir_all(folder);
            Err(error)
        }
    }
}

/// Opens the folder that was just made, and makes sure that it is that one.
fn hold(folder: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let held = File::options().read(true).custom_flags(flags).open(folder)?;
    let meta = held.metadata()?;
    let is_ours = meta.mode() & 0o077 == 0 && meta.uid() == fs::metadata("/proc/self")?.uid();
    if is_ours && fs::read_dir(format!("/proc/self/fd/{}", held.as_raw_fd()))?.next().is_none() {
        return Ok(held);
    }
    Err(io::Error::other("somebody put another folder in its place: write where nobody else can"))
}

struct Writer<'a, 'c> {
    /// Its name, for people.
    folder: &'a Path,
    /// The way to it.
    at: PathBuf,
    redactor: Option<Redactor<'c>>,
    catalog: &'a Catalog,
    told: &'a mut dyn FnMut(&str),
    written: Written,
}

impl Writer<'_, '_> {
    fn all(&mut self, content: Content<'_>) -> Result<(), WriteError> {
        let Content { evidence, rules, files, .. } = content;
        for node in &evidence.nodes {
            self.node(evidence, node)?;
        }
        let listed = self.output(files)?;
        let history: Vec<PastRun> = evidence.history.iter().map(|run| self.past(run)).collect();
        if !history.is_empty() {
            let lines = self.json_lines("history.jsonl", &history)?;
            self.file("history.jsonl", &lines)?;
        }
        let text = incident::text(evidence, rules, listed, self.redactor.as_mut())
            .map_err(|problem| self.unwritable("incident.toml", problem))?;
        // Last: what has no incident.toml is no bundle.
        self.file("incident.toml", text.as_bytes())
    }

    fn past(&mut self, run: &PastRun) -> PastRun {
        let mut run = run.clone();
        if let Some(redactor) = &self.redactor {
            run.user = redactor.user(&run.user);
        }
        run
    }

    /// The job's files; where something was left out of each.
    fn output(&mut self, files: &[OutputText]) -> Result<Vec<incident::Listed>, WriteError> {
        let mut listed = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let name = match &self.redactor {
                // Names are made of users' and jobs' names. Numbers keep their order.
                Some(_) => format!("output-{index:04}.log"),
                None => safe(&file.name, index),
            };
            let mut bytes = Vec::new();
            let mut gaps = Vec::new();
            for (place, part) in file.parts.iter().enumerate() {
                if place > 0 {
                    gaps.push(bytes.len() as u64);
                }
                match &mut self.redactor {
                    Some(redactor) => bytes.extend(redactor.output(part)),
                    None => bytes.extend_from_slice(part),
                }
            }
            self.file(&format!("output/{name}"), &bytes)?;
            if !gaps.is_empty() {
                listed.push(incident::Listed { file: name, gaps });
            }
        }
        if files.is_empty() {
            self.make_folder("output")?;
        }
        Ok(listed)
    }

    fn json_lines<T: serde::Serialize>(&self, name: &str, items: &[T]) -> Result<Vec<u8>, WriteError> {
        let mut out = Vec::new();
        for item in items {
            let line = serde_json::to_vec(item).map_err(|error| self.unwritable(name, error.to_string()))?;
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        Ok(out)
    }

    fn unwritable(&self, name: &str, problem: String) -> WriteError {
        WriteError::Unwritable { path: self.folder.join(name), problem }
    }

    /// Writes one file, with the folders it lies in.
    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        (self.told)(name);
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_folder(parent)?;
        }
        let write = || {
            let mut file =
                File::options().write(true).create_new(true).mode(0o600).open(self.at.join(name))?;
            file.write_all(bytes)
        };
        write().map_err(|source| WriteError::Io { path: self.folder.join(name), source })?;
        self.written.files += 1;
        self.written.bytes += bytes.len() as u64;
        Ok(())
    }

    fn make_folder(&self, name: &str) -> Result<(), WriteError> {
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(self.at.join(name))
            .map_err(|source| WriteError::Io { path: self.folder.join(name), source })
    }
}

/// A name for a file that leads out of no folder and hides from nobody.
fn safe(name: &str, index: usize) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c == '/' || c.is_control() || c == char::REPLACEMENT_CHARACTER { '_' } else { c })
        .take(120)
        .collect();
    let bad = plain.is_empty() || plain.starts_with('.') || plain != name;
    if bad { format!("{index:04}-{}", plain.trim_start_matches('.')) } else { plain }
}
