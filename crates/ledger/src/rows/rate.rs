//! `rates`: counts of repeats, and the moments at which cases were reported well again.
use rusqlite::{Connection, Row, params};
use triage_core::serd::Engine;

use super::{SqlResult, collect, json, optional_stamp, text, to_json};
use crate::error::Result;

/// Writes the engine's state; one that has nothing to remember is removed.
pub(crate) fn put(conn: &Connection, engine: &Engine) -> Result<()> {
    let key = params![engine.rule, engine.identity];
    if engine.occurrences.is_empty() && engine.fired_at.is_none() {
        conn.execute("DELETE FROM rates WHERE rule = ?1 AND identity = ?2", key)?;
        return Ok(());
    }
    conn.execute(
        "INSERT INTO rates (rule, identity, resource, occurrences, last_at, fired_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (rule, identity) DO UPDATE SET resource = excluded.resource,
             occurrences = excluded.occurrences, last_at = excluded.last_at, fired_at = excluded.fired_at",
        params![
            engine.rule,
            engine.identity,
            engine.resource.to_string(),
            to_json("the occurrences of a rate", &engine.occurrences)?,
            engine.occurrences.last().map(|last| last.at.micros()),
            engine.fired_at.map(|at| at.micros()),
        ],
    )?;
    Ok(())
}

/// Every engine, by rule and identity.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Engine>> {
    let mut statement = conn.prepare(
        "SELECT rule, identity, resource, occurrences, fired_at FROM rates ORDER BY rule, identity",
    )?;
    collect(&mut statement, [], read)
}

fn read(row: &Row<'_>) -> SqlResult<Engine> {
    Ok(Engine {
        rule: row.get("rule")?,
        identity: row.get("identity")?,
        resource: text(row, "resource")?,
        occurrences: json(row, "occurrences")?,
        fired_at: optional_stamp(row, "fired_at")?,
    })
}
