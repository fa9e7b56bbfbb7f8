//! One file a table: how a record becomes a row and a row a record.
pub(crate) mod audit;
pub(crate) mod baseline;
pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod counter;
pub(crate) mod cursor;
pub(crate) mod decision;
pub(crate) mod event;
pub(crate) mod hold;
pub(crate) mod intent;
pub(crate) mod meta;
pub(crate) mod observation;
pub(crate) mod rate;
pub(crate) mod reading;
pub(crate) mod run;
pub(crate) mod sighting;
pub(crate) mod source;
pub(crate) mod span;
pub(crate) mod task;
pub(crate) mod verdict;

use std::borrow::Cow;
use std::str::FromStr;

use rusqlite::types::Type;
use rusqlite::{Params, Row, Statement};
use serde::Serialize;
use serde::de::DeserializeOwned;
use triage_core::{ExitStatus, Stamp};

use crate::error::{Error, Result};

type SqlResult<T> = rusqlite::Result<T>;

/// Longest text of one column, bytes. A kernel line has at most a few kilobytes, a sweep over 16 GPUs some 40; what
/// is longer comes from something broken or hostile, and its head tells as much.
pub(crate) const MAX_TEXT: usize = 64 * 1024;

/// `text`, cut to [`MAX_TEXT`] with a word about what is missing.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_TEXT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let (kept, cut) = text.split_at(end);
    Cow::Owned(format!("{kept} [{} bytes cut]", cut.len()))
}

/// A word of a closed vocabulary.
pub(crate) fn word<T>(row: &Row<'_>, column: &str) -> SqlResult<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| unreadable(row, column, error))
}

/// A JSON column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> SqlResult<T> {
    let text: String = row.get(column)?;
    triage_core::json::from_text(&text).map_err(|error| unreadable(row, column, error))
}

fn unreadable(
    row: &Row<'_>,
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

/// For a JSON column.
pub(crate) fn to_json<T: Serialize + ?Sized>(what: &'static str, value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|source| Error::Json { what, source })
}

/// A name or id held as plain text.
pub(crate) fn text<T: for<'a> From<&'a str>>(row: &Row<'_>, column: &str) -> SqlResult<T> {
    Ok(T::from(row.get_ref(column)?.as_str()?))
}

/// The same, where it may be missing.
pub(crate) fn optional_text<T: for<'a> From<&'a str>>(row: &Row<'_>, column: &str) -> SqlResult<Option<T>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map(T::from))
}

pub(crate) fn stamp(row: &Row<'_>, column: &str) -> SqlResult<Stamp> {
    row.get(column).map(Stamp::from_micros)
}

pub(crate) fn optional_stamp(row: &Row<'_>, column: &str) -> SqlResult<Option<Stamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Stamp::from_micros))
}

/// SQLite has no unsigned 64-bit integers. The bits are kept; what is above 2^63 shows as negative.
pub(crate) const fn to_sql_u64(value: u64) -> i64 {
    value.cast_signed()
}

pub(crate) fn from_sql_u64(row: &Row<'_>, column: &str) -> SqlResult<u64> {
    row.get(column).map(i64::cast_unsigned)
}

/// The columns `exit_code` and `exit_signal`.
pub(crate) fn exit_columns(exit: Option<ExitStatus>) -> (Option<i32>, Option<i32>) {
    match exit {
        Some(ExitStatus::Exit(code)) => (Some(code), None),
        Some(ExitStatus::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    }
}

pub(crate) fn exit(row: &Row<'_>) -> SqlResult<Option<ExitStatus>> {
    let signal: Option<i32> = row.get("exit_signal")?;
    let code: Option<i32> = row.get("exit_code")?;
    Ok(signal.map(ExitStatus::Signal).or(code.map(ExitStatus::Exit)))
}

/// Runs a query and reads every row. A row with a word this version does not know, as after a downgrade, is left out
/// and said so: one strange row must not hide all the others.
pub(crate) fn collect<T, P: Params>(
    statement: &mut Statement<'_>,
    params: P,
    read: impl Fn(&Row<'_>) -> SqlResult<T>,
) -> Result<Vec<T>> {
    let mut rows = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(record) => all.push(record),
            Err(
                error @ (rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)),
            ) => log::warn!("ledger: a row cannot be read and is left out: {error}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let long = "ü".repeat(MAX_TEXT);
        let cut = clip(&long);
        assert!(cut.len() < MAX_TEXT + 40);
        assert!(cut.ends_with(&format!("[{MAX_TEXT} bytes cut]")));
        assert_eq!(clip("short"), "short");
    }
}
