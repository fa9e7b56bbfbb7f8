//! Upkeep, run by the health check: what is too old goes, what is too much goes, oldest first, a little at a time.
//!
//! Order, for age and for size alike: events that belong to no case, with what was said; task records; closed cases,
//! whose evidence then belongs to no case; judgements whose case is gone; runs; the audit last. Counters stay. Open
//! cases stay whatever their age, with their evidence, decisions and intents: they are what keeps an action from being
//! done twice.
mod stages;

use std::time::{Duration, Instant};

use rusqlite::Connection;
use triage_core::Stamp;

use crate::error::{Error, Result};
use crate::intents;
use crate::journal::JournalMode;
use crate::open::Ledger;
use crate::place;
use crate::query::pragma;
use crate::rows::{counter, meta};
use stages::STAGES;

/// How much the ledger keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Days.
    pub days: u32,
    /// Bytes in use.
    pub bytes: u64,
}

impl Default for Limits {
    /// A quarter of a year, and a quarter of a gigabyte.
    fn default() -> Self {
        Self { days: 90, bytes: 256 * 1024 * 1024 }
    }
}

/// What one upkeep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Intents nobody began in time.
    pub expired_intents: u64,
    /// Rows removed, by table.
    pub pruned: Vec<(&'static str, u64)>,
    /// The file is sound: it was checked now.
    pub checked: bool,
    /// Everything that was to be done is done. Otherwise the time was up, and the next upkeep goes on.
    pub complete: bool,
}

/// Rows removed in one transaction: a prolog that waits for it waits some milliseconds.
const STEP_ROWS: u32 = 500;
/// Free pages given back to the filesystem at a time.
const STEP_PAGES: u32 = 256;
/// Free pages that are left for the next rows.
const SPARE_PAGES: u64 = 1024;
/// Pruning for size goes on down to nine tenths of the limit, so that it does not begin again with the next row.
const TARGET_TENTHS: u64 = 9;
/// Bytes of log after which a commit moves it into the file: some forty healthy prologs. Reading a log of this length
/// costs each program that opens the ledger a quarter of a millisecond.
const LONG_LOG: u64 = 1024 * 1024;
/// How often old rows are looked for.
const PRUNE_EVERY_S: i64 = 3600;
/// How often the whole file is checked.
const CHECK_EVERY_S: i64 = 24 * 3600;
/// The check reads the whole file: half a second for the largest ledger out of the page cache, some seconds from a
/// slow disk. With less time left it waits for a better day.
const CHECK_NEEDS: Duration = Duration::from_secs(5);
/// Where so much lies between two upkeeps, the node was off or its clock jumped ahead. Which of the two is known once the clock
/// has gone on so long from there: munge refuses the messages of a node whose clock is wrong, so somebody sets it right.
const CLOCK_DOUBT_S: i64 = 24 * 3600;

impl Ledger {
    /// Settles what expired and moves the log into the file. Once an hour it prunes by age and size and gives space
    /// back, once a day it checks the whole file; all of it for no longer than `budget`, in short transactions.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the check finds damage: [`Ledger::set_aside`] is next. Else see [`Error`].
    pub fn upkeep(&mut self, limits: &Limits, now: Stamp, budget: Duration) -> Result<Upkeep> {
        let end = Instant::now() + budget;
        let mut done = Upkeep { expired_intents: self.expire_intents(now)?, ..Upkeep::default() };
        done.complete =
            !self.is_due("upkeep_at", PRUNE_EVERY_S, now)? || self.prune_all(limits, now, end, &mut done)?;
        self.checkpoint()?;
        done.checked = done.complete && self.check_daily(now, end)?;
        Ok(done)
    }

