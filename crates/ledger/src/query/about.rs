//! The ledger about itself, for `doctor` and `status`.
use std::path::PathBuf;

use rusqlite::Connection;
use triage_core::{BootId, Stamp};

use crate::error::Result;
use crate::open::Ledger;
use crate::rows::{self, meta, optional_stamp, stamp, text};

/// The ledger about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Schema version.
    pub schema: i64,
    /// When it was begun.
    pub created: Option<Stamp>,
    /// The damaged ledger it replaced, if it did: what happened before `created` is there.
    pub replaced: Option<Replaced>,
    /// Size of the file, bytes, without its log.
    pub bytes: u64,
    /// Bytes of it that are free.
    pub free_bytes: u64,
    /// The oldest event's time: how far back the ledger remembers.
    pub oldest_event: Option<Stamp>,
    /// Rows of each table that grows.
    pub rows: Vec<(String, u64)>,
    /// Boots seen, oldest first, with the first moment of each.
    pub boots: Vec<(BootId, Stamp)>,
    /// When retention last came to its end.
    pub last_upkeep: Option<Stamp>,
    /// When the whole file was last checked and found sound.
    pub last_check: Option<Stamp>,
}

/// A damaged ledger that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// When.
    pub at: Stamp,
    /// Where it is now.
    pub file: PathBuf,
    /// What was wrong with it.
    pub why: String,
}

/// Tables that grow.
const TABLES: [&str; 11] = [
    "observations",
    "events",
    "cases",
    "verdicts",
    "decisions",
    "actions",
    "job_spans",
    "tasks",
    "readings",
    "counters",
    "audit",
];

impl Ledger {
    /// The ledger about itself.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn about(&self) -> Result<About> {
        self.read(|conn| {
            let page: u64 = pragma(conn, "page_size")?;
            Ok(About {
                schema: conn.pragma_query_value(None, "user_version", |row| row.get(0))?,
                created: moment(conn, "created")?,
                replaced: replaced(conn)?,
                bytes: page * pragma(conn, "page_count")?,
                free_bytes: page * pragma(conn, "freelist_count")?,
                oldest_event: conn
                    .query_row("SELECT min(at) AS at FROM events", [], |row| optional_stamp(row, "at"))?,
                rows: counts(conn)?,
                boots: boots(conn)?,
                last_upkeep: moment(conn, "upkeep_at")?,
                last_check: moment(conn, "checked_at")?,
            })
        })
    }
}

pub(crate) fn pragma(conn: &Connection, name: &str) -> Result<u64> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0).map(i64::unsigned_abs))?)
}

fn moment(conn: &Connection, key: &str) -> Result<Option<Stamp>> {
    Ok(meta::get(conn, key)?.map(Stamp::from_micros))
}

fn replaced(conn: &Connection) -> Result<Option<Replaced>> {
    let Some(at) = moment(conn, "replaced_at")? else { return Ok(None) };
    let file: String = meta::get(conn, "replaced_file")?.unwrap_or_default();
    let why = meta::get(conn, "replaced_why")?.unwrap_or_default();
    Ok(Some(Replaced { at, file: file.into(), why }))
}

fn counts(conn: &Connection) -> Result<Vec<(String, u64)>> {
    TABLES
        .iter()
        .map(|table| {
            let sql = format!("SELECT count(*) FROM {table}");
            let count = conn.query_row(&sql, [], |row| row.get(0).map(i64::unsigned_abs))?;
            Ok(((*table).to_owned(), count))
        })
        .collect()
}

fn boots(conn: &Connection) -> Result<Vec<(BootId, Stamp)>> {
    let mut statement = conn.prepare("SELECT boot, first_seen FROM boots ORDER BY first_seen, boot")?;
    rows::collect(&mut statement, [], |row| Ok((text(row, "boot")?, stamp(row, "first_seen")?)))
}
