//! The fault catalogue of slurm-triage: what is shipped, and a site's changes to it.
//!
//! The data is in `data/*.toml`. `build.rs` packs it into the program, so [`embedded`] and a [`load`] without site files
//! parse nothing. A site changes or adds entries and families in `catalog.d/*.toml`; docs/catalog.md describes the
//! format, which is that of the shipped files.
mod embedded;
mod error;
mod file;
mod merge;
mod sample;

pub use error::{Error, Place, Problem};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use triage_core::arrange::Arrange as _;

use triage_core::catalog::{Catalog, Parts};
use triage_toml::Fault;

/// Where a site puts its changes.
pub const OVERRIDES_DIR: &str = "/etc/slurm-triage/catalog.d";

/// Shortest literal of a family. Shorter ones stop the prefilter on every other line.
pub const SHORTEST_TAG: usize = 4;

/// Largest site file, bytes. All shipped data together has less.
const LARGEST_FILE: u64 = 1 << 20;

/// The catalogue as shipped.
pub fn embedded() -> Catalog {
    Catalog::new(embedded::parts())
}

/// The catalogue as shipped with the changes of `overrides_dir/*.toml`, in order of file names; the later one wins. A
/// folder that does not exist holds no changes.
///
/// # Errors
/// A file that cannot be read, is not understood, changes an entry without a reason, or whose samples fail. One bad
/// file spoils the load as a whole: half a set of changes is nobody's intention.
pub fn load(overrides_dir: Option<&Path>) -> Result<Catalog, Error> {
    let paths = overrides_dir.map(site_files).transpose()?.unwrap_or_default();
    let files = paths.iter().map(|path| read(path)).collect::<Result<Vec<Read>, Error>>()?;
    if let Some(fault) = files.iter().find_map(|file| Some(file.invalid(shipped_only(&file.stanzas)?))) {
        return Err(fault);
    }
    let catalog = merged(&files, embedded::parts())?;
    let wrong =
        files.iter().find_map(|file| Some(file.invalid(sample::problems(&file.stanzas, &catalog).next()?)));
    wrong.map_or(Ok(catalog), Err)
}

fn shipped_only(file: &file::File) -> Option<(usize, Problem)> {
    let row = file.nvlink5.first().map(|row| (row.span().start, Problem::ShippedOnly("[[nvlink5]]")));
    let anchors =
        file.anchors.as_ref().map(|anchors| (anchors.span().start, Problem::ShippedOnly("[anchors]")));
    row.or(anchors)
}

/// Puts the files over `parts`: all codes first, so that a family may name a code of a later file.
fn merged(files: &[Read], mut parts: Parts) -> Result<Catalog, Error> {
    for file in files {
        merge::codes(&file.stanzas, &mut parts).map_err(|fault| file.invalid(fault))?;
    }
    for file in files {
        merge::families(&file.stanzas, &mut parts).map_err(|fault| file.invalid(fault))?;
    }
    Ok(Catalog::new(parts))
}

/// A file as read.
struct Read {
    path: PathBuf,
    text: String,
    stanzas: file::File,
}

impl Read {
    fn invalid(&self, (at, problem): (usize, Problem)) -> Error {
        invalid(&self.path, &self.text, at, problem)
    }
}

fn read(path: &Path) -> Result<Read, Error> {
    let text = text_of(path)?;
    let syntax =
        |fault: Fault| invalid(path, &text, fault.at, Problem::Syntax(fault.message.replace('\n', " ")));
    let stanzas = triage_toml::read(&text).map_err(syntax)?.value;
    Ok(Read { path: path.to_owned(), text, stanzas })
}

fn site_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(unreadable(e)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.arrange();
    Ok(files)
}

fn text_of(path: &Path) -> Result<String, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    // A FIFO or a device in the folder must not hold up a prolog.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(invalid(path, "", 0, Problem::TooLarge { limit: LARGEST_FILE }));
    }
    fs::read_to_string(path).map_err(unreadable)
}

fn invalid(path: &Path, text: &str, at: usize, problem: Problem) -> Error {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |feed| feed + 1) + 1;
    Error::Invalid { place: Place { path: path.to_owned(), line, column }, problem }
}

#[cfg(test)]
mod tests;
