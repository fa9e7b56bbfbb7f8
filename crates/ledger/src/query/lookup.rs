//! Single records by their ids.
use rusqlite::{Connection, OptionalExtension, Row};
use triage_core::{Case, Decision, Event, EventId, JobSpan, RunId, Verdict};

use super::Found;
use crate::error::Result;
use crate::open::Ledger;
use crate::rows::{self, case, decision, event, run, span, verdict};

/// Ids named in the answer when a prefix fits several.
const NAMED: usize = 10;

impl Ledger {
    /// The case with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn case(&self, prefix: &str) -> Result<Found<Case>> {
        self.read(|conn| {
            let found = by_prefix(conn, case::COLUMNS, case::FROM, "c.id", prefix, case::read)?;
            found.and_then(|case| {
                let mut cases = case::with_evidence(conn, vec![case])?;
                Ok(cases.pop())
            })
        })
    }

    /// The event with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn event(&self, prefix: &str) -> Result<Found<Event>> {
        self.read(|conn| by_prefix(conn, event::COLUMNS, event::FROM, "e.id", prefix, event::read))
    }

    /// The verdict with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn verdict(&self, prefix: &str) -> Result<Found<Verdict>> {
        self.read(|conn| by_prefix(conn, verdict::COLUMNS, verdict::FROM, "v.id", prefix, verdict::read))
    }

    /// The decision with this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn decision(&self, prefix: &str) -> Result<Found<Decision>> {
        self.read(|conn| by_prefix(conn, decision::COLUMNS, decision::FROM, "d.id", prefix, decision::read))
    }

    /// These events, in the order asked for. One that retention removed, or that was beyond the bound of its pass, is
    /// left out.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn events_by_id(&self, ids: &[EventId]) -> Result<Vec<Event>> {
        self.read(|conn| {
            let sql = format!("SELECT {} FROM {} WHERE e.id = ?1", event::COLUMNS, event::FROM);
            let mut statement = conn.prepare(&sql)?;
            let mut events = Vec::new();
            for id in ids {
                events.extend(rows::collect(&mut statement, [id.as_str()], event::read)?);
            }
            Ok(events)
        })
    }

    /// What the source said behind an event, verbatim: the line, or a sweep as JSON.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn said(&self, event: &EventId) -> Result<Option<String>> {
        self.read(|conn| {
            Ok(conn
                .query_row(
                    "SELECT o.said FROM events e JOIN observations o ON o.id = e.observation WHERE e.id = ?1",
                    [event.as_str()],
                    |row| row.get(0),
                )
                .optional()?)
        })
    }

    /// The span of a run.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn span(&self, run: &RunId) -> Result<Option<JobSpan>> {
        self.read(|conn| {
            let Some(number) = run::find(conn, run)? else { return Ok(None) };
            let sql = format!("SELECT {} FROM {} WHERE s.run = ?1", span::COLUMNS, span::FROM);
            Ok(conn.query_row(&sql, [number], span::read).optional()?)
        })
    }
}

/// Ids are lower-case hex, so everything that begins with a prefix sorts before the prefix followed by `g`.
fn by_prefix<T>(
    conn: &Connection,
    columns: &str,
    from: &str,
    id: &str,
    prefix: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Found<T>> {
    let prefix = prefix.to_ascii_lowercase();
    if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Found::None);
    }
    let sql = format!(
        "SELECT {columns} FROM {from} WHERE {id} >= ?1 AND {id} < ?1 || 'g' ORDER BY {id} LIMIT {NAMED}"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut all =
        rows::collect(&mut statement, [prefix], |row| Ok((row.get::<_, String>("id")?, read(row)?)))?;
    if all.len() > 1 {
        return Ok(Found::Several(all.into_iter().map(|(id, _)| id).collect()));
    }
    Ok(all.pop().map_or(Found::None, |(_, record)| Found::One(Box::new(record))))
}

impl<T> Found<T> {
    fn and_then(self, change: impl FnOnce(T) -> Result<Option<T>>) -> Result<Self> {
        match self {
            Self::One(record) => {
                Ok(change(*record)?.map_or(Self::None, |record| Self::One(Box::new(record))))
            }
            other => Ok(other),
        }
    }
}
