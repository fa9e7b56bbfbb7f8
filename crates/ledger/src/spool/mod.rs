//! Importing what the SPANK plugin wrote: one line a task start or end, appended by slurmstepd while we read.
mod files;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use triage_core::{BootId, Stamp, TaskEdge, TaskWhat};

use crate::error::{Error, Result};
use crate::open::{Durability, Ledger};
use crate::rows::{self, counter, task};
use files::SpoolFile;
use record::Decoded;

/// What to import.
#[derive(Debug, Clone, Copy)]
pub struct SpoolRequest<'a> {
    /// The spool's folder. One that is not there is empty.
    pub folder: &'a Path,
    /// The moment, to tell idle files by.
    pub now: Stamp,
    /// This boot: files of jobs with an open span in it stay.
    pub boot: &'a BootId,
    /// The job an epilog is for: its files come first.
    pub first: Option<u32>,
    /// Bytes to read at most. What is over comes next time.
    pub max_bytes: u64,
}

/// What was imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Records that were not in the ledger yet.
    pub records: u64,
    /// Lines that are no record, or one whose checksum is wrong.
    pub bad: u64,
    /// Files that are done with and removed.
    pub removed: u64,
    /// Something was left for the next pass.
    pub more: bool,
}

/// Longest record; the plugin writes each with one `write(2)`.
const MAX_LINE: u64 = triage_wire::MAX_LINE as u64;
/// Records of one run that are kept, whatever they say: 64 tasks in 64 steps, start and end.
const KEPT: u64 = 8192;
/// Records of one run that are kept beyond that when they tell of a failure.
const KEPT_FAILURES: u64 = 2 * KEPT;

/// What is new in one file.
struct Piece {
    file: SpoolFile,
    from: u64,
    to: u64,
    /// Bytes of a line that is not whole, left for the next pass.
    tail: u64,
    decoded: Decoded,
}

impl Piece {
    const fn has_news(&self) -> bool {
        self.to > self.from
    }

    /// No whole line of the file is missing from the ledger; and no byte, once no line is begun in it any more.
    const fn reaches_end(&self) -> bool {
        let tail = if self.file.retired { 0 } else { self.tail };
        self.to + tail >= self.file.size
    }
}

impl Ledger {
    /// Imports what is new in the spool, in one transaction with the note of how far it was read, and removes files
    /// that are done with. A line is never lost and never counted twice, however the programs of a node meet.
    ///
    /// # Errors
    /// When the folder cannot be read; else see [`Error`]. A single file that cannot be read is left for the next
    /// pass.
    pub fn import_spool(&mut self, request: &SpoolRequest<'_>) -> Result<Imported> {
        let now_s = request.now.micros().div_euclid(1_000_000);
        let listed = files::list(request.folder, request.first, now_s)
            .map_err(|error| Error::io(request.folder, "list the spool", error))?;
        let (offsets, on_node) = self.read(|conn| Ok((offsets(conn)?, open_jobs(conn, request.boot)?)))?;
        if listed.is_empty() && offsets.is_empty() {
            return Ok(Imported::default());
        }
        let mut imported = Imported::default();
        let pieces = pieces(&listed, &offsets, request.max_bytes, &mut imported);
        let is_there =
            |key: &&(String, u64)| listed.iter().any(|file| file.name == key.0 && file.inode == key.1);
        let gone: Vec<_> = offsets.keys().filter(|key| !is_there(key)).collect();
        if !gone.is_empty() || pieces.iter().any(Piece::has_news) {
            // The spool is in memory: a power loss takes it as well.
            self.write_as(Durability::Logged, |tx| put(tx, &pieces, &gone, request.now, &mut imported))?;
        }
        for piece in pieces.iter().filter(|piece| piece.reaches_end() && piece.file.idle) {
            if piece.file.job().is_none_or(|job| !on_node.contains(&job)) {
                self.let_go(&piece.file, &mut imported)?;
            }
        }
        Ok(imported)
    }

    /// The note goes before the file: should we die in between, the file is imported again, which changes nothing.
    /// The other way round a new file with the same inode would be taken for read.
    fn let_go(&mut self, file: &SpoolFile, imported: &mut Imported) -> Result<()> {
        let done = if file.retired {
            self.write(|tx| forget(tx, &file.name, file.inode))?;
            file.remove().map(|()| imported.removed += 1)
        } else {
            file.retire()
        };
        if let Err(error) = done {
            log::warn!("{}: cannot be put away: {error}", file.path.display());
        }
        Ok(())
    }
}

type Offsets = BTreeMap<(String, u64), u64>;

fn offsets(conn: &Connection) -> Result<Offsets> {
    let mut statement = conn.prepare("SELECT name, inode, offset FROM spool_files")?;
    let all = rows::collect(&mut statement, [], |row| {
        Ok(((row.get("name")?, rows::from_sql_u64(row, "inode")?), rows::from_sql_u64(row, "offset")?))
    })?;
    Ok(all.into_iter().collect())
}

