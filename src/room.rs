//! Whether root's hooks could write at a path now. One that cannot write leaves no row that says so: whoever reads the
//! ledger asks the filesystem instead, and writes nothing to find out.
use std::path::Path;

use nix::sys::statvfs::{FsFlags, Statvfs, statvfs};
use nix::unistd::{AccessFlags, access, geteuid};

/// With less room than this nothing can be recorded, bytes: a pass writes some hundred KiB of pages and log.
const FULL: u64 = 1_000_000;

/// Why nothing can be written, and what to do about it.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) why: String,
    pub(crate) remedy: &'static str,
}

/// What stops a write at `path`, a file or a folder that need not be there yet; `None` also where that cannot be told.
pub(crate) fn stopped(path: &Path) -> Option<Stopped> {
    let there = path.ancestors().find(|path| path.exists())?;
    let folder = if there.is_dir() { there } else { there.parent()? };
    let stat = statvfs(folder).ok()?;
    let told = |what: String, remedy| Some(Stopped { why: format!("{}: {what}", there.display()), remedy });
    if stat.flags().contains(FsFlags::ST_RDONLY) {
        return told(
            "lies on a filesystem that is read-only".to_owned(),
            "see dmesg for why it became so, and mount it read-write again",
        );
    }
    if room(&stat, Who::Root) < FULL {
        return told("its filesystem is full".to_owned(), "make room");
    }
    // A filesystem that counts none has no end of them.
    if stat.files() > 0 && stat.files_free() == 0 {
        return told("its filesystem has no inode left".to_owned(), "remove files that nobody needs");
    }
    // Root passes every permission; what stops it even so is the filesystem, or a mark such as that of chattr +i.
    let refused = |path: &&Path| access(*path, AccessFlags::W_OK).err();
    let error = [there, folder].iter().filter(|_| geteuid().is_root()).find_map(refused)?;
    told(
        format!("root may not write there: {}", error.desc()),
        "see lsattr, and what the filesystem lets root do",
    )
}

/// Bytes left at `folder` for those who are not root; `None`: not known.
pub(crate) fn left(folder: &Path) -> Option<u64> {
    statvfs(folder).ok().map(|stat| room(&stat, Who::Others))
}

/// Filesystems may keep some room for root.
enum Who {
    Root,
    Others,
}

// The types of these differ between machines; both fit.
#[expect(clippy::useless_conversion, reason = "the type differs between C libraries")]
fn room(stat: &Statvfs, who: Who) -> u64 {
    let blocks = match who {
        Who::Root => stat.blocks_free(),
        Who::Others => stat.blocks_available(),
    };
    u64::from(blocks).saturating_mul(u64::from(stat.fragment_size()))
}
