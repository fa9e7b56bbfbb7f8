//! Opening the ledger.
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use triage_core::Stamp;

use crate::aside;
use crate::error::{Error, Result};
use crate::journal::{FsKind, JournalMode, journal_mode};
use crate::migrate::{self, FILES, Header, SCHEMA_VERSION};
use crate::place::{self, FileId, Found, Lock, SetAside};
use crate::query::pragma;
use crate::read_only;
use crate::trail;

/// Why the ledger is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// One of the suite's programs on the node: makes, upgrades and mends the file.
    Writer,
    /// A person: changes nothing and makes no file.
    Reader,
}

/// How to open the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Why.
    pub access: Access,
    /// Longest wait for other programs, for each call: what is left of the caller's deadline, at most.
    /// A prolog uses 250 ms; a person's command 5 s.
    pub wait: Duration,
    /// The moment.
    pub now: Stamp,
    /// The site's limit, as in [`crate::Limits::bytes`]. SQLite refuses to let the file grow beyond an eighth more;
    /// the eighth is what may come between two upkeeps.
    pub max_bytes: u64,
}

/// The default of [`crate::Limits::bytes`].
const DEFAULT_MAX_BYTES: u64 = 256 * 1024 * 1024;

impl OpenOptions {
    /// For a program of the suite.
    pub const fn writer(wait: Duration, now: Stamp) -> Self {
        Self { access: Access::Writer, wait, now, max_bytes: DEFAULT_MAX_BYTES }
    }

    /// For a person's command.
    pub const fn reader(wait: Duration, now: Stamp) -> Self {
        Self { access: Access::Reader, ..Self::writer(wait, now) }
    }
}

/// What opening found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The schema version the file had before, where it was upgraded; 0: it was begun.
    pub migrated_from: Option<i64>,
    /// A damaged file was moved out of the way first. The ledger's audit says so too.
    pub set_aside: Option<SetAside>,
    /// What it lies on.
    pub filesystem: FsKind,
    /// How its journal is kept.
    pub journal: JournalMode,
}

/// The open ledger of one node. Close it by dropping it; never carry it across a fork.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) options: OpenOptions,
    pub(crate) opened: Opened,
    pub(crate) file: Option<FileId>,
    // After the connection: fields are dropped in this order, and the lock guards the connection.
    #[expect(dead_code, reason = "it is held, not read")]
    pub(crate) lock: Option<Lock>,
}

impl Ledger {
    /// Opens the ledger at `path`. A writer makes folder and file where they are missing, brings the schema to this
    /// version, and sets a damaged file aside ([`Opened::set_aside`] tells). Nothing is written to a file of a later
    /// version or of another program.
    ///
    /// # Errors
    /// See [`Error`]. A hook that gets one does its work without the ledger and leaves node and job alone.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        match options.access {
            Access::Reader => read_only::open(path, options),
            Access::Writer => match open_writer(path, options) {
                Err(Error::Corrupt { why, .. }) => aside::replace(path, options, None, &why),
                outcome => outcome,
            },
        }
    }

    /// What opening found and did.
    pub const fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes the longest wait for other programs, as a deadline draws nearer.
    ///
    /// # Errors
    /// What SQLite reports.
    pub fn set_wait(&mut self, wait: Duration) -> Result<()> {
        self.options.wait = wait;
        self.conn.busy_timeout(wait).map_err(|error| Error::sqlite(&self.path, error))
    }

    /// Moves this ledger aside as damaged and begins a new one: for a call that failed with [`Error::Corrupt`].
    /// Should another program have done so already, its new ledger is opened.
    ///
    /// # Errors
    /// [`Error::Busy`] while other programs have the damaged file open for longer than the wait; else see [`Error`].
    pub fn set_aside(self, why: &str) -> Result<Self> {
        let (path, options, file) = (self.path.clone(), self.options, self.file);
        drop(self);
        aside::replace(&path, &options, file, why)
    }

    /// Runs `work` in one immediate transaction: the lock is taken at the start, where waiting for it is bounded. It
    /// is on the disk when this returns.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Durability::Synced, work)
    }

    /// The same, for what may be less durable.
    pub(crate) fn write_as<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let Self { conn, path, opened, .. } = self;
        let run = || {
            conn.pragma_update(None, "synchronous", durability.pragma(opened.journal))?;
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let trail = trail::Tail::begin(&tx)?;
            let value = work(&tx)?;
            let told = trail.end(&tx)?;
            tx.commit()?;
            told.iter().for_each(trail::tell);
            Ok(value)
        };
        run().map_err(|error| sorted(path, error))
    }

    /// Runs `work` on one state of the ledger, whatever others write meanwhile.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let run = || {
            let tx = self.conn.unchecked_transaction()?;
            let value = work(&tx)?;
            tx.finish()?;
            Ok(value)
        };
        run().map_err(|error| sorted(&self.path, error))
    }
}