    /// Moves the log into the file and empties it. Opening reads the log, so each program is a little slower until
    /// somebody does: epilog and health check at their end. Gives up at once where a reader is in the way.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn checkpoint(&self) -> Result<()> {
        if self.opened.journal != JournalMode::Wal {
            return Ok(());
        }
        let run = || {
            self.conn.busy_timeout(Duration::ZERO)?;
            let outcome = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            self.conn.busy_timeout(self.options.wait)?;
            outcome
        };
        match run().map_err(|error| Error::sqlite(&self.path, error)) {
            Err(error) if error.is_busy() => Ok(()),
            outcome => outcome,
        }
    }

    /// Keeps the log short on a node where no health check does. What was committed is safe in any case, so a failure
    /// is only said.
    pub(crate) fn checkpoint_long_log(&self) {
        let long = std::fs::metadata(place::beside(&self.path, "-wal")).is_ok_and(|log| log.len() > LONG_LOG);
        if long && let Err(error) = self.checkpoint() {
            log::warn!("ledger: the log cannot be moved into the file: {error}");
        }
    }

    fn expire_intents(&mut self, now: Stamp) -> Result<u64> {
        // Mostly there are none, and then nothing is written.
        let any = self.read(|conn| {
            let sql = "SELECT EXISTS (SELECT 1 FROM actions WHERE state = 'pending' AND expires < ?1)";
            Ok(conn.query_row(sql, [now.micros()], |row| row.get::<_, bool>(0))?)
        })?;
        if any { self.write(|tx| intents::expire(tx, now)).map(|n| n as u64) } else { Ok(0) }
    }

    /// Whether what the moment under `key` remembers is longer ago than `every_s` seconds. A moment in the future comes
    /// from a clock that was ahead, and counts as long ago.
    fn is_due(&self, key: &str, every_s: i64, now: Stamp) -> Result<bool> {
        let last: Option<i64> = self.read(|conn| meta::get(conn, key))?;
        Ok(last.is_none_or(|last| {
            let age = now.micros_since(Stamp::from_micros(last));
            !(0..every_s * 1_000_000).contains(&age)
        }))
    }

    fn prune_all(&mut self, limits: &Limits, now: Stamp, end: Instant, done: &mut Upkeep) -> Result<bool> {
        let complete = (self.clock_is_doubtful(now)? || self.prune_old(limits, now, end, done)?)
            && self.prune_much(limits, now, end, done)?
            && self.give_back(end)?;
        if complete {
            self.write(|tx| meta::set(tx, "upkeep_at", &now.micros()))?;
        }
        Ok(complete)
    }

    /// Whether the clock may have jumped ahead, and nothing is as old as it seems.
    fn clock_is_doubtful(&mut self, now: Stamp) -> Result<bool> {
        const FROM: &str = "clock_doubted_from";
        let doubt = CLOCK_DOUBT_S * 1_000_000;
        let since = |at: Option<i64>| at.map(|at| now.micros_since(Stamp::from_micros(at)));
        if since(self.read(|conn| meta::get(conn, "upkeep_at"))?).is_some_and(|age| age > doubt) {
            log::warn!(
                "ledger: no upkeep for over a day by the clock; what is old by it stays for another day"
            );
            self.write(|tx| meta::set(tx, FROM, &now.micros()))?;
            return Ok(true);
        }
        let age = since(self.read(|conn| meta::get(conn, FROM))?);
        Ok(age.is_some_and(|age| (0..doubt).contains(&age)))
    }

    fn prune_old(&mut self, limits: &Limits, now: Stamp, end: Instant, done: &mut Upkeep) -> Result<bool> {
        let before = now.plus_secs(-i64::from(limits.days) * 86_400);
        for stage in STAGES {
            while self.prune(stage, before, now, done)? {
                if Instant::now() >= end {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn prune_much(&mut self, limits: &Limits, now: Stamp, end: Instant, done: &mut Upkeep) -> Result<bool> {
        if self.read(used)? <= limits.bytes {
            return Ok(true);
        }
        let target = limits.bytes / 10 * TARGET_TENTHS;
        // Also what comes from a clock that was ahead.
        let before = Stamp::from_micros(i64::MAX);
        for stage in STAGES {
            while self.read(used)? > target && self.prune(stage, before, now, done)? {
                if Instant::now() >= end {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// One step of one stage; whether there may be more.
    fn prune(&mut self, stage: &stages::Stage, before: Stamp, now: Stamp, done: &mut Upkeep) -> Result<bool> {
        if !self.read(|conn| stage.has_any(conn, before))? {
            return Ok(false);
        }
        let removed = self.write(|tx| {
            let removed = stage.remove(tx, before, STEP_ROWS)?;
            for (table, rows) in &removed {
                counter::add(tx, now, counter::PRUNED, table, *rows)?;
            }
            Ok(removed)
        })?;
        let any = removed.iter().any(|(_, rows)| *rows > 0);
        for (table, rows) in removed {
            match done.pruned.iter_mut().find(|(name, _)| *name == table) {
                Some((_, sum)) => *sum += rows,
                None if rows > 0 => done.pruned.push((table, rows)),
                None => {}
            }
        }
        Ok(any)
    }

    fn give_back(&mut self, end: Instant) -> Result<bool> {
        while self.read(|conn| pragma(conn, "freelist_count"))? > SPARE_PAGES + u64::from(STEP_PAGES) {
            if Instant::now() >= end {
                return Ok(false);
            }
            self.write(|tx| {
                // One page a row: it has to be read to its end.
                let mut statement = tx.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                Ok(())
            })?;
        }
        Ok(true)
    }

    fn check_daily(&mut self, now: Stamp, end: Instant) -> Result<bool> {
        let due = self.is_due("checked_at", CHECK_EVERY_S, now)?;
        if !due || end.saturating_duration_since(Instant::now()) < CHECK_NEEDS {
            return Ok(false);
        }
        self.check()?;
        self.write(|tx| meta::set(tx, "checked_at", &now.micros()))?;
        Ok(true)
    }

    /// Reads the whole file and checks that it is sound.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the first damage found.
    pub fn check(&self) -> Result<()> {
        let found: String =
            self.read(|conn| Ok(conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?))?;
        if found == "ok" { Ok(()) } else { Err(Error::Corrupt { path: self.path.clone(), why: found }) }
    }
}

/// Bytes of the file that hold something.
fn used(conn: &Connection) -> Result<u64> {
    let pages = pragma(conn, "page_count")?.saturating_sub(pragma(conn, "freelist_count")?);
    Ok(pages.saturating_mul(pragma(conn, "page_size")?))
}

/// Stages that make room for a batch: what belongs to no case, and task records. Judgement and audit do not give way
/// to new evidence.
const STAGES_FOR_ROOM: usize = 2;

/// Room for a batch that found none: the log into the file, and some of the oldest rows away.
pub(crate) fn make_room(ledger: &mut Ledger, now: Stamp) -> Result<()> {
    if let Err(error) = ledger.checkpoint() {
        log::warn!("ledger: the log cannot be moved into the file: {error}");
    }
    let mut done = Upkeep::default();
    let before = Stamp::from_micros(i64::MAX);
    for stage in STAGES.iter().take(STAGES_FOR_ROOM) {
        if ledger.prune(stage, before, now, &mut done)? {
            return Ok(());
        }
    }
    Ok(())
}
