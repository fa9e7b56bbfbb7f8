//! The files around the ledger: its folder, the file itself, the lock beside it.
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::statfs::statfs;

use crate::error::{Error, Result};
use crate::journal::{self, FsKind};

/// Folder: the owner works in it, the group may look.
const FOLDER_MODE: u32 = 0o750;
/// Ledger and lock: the owner writes, the group may read.
const FILE_MODE: u32 = 0o640;
/// The bit by which a folder's group may write it.
const GROUP_WRITES: u32 = 0o020;
/// How often a lock that is held is tried again.
const LOCK_POLL: Duration = Duration::from_millis(2);

/// One file and no other, as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

/// A damaged ledger was moved out of the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where the damaged file is now.
    pub file: PathBuf,
    /// What was wrong with it.
    pub why: String,
}

/// What lies at the ledger's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// A regular file, perhaps of no bytes.
    File {
        id: FileId,
        empty: bool,
    },
}

/// Looks at the path without opening it: closing a second descriptor of an open database would drop SQLite's locks.
/// A link is refused, because SQLite puts its log beside the file the link leads to and the suite beside the link.
pub(crate) fn look(path: &Path) -> Result<Found> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(Error::io(path, "look at it", error)),
    };
    let refuse = |what| Err(Error::NotAPlainFile { path: path.to_owned(), what });
    if meta.file_type().is_symlink() {
        return refuse("a symbolic link");
    }
    if !meta.is_file() {
        return refuse("not a regular file");
    }
    Ok(Found::File { id: FileId { device: meta.dev(), inode: meta.ino() }, empty: meta.len() == 0 })
}

/// The folder the ledger lies in; the current one for a bare name.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub(crate) fn make_folder(path: &Path) -> Result<()> {
    let folder = folder(path);
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|error| Error::io(folder, "make the ledger's folder", error))
}

/// The mode of a file in the ledger's folder. A site that gives a group the right to write the folder means the ledger
/// as well, and one that is begun anew after damage must not take that right away.
fn file_mode(path: &Path) -> u32 {
    let folder = fs::metadata(folder(path)).map_or(0, |meta| meta.permissions().mode());
    FILE_MODE | (folder & GROUP_WRITES)
}

/// Makes the empty file, so that its mode is ours whatever the umask; SQLite gives its log files the same mode.
pub(crate) fn make_file(path: &Path) -> Result<()> {
    let failed = |error| Error::io(path, "begin the ledger", error);
    let mode = file_mode(path);
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.set_permissions(Permissions::from_mode(mode)).map_err(failed)
}

/// The filesystem under `path`; unknown when it cannot be asked.
pub(crate) fn filesystem(path: &Path) -> FsKind {
    #[expect(clippy::unnecessary_cast, reason = "the type of f_type differs between C libraries")]
    statfs(folder(path)).map_or(FsKind::Unknown, |stat| journal::kind_of(stat.filesystem_type().0 as i64))
}

/// `ledger.db` becomes `ledger.db<suffix>`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The lock beside the ledger. Whoever has the ledger open holds it shared; whoever puts another file in its place
/// holds it alone. SQLite opens its log by name and long after the database, so replacing the file under an open
/// connection would tie the old file to the new one's log.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Opens the lock, making it where it is missing.
    pub(crate) fn make(ledger: &Path) -> Result<Self> {
        let path = beside(ledger, ".lock");
        let failed = |error| Error::io(&path, "open the ledger's lock", error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).truncate(false).mode(FILE_MODE).custom_flags(nix::libc::O_NOFOLLOW);
        let file = match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                // Past the umask, as the ledger's own mode.
                file.set_permissions(Permissions::from_mode(file_mode(ledger))).map_err(failed)?;
                file
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(&path).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { file, path })
    }

    /// Opens the lock for a reader; `None` when it is not there or may not be read. A reader without it can at worst
    /// read a ledger that is just being replaced.
    pub(crate) fn existing(ledger: &Path) -> Option<Self> {
        let path = beside(ledger, ".lock");
        let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NOFOLLOW).open(&path).ok()?;
        Some(Self { file, path })
    }

    /// Takes it together with others.
    pub(crate) fn shared(&self, wait: Duration) -> Result<()> {
        self.poll(wait, File::try_lock_shared)
    }

    /// Takes it alone. What was held shared is let go first, so look again at what it guards.
    pub(crate) fn alone(&self, wait: Duration) -> Result<()> {
        self.release()?;
        self.poll(wait, File::try_lock)
    }

    /// Lets go of it.
    pub(crate) fn release(&self) -> Result<()> {
        self.file.unlock().map_err(|error| Error::io(&self.path, "let go of the lock", error))
    }

    /// The same lock once more: it is held until both are let go of.
    pub(crate) fn again(&self) -> Result<Self> {
        let file = self.file.try_clone().map_err(|error| Error::io(&self.path, "keep the lock", error))?;
        Ok(Self { file, path: self.path.clone() })
    }

    /// Takes it alone, unless `given_up` says meanwhile that there is no more need to; whether it was taken.
    pub(crate) fn alone_unless(&self, wait: Duration, given_up: impl Fn() -> Result<bool>) -> Result<bool> {
        let end = Instant::now() + wait;
        loop {
            match self.alone(Duration::ZERO) {
                Err(error) if error.is_busy() && Instant::now() < end => {}
                taken => return taken.map(|()| true),
            }
            if given_up()? {
                return Ok(false);
            }
            std::thread::sleep(LOCK_POLL);
        }
    }

    fn poll(&self, wait: Duration, attempt: fn(&File) -> Result<(), TryLockError>) -> Result<()> {
        let end = Instant::now() + wait;
        loop {
            match attempt(&self.file) {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: self.path.clone() }),
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(&self.path, "take the lock", error));
                }
            }
        }
    }
}