/// What a commit survives once it has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Power loss.
    Synced,
    /// The death of any process. A power loss or a kernel crash can take it back, whole, until the next synced commit
    /// of any program.
    Logged,
}

impl Durability {
    /// With a rollback journal an unsynced commit can damage the file, so there everything is synced.
    const fn pragma(self, journal: JournalMode) -> &'static str {
        match (self, journal) {
            (Self::Logged, JournalMode::Wal) => "NORMAL",
            _ => "FULL",
        }
    }
}

/// Gives a raw SQLite error its meaning for the caller, now that the path is known.
pub(crate) fn sorted(path: &Path, error: Error) -> Error {
    match error {
        Error::Sqlite(raw) => Error::sqlite(path, raw),
        other => other,
    }
}

/// Opens the file, beginning it where there is none. Only beginning takes the lock alone.
pub(crate) fn open_writer(path: &Path, options: &OpenOptions) -> Result<Ledger> {
    place::make_folder(path)?;
    let lock = Lock::make(path)?;
    lock.shared(options.wait)?;
    if !has_pages(path)? {
        lock.alone(options.wait)?;
        return open_alone(path, options, lock);
    }
    let ledger = connect(path, options)?;
    Ok(Ledger { lock: Some(lock), ..ledger })
}

fn has_pages(path: &Path) -> Result<bool> {
    Ok(matches!(place::look(path)?, Found::File { empty: false, .. }))
}

/// Opens or begins the ledger for a caller that holds the lock alone, and leaves the lock shared.
pub(crate) fn open_alone(path: &Path, options: &OpenOptions, lock: Lock) -> Result<Ledger> {
    if place::look(path)? == Found::Nothing {
        place::make_file(path)?;
    }
    let ledger = connect(path, options)?;
    lock.release()?;
    lock.shared(options.wait)?;
    Ok(Ledger { lock: Some(lock), ..ledger })
}

fn connect(path: &Path, options: &OpenOptions) -> Result<Ledger> {
    let Found::File { id, empty } = place::look(path)? else {
        return Err(Error::Missing { path: path.to_owned() });
    };
    let filesystem = place::filesystem(path);
    let journal = journal_mode(filesystem, rusqlite::version_number());
    let run = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(options.wait)?;
        harden(&conn)?;
        if empty {
            // Only a file without a page can take it; lets retention give space back.
            conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        } else {
            // Nothing may be written to a file that is not ours or too new, the journal mode included.
            Header::read(&conn)?.judge(&conn, SCHEMA_VERSION)?;
        }
        settings(&conn, journal, options.max_bytes)?;
        let migrated_from = migrate::migrate(&mut conn, FILES, options.now)?;
        Ok((conn, migrated_from))
    };
    let (conn, migrated_from) = run().map_err(|error| sorted(path, error))?;
    Ok(Ledger {
        conn,
        path: path.to_owned(),
        options: *options,
        opened: Opened { migrated_from, set_aside: None, filesystem, journal },
        file: Some(id),
        lock: None,
    })
}

/// The file may be damaged or forged: functions called from the schema are not trusted, cells are checked.
pub(crate) fn harden(conn: &Connection) -> Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // The views are for people with sqlite3. One in a table's place may go on for ever, and `report` reads ledgers that
    // were collected from elsewhere.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

fn settings(conn: &Connection, journal: JournalMode, max_bytes: u64) -> Result<()> {
    let found: String =
        conn.pragma_update_and_check(None, "journal_mode", journal.word(), |row| row.get(0))?;
    if found != journal.word() {
        log::warn!("ledger: journal mode stays {found}: another program has the file open");
    }
    conn.pragma_update(None, "synchronous", Durability::Synced.pragma(journal))?;
    if journal == JournalMode::Wal {
        // The last one to close would otherwise copy the log and delete it: two more syncs in every prolog, and a
        // ledger that a non-root reader, who may not make these files, could not open. SQLite's own checkpoint after
        // a commit is of no use to short-lived programs: how far it came is forgotten when the last one closes, so
        // that the log would be copied again and again and never begun anew. `Ledger::checkpoint` empties it.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    }
    let page = pragma(conn, "page_size")?;
    let pages = i64::try_from(max_bytes.saturating_add(max_bytes / 8) / page.max(512)).unwrap_or(i64::MAX);
    conn.pragma_update(None, "max_page_count", pages)?;
    Ok(())
}
