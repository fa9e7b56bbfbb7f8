//! `observations`: what a source said, verbatim, where it became an event; the rest is only counted.
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};
use triage_core::{BootId, Event, NodeName, Observation, Payload, SourceKind};

use super::{clip, to_json, to_sql_u64};
use crate::error::Result;

/// Where something was said. One place in one stream of one boot is one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place<'a> {
    node: &'a NodeName,
    boot: &'a BootId,
    source: SourceKind,
    stream: &'a str,
    cursor: u64,
}

impl<'a> Place<'a> {
    pub(crate) fn of_event(event: &'a Event) -> Self {
        let Event { node, boot, source, stream, cursor, .. } = event;
        Self { node, boot, source: *source, stream, cursor: *cursor }
    }

    fn of(observation: &'a Observation) -> Self {
        let Observation { node, boot, source, stream, cursor, .. } = observation;
        Self { node, boot, source: *source, stream, cursor: *cursor }
    }
}

/// The observations of one pass, sorted into those behind events and the number of the other lines.
#[derive(Debug, Default)]
pub(crate) struct Sorted<'a> {
    /// Those behind events.
    pub(crate) behind: HashMap<Place<'a>, &'a Observation>,
    /// Lines without an event, by source.
    pub(crate) without: BTreeMap<SourceKind, u64>,
}

/// Sorts. `is_new` tells whether the pass is the first to record what stands at this place, so that two passes over
/// the same lines do not count them twice.
pub(crate) fn sort<'a>(
    observations: &'a [Observation],
    events: &'a [Event],
    is_new: impl Fn(&Observation) -> bool,
) -> Sorted<'a> {
    let places: HashSet<Place<'_>> = events.iter().map(Place::of_event).collect();
    let mut sorted = Sorted::default();
    for observation in observations {
        let place = Place::of(observation);
        if places.contains(&place) {
            sorted.behind.insert(place, observation);
        } else if matches!(observation.payload, Payload::Line(_)) && is_new(observation) {
            *sorted.without.entry(observation.source).or_default() += 1;
        }
    }
    sorted
}

/// What the observation behind `event` said; the event's own text where nothing else was handed over.
pub(crate) fn said<'a>(event: &'a Event, observation: Option<&'a Observation>) -> Result<Cow<'a, str>> {
    Ok(match observation.map(|observation| &observation.payload) {
        Some(Payload::Line(line)) => clip(line),
        Some(Payload::Nvml(reading)) => Cow::Owned(to_json("an NVML sweep", reading)?),
        Some(Payload::Task(edge)) => Cow::Owned(to_json("a task record", edge)?),
        Some(Payload::Gap { .. } | Payload::Blind { .. }) | None => clip(&event.text),
    })
}

/// The number of the observation at `place`; a new one that said `said` if need be, and what it says.
pub(crate) fn number(conn: &Connection, place: Place<'_>, said: &str) -> Result<(i64, String)> {
    let Place { node, boot, source, stream, cursor } = place;
    let key = params![node.as_str(), boot.as_str(), source.word(), stream, to_sql_u64(cursor)];
    let known = conn
        .query_row(
            "SELECT id, said FROM observations
             WHERE node = ?1 AND boot = ?2 AND source = ?3 AND stream = ?4 AND cursor = ?5",
            key,
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    conn.execute(
        "INSERT INTO observations (node, boot, source, stream, cursor, said) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![node.as_str(), boot.as_str(), source.word(), stream, to_sql_u64(cursor), said],
    )?;
    Ok((conn.last_insert_rowid(), said.to_owned()))
}
