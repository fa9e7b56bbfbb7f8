//! What a report over many ledgers asks of each.
use rusqlite::{OptionalExtension, params};
use triage_core::{NodeName, Stamp};

use crate::error::Result;
use crate::open::Ledger;

impl Ledger {
    /// The node whose ledger it is: the one that was last booted with it. `None`: no hook has written yet.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn node(&self) -> Result<Option<NodeName>> {
        self.read(|conn| {
            let sql = "SELECT node FROM boots ORDER BY first_seen DESC, boot LIMIT 1";
            let name: Option<String> = conn.query_row(sql, [], |row| row.get(0)).optional()?;
            Ok(name.map(NodeName::new))
        })
    }

    /// How many real events of each code there were since then, without those that were only counted.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn event_counts(&self, since: Stamp) -> Result<Vec<(String, u64)>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT code, count(*) AS n FROM events WHERE at >= ?1 AND NOT synthetic GROUP BY code ORDER BY code",
            )?;
            let rows = statement.query_map(params![since.micros()], |row| {
                Ok((row.get::<_, String>("code")?, row.get::<_, i64>("n")?.unsigned_abs()))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
