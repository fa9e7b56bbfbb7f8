//! Reading the ledger for people: `slurm-triage` and the metrics file.
mod about;
mod counts;
mod filter;
mod lists;
mod lookup;

use triage_core::{NodeName, SourceKind, Stamp};

use crate::batch::{AuditNote, ProcessId};

pub(crate) use about::pragma;
pub use about::{About, Replaced};
pub use filter::{Filter, JobFilter};

/// The answer to a look-up by the beginning of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// This one.
    One(Box<T>),
    /// None begins so.
    None,
    /// Several do; some of their ids.
    Several(Vec<String>),
}

/// A row of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number; grows with time.
    pub id: i64,
    /// When it was written.
    pub at: Stamp,
    /// The program that wrote it.
    pub program: String,
    /// What it says.
    pub note: AuditNote,
}

/// The state of one source. A source that was never looked at has no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// Kind of source.
    pub source: SourceKind,
    /// Which one of that kind; empty where there is only one.
    pub stream: String,
    /// The last look.
    pub last_try: Stamp,
    /// The last look that succeeded.
    pub last_ok: Option<Stamp>,
    /// Since when it cannot be read; `None`: it can.
    pub blind_since: Option<Stamp>,
    /// Why not; empty when it can.
    pub reason: String,
    /// The process that still hung over it at the last look, if it is of this boot.
    pub hung: Option<ProcessId>,
    /// What the last look cost, microseconds of wall time.
    pub cost_us: u64,
}

/// The node as Slurm had it, for as long as it said the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The node.
    pub node: NodeName,
    /// Slurm's words for its state, joined by a plus sign.
    pub state: String,
    /// The reason, without who gave it.
    pub reason: String,
    /// It took no new jobs.
    pub is_out: bool,
    /// The reason was one of ours.
    pub ours: bool,
    /// When it was first read so.
    pub first_seen: Stamp,
    /// When it was last read so.
    pub last_seen: Stamp,
}

/// One count of one UTC day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// The day's first moment.
    pub day: Stamp,
    /// What is counted: `lines_without_event`, `repeats`, `bad_spool_records`, `tasks_not_kept`, `pruned`.
    pub kind: String,
    /// Of what: a source, a code, a fault, a table.
    pub name: String,
    /// How many.
    pub count: u64,
}
