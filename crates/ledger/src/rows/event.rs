//! `events`.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{Event, Observation};

use super::observation::{self, Place};
use super::{SqlResult, clip, from_sql_u64, json, stamp, text, to_json, word};
use crate::error::Result;

/// For a query over `events e JOIN observations o ON o.id = e.observation`.
pub(crate) const COLUMNS: &str = "e.id, e.code, e.at, o.node, o.boot, o.source, o.stream, o.cursor, e.provenance, \
     e.synthetic, e.class, e.role, e.advice, e.confidence, e.clears, e.resource, e.fields, \
     ifnull(e.text, o.said) AS text";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "events e JOIN observations o ON o.id = e.observation";

/// Writes the event; `false` when it was there already.
pub(crate) fn put(conn: &Connection, event: &Event, observation: Option<&Observation>) -> Result<bool> {
    let known = conn.query_row("SELECT 1 FROM events WHERE id = ?1", [event.id.as_str()], |_| Ok(()));
    if known.optional()?.is_some() {
        return Ok(false);
    }
    let said = observation::said(event, observation)?;
    let (number, said) = observation::number(conn, Place::of_event(event), &said)?;
    let own = clip(&event.text);
    conn.execute(
        "INSERT INTO events (id, observation, at, code, class, role, provenance, synthetic, confidence, advice,
                             clears, resource, fields, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            event.id.as_str(),
            number,
            event.at.micros(),
            event.code.as_str(),
            event.class.word(),
            event.role.word(),
            event.provenance.word(),
            event.synthetic,
            event.confidence.word(),
            event.advice.word(),
            event.clears.word(),
            event.resource.to_string(),
            to_json("an event's fields", &event.fields)?,
            (own != said).then_some(own),
        ],
    )?;
    Ok(true)
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<Event> {
    Ok(Event {
        id: text(row, "id")?,
        code: text(row, "code")?,
        at: stamp(row, "at")?,
        node: text(row, "node")?,
        boot: text(row, "boot")?,
        source: word(row, "source")?,
        stream: row.get("stream")?,
        cursor: from_sql_u64(row, "cursor")?,
        provenance: word(row, "provenance")?,
        synthetic: row.get("synthetic")?,
        class: word(row, "class")?,
        role: word(row, "role")?,
        advice: word(row, "advice")?,
        confidence: word(row, "confidence")?,
        clears: word(row, "clears")?,
        resource: text(row, "resource")?,
        fields: json(row, "fields")?,
        text: row.get("text")?,
    })
}
