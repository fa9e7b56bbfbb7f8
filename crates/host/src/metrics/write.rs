//! Putting the file in its place: whole or not at all. The folder may belong to the collector's own user, so nothing that lies
//! there is followed or written into.
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why the file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}; is its folder there, and on a filesystem that can be written?", path = .path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Writes beside it and renames: a reader sees the old file or the new one, never half of one.
///
/// # Errors
/// When the folder is not there, is full or may not be written. The old file stays then.
pub fn write(path: &Path, text: &str) -> Result<(), WriteError> {
    let new = beside(path);
    fill(&new, text).and_then(|()| fs::rename(&new, path)).map_err(|source| {
        // Of this pass's own making or an older one's; a link in its place is removed and not what it points to.
        let _ = fs::remove_file(&new);
        WriteError { path: path.to_owned(), source }
    })
}

/// The collector takes files that end in `.prom`; this one does not, and one left behind by a crash is found again.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

fn fill(new: &Path, text: &str) -> io::Result<()> {
    let mut file = match create(new) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(new)?;
            create(new)?
        }
        other => other?,
    };
    file.write_all(text.as_bytes())?;
    // Whatever the umask: another user reads it.
    file.set_permissions(Permissions::from_mode(0o644))
}

/// Only where nothing is: with `O_EXCL` no link is followed either (open(2)).
fn create(new: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(new)
}
