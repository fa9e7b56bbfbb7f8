//! The schema's versions, forward only. Version n is the state after the n-th file of `schema/`.
use rusqlite::{Connection, Transaction, TransactionBehavior};
use triage_core::Stamp;

use crate::batch::AuditNote;
use crate::error::{Error, Result};
use crate::rows::audit;

/// The files, in order. A released file is never edited: a change is another file.
pub(crate) const FILES: &[&str] = &[
    include_str!("../schema/0001-tables.sql"),
    include_str!("../schema/0002-views.sql"),
    include_str!("../schema/0003-checks.sql"),
    include_str!("../schema/0004-people.sql"),
    include_str!("../schema/0005-verdicts.sql"),
    include_str!("../schema/0006-repair.sql"),
];

/// The schema version this program writes.
#[expect(clippy::cast_possible_wrap, reason = "a handful of files")]
pub const SCHEMA_VERSION: i64 = FILES.len() as i64;

/// `TRIA`, in the header of every ledger: tells ours from any other SQLite file.
pub(crate) const APPLICATION_ID: i32 = 0x5452_4941;

/// What the header says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) application_id: i32,
    pub(crate) user_version: i64,
}

impl Header {
    pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let pragma = |name| conn.pragma_query_value(None, name, |row| row.get(0));
        let application_id: i64 = pragma("application_id")?;
        Ok(Self {
            application_id: i32::try_from(application_id).unwrap_or_default(),
            user_version: pragma("user_version")?,
        })
    }

    /// Whether a program that knows `known` versions may use the file as it is (`Ok(true)`) or after a migration.
    pub(crate) fn judge(self, conn: &Connection, known: i64) -> Result<bool> {
        let path = || conn.path().unwrap_or_default().into();
        if self.application_id != APPLICATION_ID {
            // A file that SQLite made and nobody has used yet is as good as none.
            let objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if self.application_id != 0 || self.user_version != 0 || objects != 0 {
                return Err(Error::NotOurs { path: path(), application_id: self.application_id });
            }
            return Ok(false);
        }
        if self.user_version > known {
            return Err(Error::Newer { path: path(), found: self.user_version, known });
        }
        Ok(self.user_version == known)
    }
}

/// Brings the file to the last version in `files`, all steps or none. Returns the version it had, where it was not
/// the last one already. Programs that come at the same moment wait for each other and the second finds it done.
pub(crate) fn migrate(conn: &mut Connection, files: &[&str], now: Stamp) -> Result<Option<i64>> {
    let known = i64::try_from(files.len()).unwrap_or(i64::MAX);
    if Header::read(conn)?.judge(conn, known)? {
        return Ok(None);
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let header = Header::read(&tx)?;
    if header.judge(&tx, known)? {
        return Ok(None);
    }
    let found = header.user_version;
    for sql in files.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        tx.execute_batch(sql)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", known)?;
    note(&tx, found, known, now)?;
    tx.commit()?;
    Ok(Some(found))
}

fn note(tx: &Transaction<'_>, found: i64, known: i64, now: Stamp) -> Result<()> {
    tx.execute(
        "INSERT INTO meta (key, value) VALUES ('created', ?1) ON CONFLICT DO NOTHING",
        [now.micros()],
    )?;
    let (kind, text) = match found {
        0 => ("ledger.begun", format!("begun with schema {known}")),
        _ => ("ledger.upgraded", format!("schema {found} upgraded to {known}")),
    };
    let note = AuditNote { text, ..AuditNote::info(kind, "") };
    audit::put(tx, now, "ledger", &note)
}
