//! The executables slurmd runs: prolog, epilog, health check and their probe. Each `main` is one call; what it does is
//! in the module of its name.
pub mod args;
mod ask;
mod baseline;
pub mod carry;
pub mod checks;
pub mod ctx;
pub mod drill;
pub mod epilog;
mod finish;
pub mod healthcheck;
pub mod look;
mod metrics;
pub mod open;
pub mod output;
pub mod overdue;
pub mod pass;
pub mod policy_file;
mod policy_words;
pub mod prolog;
mod spool;
pub mod start;
pub mod supervise;
mod topology;
