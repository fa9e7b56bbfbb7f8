//! Opening for a person: nothing is changed and no file is made, whatever the user's rights.
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::journal::{JournalMode, journal_mode};
use crate::migrate::{Header, SCHEMA_VERSION};
use crate::open::{Ledger, OpenOptions, Opened, harden, sorted};
use crate::place::{self, Lock};

pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Ledger> {
    // A reader follows a link: it makes no log beside it.
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { path: path.to_owned() },
        _ => Error::io(path, "look at it", error),
    })?;
    if !meta.is_file() {
        return Err(Error::NotAPlainFile { path: path.to_owned(), what: "not a regular file" });
    }
    if meta.len() == 0 {
        return Err(Error::Missing { path: path.to_owned() });
    }
    let lock = Lock::existing(path);
    if let Some(lock) = &lock {
        lock.shared(options.wait)?;
    }
    let conn = connect(path, options).map_err(|error| sorted(path, error))?;
    let filesystem = place::filesystem(path);
    Ok(Ledger {
        conn,
        path: path.to_owned(),
        options: *options,
        opened: Opened {
            migrated_from: None,
            set_aside: None,
            filesystem,
            journal: journal_mode(filesystem, rusqlite::version_number()),
        },
        file: None,
        lock,
    })
}

fn connect(path: &Path, options: &OpenOptions) -> Result<Connection> {
    let mode = journal_mode(place::filesystem(path), rusqlite::version_number());
    if mode == JournalMode::Wal && has_no_log(path) {
        // A plain `sqlite3` was the last to close it and took the log away, and SQLite would make a new one even for a
        // reader. Without a log the file alone is the whole truth, and as long as we are reading it stays so: a writer
        // that comes meanwhile writes into its log.
        return checked(path, "immutable=1", options);
    }
    // SQLite then reads the log's index where it may not lock it into a copy of its own, and makes no index.
    checked(path, "readonly_shm=1", options)
}

fn has_no_log(path: &Path) -> bool {
    let is_there = |suffix| fs::metadata(place::beside(path, suffix));
    match is_there("-wal") {
        Err(_) => true,
        Ok(log) => log.len() == 0 && is_there("-shm").is_err(),
    }
}

fn checked(path: &Path, parameter: &str, options: &OpenOptions) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(uri(path, parameter), flags)?;
    conn.busy_timeout(options.wait)?;
    harden(&conn)?;
    let header = Header::read(&conn)?;
    if !header.judge(&conn, SCHEMA_VERSION)? {
        return Err(Error::Older {
            path: path.to_owned(),
            found: header.user_version,
            known: SCHEMA_VERSION,
        });
    }
    Ok(conn)
}

/// The path as an SQLite URI, every byte that could mean something to the parser escaped.
fn uri(path: &Path, parameter: &str) -> String {
    use std::fmt::Write as _;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-') {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri + "?" + parameter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_of_a_path_reaches_the_uri_parser() {
        assert_eq!(uri(Path::new("/v/a b?mode=rw#%.db"), "x=1"), "file:/v/a%20b%3fmode%3drw%23%25.db?x=1");
    }
}