fn open_jobs(conn: &Connection, boot: &BootId) -> Result<BTreeSet<u32>> {
    let mut statement = conn.prepare(
        "SELECT r.job FROM job_spans s JOIN runs r ON r.id = s.run WHERE s.ended IS NULL AND s.boot = ?1",
    )?;
    Ok(rows::collect(&mut statement, [boot.as_str()], |row| row.get(0))?.into_iter().collect())
}

/// Reads what is new, outside the transaction: nobody waits for our reading.
fn pieces(listed: &[SpoolFile], offsets: &Offsets, max_bytes: u64, imported: &mut Imported) -> Vec<Piece> {
    let mut left = max_bytes.max(2 * MAX_LINE);
    let mut pieces = Vec::new();
    for file in listed {
        let known = offsets.get(&(file.name.clone(), file.inode)).copied().unwrap_or(0);
        // Nobody shortens a spool file; if somebody did, all of it is new.
        let from = if known > file.size { 0 } else { known };
        // A piece shorter than this might hold no whole line.
        if file.size - from > left && left < 2 * MAX_LINE {
            imported.more = true;
            continue;
        }
        match piece(file, from, left) {
            Ok(piece) => {
                left = left.saturating_sub(piece.to - piece.from);
                imported.more |= piece.has_news() && !piece.reaches_end();
                pieces.push(piece);
            }
            Err(error) => log::warn!("{}: cannot be read: {error}", file.path.display()),
        }
    }
    pieces
}

fn piece(file: &SpoolFile, from: u64, left: u64) -> std::io::Result<Piece> {
    let mut bytes = if from < file.size { file.read(from, left)? } else { Vec::new() };
    let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
    let mut tail = (bytes.len() - whole) as u64;
    if tail > MAX_LINE || (file.retired && file.idle) {
        // Longer than any record, or the writer died in the middle: there is no more to come.
        tail = 0;
    } else {
        bytes.truncate(whole);
    }
    let decoded = record::decode(&bytes);
    Ok(Piece { file: file.clone(), from, to: from + bytes.len() as u64, tail, decoded })
}

fn put(
    tx: &Transaction<'_>,
    pieces: &[Piece],
    gone: &[&(String, u64)],
    now: Stamp,
    imported: &mut Imported,
) -> Result<()> {
    let mut kept: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.has_news()) {
        let SpoolFile { name, inode, .. } = &piece.file;
        // Another program may have read the same lines and been faster.
        if offset(tx, name, *inode)? > piece.from {
            continue;
        }
        for (at, edge, extra) in &piece.decoded.edges {
            imported.records += u64::from(put_edge(tx, *at, edge, extra, now, &mut kept)?);
        }
        imported.bad += piece.decoded.bad;
        counter::add(tx, now, counter::BAD_RECORDS, "unreadable", piece.decoded.bad)?;
        tx.execute(
            "INSERT INTO spool_files (name, inode, offset) VALUES (?1, ?2, ?3)
             ON CONFLICT (name, inode) DO UPDATE SET offset = excluded.offset",
            params![name, rows::to_sql_u64(*inode), rows::to_sql_u64(piece.to)],
        )?;
    }
    for (name, inode) in gone {
        forget(tx, name, *inode)?;
    }
    Ok(())
}

fn offset(tx: &Transaction<'_>, name: &str, inode: u64) -> Result<u64> {
    let found = tx.query_row(
        "SELECT offset FROM spool_files WHERE name = ?1 AND inode = ?2",
        params![name, rows::to_sql_u64(inode)],
        |row| rows::from_sql_u64(row, "offset"),
    );
    Ok(found.optional()?.unwrap_or(0))
}

fn forget(tx: &Transaction<'_>, name: &str, inode: u64) -> Result<()> {
    tx.execute(
        "DELETE FROM spool_files WHERE name = ?1 AND inode = ?2",
        params![name, rows::to_sql_u64(inode)],
    )?;
    Ok(())
}

/// Keeps the edge, within bounds: a job that starts a hundred thousand steps must not fill the ledger.
fn put_edge(
    tx: &Transaction<'_>,
    at: Stamp,
    edge: &TaskEdge,
    extra: &task::Extra,
    now: Stamp,
    kept: &mut BTreeMap<(u32, u32), u64>,
) -> Result<bool> {
    let run = (edge.job, edge.restart);
    let count = match kept.get(&run) {
        Some(count) => *count,
        None => tx.query_row("SELECT count(*) FROM tasks WHERE job = ?1 AND restart = ?2", run, |row| {
            rows::from_sql_u64(row, "count(*)")
        })?,
    };
    let failed = matches!(edge.what, TaskWhat::End(exit) if !exit.is_success());
    if count >= if failed { KEPT_FAILURES } else { KEPT } {
        let name = if edge.what == TaskWhat::Start { "start" } else { "end" };
        counter::add(tx, now, counter::TASKS, name, 1)?;
        kept.insert(run, count);
        return Ok(false);
    }
    let new = task::put(tx, at, edge, extra)?;
    kept.insert(run, count + u64::from(new));
    Ok(new)
}
