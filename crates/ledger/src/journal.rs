//! How SQLite keeps its journal, by filesystem and SQLite version.
/// What kind of filesystem the ledger lies on, as far as SQLite cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsKind {
    /// On this machine: shared memory between processes works, and so do locks.
    Local,
    /// Served by other machines: no shared memory, locks at the server's mercy. Not a good place for a ledger.
    Network,
    /// Not known to be either; treated as a network filesystem.
    Unknown,
}

/// SQLite's journal modes in use here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalMode {
    /// Write-ahead log: readers and the writer do not block each other.
    Wal,
    /// Rollback journal, truncated after each commit: works everywhere locks do.
    Truncate,
}

impl JournalMode {
    /// SQLite's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Truncate => "truncate",
        }
    }
}

/// First SQLite with the WAL-reset fix: before it, a checkpoint that meets a reset of the log can corrupt the file
/// when several processes write. Several short-lived processes are just what we are.
/// Source: SQLite's release notes for 3.51.3.
const FIRST_SAFE_WAL: i32 = 3_051_003;

/// The journal mode for a filesystem and an SQLite version (`3054001` is 3.54.1). WAL needs memory shared between all
/// processes that have the file open, which only a local filesystem gives.
pub const fn journal_mode(filesystem: FsKind, sqlite_version: i32) -> JournalMode {
    match filesystem {
        FsKind::Local if sqlite_version >= FIRST_SAFE_WAL => JournalMode::Wal,
        _ => JournalMode::Truncate,
    }
}

/// Filesystems by the `f_type` of `statfs(2)`. Sources: the kernel's `magic.h`, and for ZFS, Lustre, GPFS and BeeGFS
/// their own headers. FUSE may be anything, so it counts as served by somebody else.
const KNOWN: &[(u32, FsKind)] = &[
    (0x0000_ef53, FsKind::Local),   // ext2, ext3, ext4
    (0x5846_5342, FsKind::Local),   // xfs
    (0x9123_683e, FsKind::Local),   // btrfs
    (0x0102_1994, FsKind::Local),   // tmpfs
    (0x8584_58f6, FsKind::Local),   // ramfs: the root of many diskless nodes
    (0x794c_7630, FsKind::Local),   // overlay
    (0x2fc1_2fc1, FsKind::Local),   // zfs
    (0xca45_1a4e, FsKind::Local),   // bcachefs
    (0xf2f5_2010, FsKind::Local),   // f2fs
    (0x0000_6969, FsKind::Network), // nfs
    (0x0bd0_0bd0, FsKind::Network), // lustre
    (0x4750_4653, FsKind::Network), // gpfs
    (0x1983_0326, FsKind::Network), // beegfs
    (0x00c3_6400, FsKind::Network), // ceph
    (0xff53_4d42, FsKind::Network), // cifs
    (0xfe53_4d42, FsKind::Network), // smb2
    (0x0102_1997, FsKind::Network), // 9p
    (0x6573_5546, FsKind::Network), // fuse
];

/// From the `f_type` of `statfs(2)`, whose width and sign differ between machines: the low 32 bits count.
pub(crate) fn kind_of(f_type: i64) -> FsKind {
    let known = |(magic, _): &&(u32, FsKind)| i64::from(*magic) == f_type & 0xffff_ffff;
    KNOWN.iter().find(known).map_or(FsKind::Unknown, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wal_only_where_memory_is_shared_and_sqlite_is_sound() {
        let table = [
            (FsKind::Local, 3_054_001, JournalMode::Wal),
            (FsKind::Local, 3_051_003, JournalMode::Wal),
            (FsKind::Local, 3_051_002, JournalMode::Truncate),
            (FsKind::Local, 3_040_001, JournalMode::Truncate),
            (FsKind::Network, 3_054_001, JournalMode::Truncate),
            (FsKind::Unknown, 3_054_001, JournalMode::Truncate),
        ];
        for (filesystem, version, mode) in table {
            assert_eq!(journal_mode(filesystem, version), mode, "{filesystem:?} {version}");
        }
    }

    #[test]
    fn the_bundled_sqlite_may_use_wal() {
        assert_eq!(journal_mode(FsKind::Local, rusqlite::version_number()), JournalMode::Wal);
    }

    #[test]
    fn filesystems_are_known_by_their_magic() {
        let table = [
            (0xef53, FsKind::Local),
            (0x5846_5342, FsKind::Local),
            (0x0102_1994, FsKind::Local),
            (0x794c_7630, FsKind::Local),
            (0x9123_683e, FsKind::Local),
            (0x6969, FsKind::Network),
            (0x0bd0_0bd0, FsKind::Network),
            (0x4750_4653, FsKind::Network),
            (0x6573_5546, FsKind::Network),
            // CIFS's magic has the top bit set and comes sign-extended on some machines.
            (0xff53_4d42, FsKind::Network),
            (i64::from(0xff53_4d42_u32.cast_signed()), FsKind::Network),
            (0x1234_5678, FsKind::Unknown),
        ];
        for (magic, kind) in table {
            assert_eq!(kind_of(magic), kind, "{magic:#x}");
        }
    }
}
