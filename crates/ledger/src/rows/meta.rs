//! `meta`: single values about the ledger itself.
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::error::Result;

pub(crate) fn get<T: FromSql>(conn: &Connection, key: &str) -> Result<Option<T>> {
    Ok(conn.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).optional()?)
}

pub(crate) fn set(conn: &Connection, key: &str, value: &dyn ToSql) -> Result<()> {
    conn.execute(
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        rusqlite::params![key, value],
    )?;
    Ok(())
}
