//! `cursors`: how far each source has been read.
use rusqlite::{Connection, Row, params};
use triage_core::Stamp;

use super::{SqlResult, collect, from_sql_u64, text, to_sql_u64, word};
use crate::batch::Cursor;
use crate::error::Result;

pub(crate) fn all(conn: &Connection) -> Result<Vec<Cursor>> {
    let mut statement = conn.prepare("SELECT source, stream, boot, anchor, cursor FROM cursors")?;
    collect(&mut statement, [], read)
}

fn read(row: &Row<'_>) -> SqlResult<Cursor> {
    Ok(Cursor {
        source: word(row, "source")?,
        stream: row.get("stream")?,
        boot: text(row, "boot")?,
        anchor: row.get("anchor")?,
        cursor: from_sql_u64(row, "cursor")?,
    })
}

/// Whether `new` is news against what is stored: another boot, another thing read, or farther on.
pub(crate) fn advances(stored: &[Cursor], new: &Cursor) -> bool {
    stored
        .iter()
        .find(|old| old.source == new.source && old.stream == new.stream)
        .is_none_or(|old| old.boot != new.boot || old.anchor != new.anchor || old.cursor < new.cursor)
}

pub(crate) fn put(conn: &Connection, cursor: &Cursor, now: Stamp) -> Result<()> {
    conn.execute(
        "INSERT INTO cursors (source, stream, boot, anchor, cursor, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (source, stream) DO UPDATE SET
             boot = excluded.boot, anchor = excluded.anchor, cursor = excluded.cursor, at = excluded.at",
        params![
            cursor.source.word(),
            cursor.stream,
            cursor.boot.as_str(),
            cursor.anchor,
            to_sql_u64(cursor.cursor),
            now.micros()
        ],
    )?;
    Ok(())
}
