//! A copy for support bundles and for reading elsewhere.
use std::path::Path;

use rusqlite::params;

use crate::error::{Error, Result};
use crate::open::Ledger;
use crate::place;

impl Ledger {
    /// Writes a compact copy of the ledger to `target`, a file that is not there yet: one consistent state, without
    /// log and free pages, readable by any SQLite from 3.37 on.
    ///
    /// # Errors
    /// See [`Error`]. What was begun of the copy is removed then.
    pub fn export(&self, target: &Path) -> Result<()> {
        // Made first, so that it has our mode and nothing that is there already is overwritten.
        place::make_file(target)?;
        let name = target.to_str().ok_or_else(|| Error::NotAPlainFile {
            path: target.to_owned(),
            what: "a name that is not UTF-8",
        });
        let copied = name.and_then(|name| {
            self.conn.execute("VACUUM INTO ?1", params![name]).map_err(|error| Error::sqlite(target, error))
        });
        if copied.is_err() {
            // It is ours and incomplete; should it stay, the error says which file.
            let _ = std::fs::remove_file(target);
        }
        copied.map(|_| ())
    }
}
