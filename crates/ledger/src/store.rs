//! Writing what a pass found and wants.
use rusqlite::{Connection, Transaction, params};
use triage_core::Observation;

use crate::baseline;
use crate::batch::{Batch, Cursor, Generation, Recorded};
use crate::error::Result;
use crate::open::{Durability, Ledger};
use crate::retain;
use crate::rows::observation::Place;
use crate::rows::{
    audit, case, check, counter, cursor, decision, event, intent, meta, observation, rate, reading, sighting,
    source, span, task, verdict,
};
use crate::trail::{self, TrailFacts};

impl Ledger {
    /// Writes the batch: all of it in one transaction, or nothing. Writing it again changes nothing.
    ///
    /// When the size limit or the filesystem's end is reached, the oldest events without a case make room, once.
    ///
    /// # Errors
    /// See [`crate::Error`]; nothing was written then.
    pub fn record(&mut self, batch: &Batch<'_>) -> Result<Recorded> {
        let durability = durability(batch);
        let recorded = match self.write_as(durability, |tx| record(tx, batch)) {
            Err(error) if error.is_full() => {
                log::warn!("{error}: letting go of the oldest events");
                retain::make_room(self, batch.now)?;
                self.write_as(durability, |tx| record(tx, batch))
            }
            outcome => outcome,
        }?;
        self.checkpoint_long_log();
        Ok(recorded)
    }
}

/// Evidence, judgement and intents are on the disk before anything is done about them. A batch of bookkeeping alone
/// (an opened span, a cursor, a source's state) need not be. What a power loss takes of it, within the minute until the
/// next health check's commit, is that a job was on a node whose kernel crashed under it, which slurmctld knows by
/// itself (`NODE_FAIL`), and cursors, which cost reading some lines twice. A prolog that waited for the disk's sync
/// for that would pay milliseconds at every job start for nothing.
fn durability(batch: &Batch<'_>) -> Durability {
    if batch.must_survive_power_loss() { Durability::Synced } else { Durability::Logged }
}

/// The state of cases, decisions and intents.
pub(crate) fn generation(conn: &Connection) -> Result<Generation> {
    Ok(Generation(meta::get(conn, "generation")?.unwrap_or_default()))
}

/// To be called in every transaction that changes a case, a decision or an intent.
pub(crate) fn bump_generation(tx: &Transaction<'_>) -> Result<()> {
    let Generation(now) = generation(tx)?;
    meta::set(tx, "generation", &now.saturating_add(1))
}

fn record(tx: &Transaction<'_>, batch: &Batch<'_>) -> Result<Recorded> {
    if let Some(base) = batch.based_on
        && base != generation(tx)?
    {
        return Ok(Recorded::Stale);
    }
    greet_boot(tx, batch)?;
    let events = put_evidence(tx, batch)?;
    for span in batch.spans {
        span::put(tx, span)?;
    }
    let extra = task::Extra { node: batch.node.as_str().to_owned(), ..task::Extra::default() };
    for (at, edge) in batch.tasks {
        task::put(tx, *at, edge, &extra)?;
    }
    let intents = put_judgement(tx, batch)?;
    for report in batch.sources {
        source::put(tx, report)?;
    }
    if let Some(reading) = batch.reading {
        reading::put(tx, batch.node, reading)?;
    }
    if let Some(record) = batch.node_record {
        sighting::put(tx, record, batch.now)?;
    }
    trail::policy(tx, batch)?;
    check::put_all(tx, batch.checks)?;
    if let Some(learned) = batch.baseline {
        baseline::put(tx, learned, batch.now, batch.program, TrailFacts::default())?;
    }
    if let Some(facts) = batch.facts {
        check::put_facts(tx, facts)?;
    }
    for engine in batch.rates {
        rate::put(tx, engine)?;
    }
    for note in batch.audit {
        if !audit::stands(tx, batch.now, note)? {
            audit::put(tx, batch.now, batch.program, note)?;
        }
    }
    Ok(Recorded::Committed { events, intents })
}

/// The first batch of a boot ends what the boot before left open.
fn greet_boot(tx: &Transaction<'_>, batch: &Batch<'_>) -> Result<()> {
    let new = tx.execute(
        "INSERT INTO boots (boot, node, first_seen) VALUES (?1, ?2, ?3) ON CONFLICT (boot) DO NOTHING",
        params![batch.boot.as_str(), batch.node.as_str(), batch.now.micros()],
    )?;
    if new > 0 {
        span::end_other_boots(tx, batch.boot, batch.now)?;
        tx.execute(
            "UPDATE sources SET hung_pid = NULL, hung_start = NULL, hung_boot = NULL WHERE hung_boot <> ?1",
            [batch.boot.as_str()],
        )?;
    }
    Ok(())
}

/// Events with the observations behind them, counts of the rest, and the cursors that say it was all read.
fn put_evidence(tx: &Transaction<'_>, batch: &Batch<'_>) -> Result<usize> {
    let stored =
        if batch.cursors.is_empty() && batch.observations.is_empty() { Vec::new() } else { cursor::all(tx)? };
    let advanced: Vec<&Cursor> = batch.cursors.iter().filter(|new| cursor::advances(&stored, new)).collect();
    let sorted = observation::sort(batch.observations, batch.events, |line| is_new(&stored, &advanced, line));
    let mut new = 0;
    for event in batch.events {
        let behind = sorted.behind.get(&Place::of_event(event)).copied();
        new += usize::from(event::put(tx, event, behind)?);
    }
    for (source, count) in sorted.without {
        counter::add(tx, batch.now, counter::LINES, source.word(), count)?;
    }
    // Two passes over the same lines see the same repeats; the one that moves the cursor counts them.
    let first = batch.cursors.is_empty() || !advanced.is_empty();
    for (code, count) in batch.repeats.into_iter().flatten().filter(|_| first) {
        counter::add(tx, batch.now, counter::REPEATS, code, *count)?;
    }
    for cursor in advanced {
        cursor::put(tx, cursor, batch.now)?;
    }
    Ok(new)
}

/// Whether no pass has recorded this line yet: it lies at or after the stored cursor of its stream. A line of a stream
/// that nobody keeps a cursor for is always new.
fn is_new(stored: &[Cursor], advanced: &[&Cursor], line: &Observation) -> bool {
    let of = |cursor: &&Cursor| cursor.source == line.source && cursor.stream == line.stream;
    let Some(old) = stored.iter().find(of) else { return true };
    let replaced =
        advanced.iter().copied().find(of).is_some_and(|new| new.boot != old.boot || new.anchor != old.anchor);
    replaced || line.boot != old.boot || line.cursor >= old.cursor
}

fn put_judgement(tx: &Transaction<'_>, batch: &Batch<'_>) -> Result<usize> {
    for case in batch.cases {
        let before = trail::before(tx, case)?;
        case::put(tx, case)?;
        trail::case_changed(tx, batch, case, before.as_ref())?;
    }
    for verdict in batch.verdicts {
        verdict::put(tx, verdict)?;
    }
    for decision in batch.decisions {
        if decision::put(tx, decision)? {
            trail::decided(tx, (batch.node, batch.now, batch.program), decision)?;
        }
    }
    let mut new = 0;
    for wanted in batch.intents {
        new += usize::from(intent::put(tx, wanted, batch.now)?);
    }
    if batch.changes_judgement() {
        bump_generation(tx)?;
    }
    Ok(new)
}
