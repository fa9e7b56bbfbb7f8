//! The ledger against real SQLite files, real processes, full and read-only filesystems.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test panics where it fails")]

mod baselines;
mod checks;
mod damage;
mod disk;
mod history;
mod intents;
mod memory;
mod opening;
mod people;
mod processes;
mod queries;
mod rates;
mod recording;
mod retention;
mod round_trip;
mod spool;
mod support;
mod views;
mod whole_way;
