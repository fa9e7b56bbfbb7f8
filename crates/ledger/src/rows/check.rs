//! `checks` and `node_facts`: what the state checks found, and what they looked at last.
use rusqlite::{Connection, Row, params};
use triage_core::checks::CheckState;
use triage_core::facts::NodeFacts;

use super::{SqlResult, clip, from_sql_u64, json, stamp, text, to_json, to_sql_u64, word};
use crate::error::Result;

/// Writes results; an older look changes nothing. A health check has sixty of them, so the statement is prepared once.
pub(crate) fn put_all(conn: &Connection, states: &[CheckState]) -> Result<()> {
    if states.is_empty() {
        return Ok(());
    }
    let mut statement = conn.prepare(
        "INSERT INTO checks (name, state, since, at, boot, text, value, cost_us, items)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (name) DO UPDATE SET
             state = excluded.state, since = excluded.since, at = excluded.at, boot = excluded.boot,
             text = excluded.text, value = excluded.value, cost_us = excluded.cost_us, items = excluded.items
         WHERE excluded.at >= checks.at OR excluded.boot <> checks.boot",
    )?;
    for state in states {
        statement.execute(params![
            state.name,
            state.state.word(),
            state.since.micros(),
            state.at.micros(),
            state.boot.as_str(),
            clip(&state.text),
            state.value.as_deref().map(clip),
            to_sql_u64(state.cost_us),
            to_json("a check's resources", &state.items)?,
        ])?;
    }
    Ok(())
}

const COLUMNS: &str = "name, state, since, at, boot, text, value, cost_us, items";

/// Every result, by name.
pub(crate) fn all(conn: &Connection) -> Result<Vec<CheckState>> {
    let mut statement = conn.prepare(&format!("SELECT {COLUMNS} FROM checks ORDER BY name"))?;
    super::collect(&mut statement, [], read)
}

/// The results of these checks alone.
pub(crate) fn named(conn: &Connection, names: &[&str]) -> Result<Vec<CheckState>> {
    let mut statement = conn.prepare(&format!("SELECT {COLUMNS} FROM checks WHERE name = ?1"))?;
    let mut states = Vec::new();
    for name in names {
        states.extend(super::collect(&mut statement, [name], read)?);
    }
    Ok(states)
}

fn read(row: &Row<'_>) -> SqlResult<CheckState> {
    Ok(CheckState {
        name: row.get("name")?,
        state: word(row, "state")?,
        since: stamp(row, "since")?,
        at: stamp(row, "at")?,
        boot: text(row, "boot")?,
        text: row.get("text")?,
        value: row.get("value")?,
        cost_us: from_sql_u64(row, "cost_us")?,
        items: json(row, "items")?,
    })
}

/// Replaces what was read last.
pub(crate) fn put_facts(conn: &Connection, facts: &NodeFacts) -> Result<()> {
    conn.execute(
        "INSERT INTO node_facts (id, at, boot, facts) VALUES (1, ?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET at = excluded.at, boot = excluded.boot, facts = excluded.facts",
        params![facts.at.micros(), facts.boot.as_str(), to_json("the node's facts", facts)?],
    )?;
    Ok(())
}

/// What was read last. Facts of another version that cannot be read are as good as none.
pub(crate) fn last_facts(conn: &Connection) -> Result<Option<NodeFacts>> {
    let mut statement = conn.prepare("SELECT facts FROM node_facts WHERE id = 1")?;
    Ok(super::collect(&mut statement, [], |row| json(row, "facts"))?.pop())
}
