//! The ledger of slurm-triage: one SQLite file a node, written by several short-lived programs at once.
//!
//! A pass opens the ledger, takes what it needs with [`Ledger::load`], lets the pure pipeline work, and puts
//! everything back with one [`Ledger::record`]: one transaction, all of it or nothing. Ids are digests of what they
//! name, so recording the same batch twice changes nothing. What is to be done to the outside world is an intent
//! first ([`Ledger::claim`], [`Ledger::settle`]), so that a crash at any instruction neither acts twice nor forgets.
//!
//! The schema is in `schema/*.sql` and told in `docs/ledger.md`. This crate knows nothing of Slurm's commands, of
//! NVML or of the kernel; the caller brings the moment with it.
mod aside;
mod baseline;
mod batch;
mod error;
mod export;
mod history;
mod intents;
mod journal;
mod load;
mod memory;
mod migrate;
mod open;
mod out;
mod people;
mod place;
mod query;
mod read_only;
mod retain;
mod rows;
mod spool;
mod store;
mod trail;

pub use batch::{
    AuditNote, Batch, Cursor, Generation, Level, NewIntent, ProcessId, Reading, Recorded, Seen, SourceReport,
};
pub use error::{Error, Result};
pub use intents::{Claim, ClaimRequest, Claimed, IntentRow, IntentState, Settled};
pub use journal::{FsKind, JournalMode, journal_mode};
pub use load::{Load, Loaded};
pub use migrate::SCHEMA_VERSION;
pub use open::{Access, Ledger, OpenOptions, Opened};
pub use people::{Closed, Closing, Held, Word};
pub use place::SetAside;
pub use query::{About, AuditRow, Counter, Filter, Found, JobFilter, Replaced, Sighting, SourceRow};
pub use retain::{Limits, Upkeep};
pub use spool::{Imported, SpoolRequest};
pub use trail::{LOG_TARGET as TRAIL_TARGET, TrailFacts};
