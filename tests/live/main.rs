//! Tests on a real Slurm cluster, brought up by `scripts/cluster`.
//!
//! They need root and Slurm's daemons, so `cargo test` ignores them; `scripts/test` runs them. One alone:
//! `cargo test --test live -- --ignored --exact facts::requeue::NAME`.
//!
//! With `TRIAGE_TEST_KEEP=1` the clusters stay up for a look; `scripts/cluster down --dir DIR` ends them.
#![expect(clippy::expect_used, reason = "a test that cannot go on fails by panic, helpers included")]

mod cluster;
mod command;
mod facts;
mod fault;
mod harness;
mod plugin;
mod record;
mod script;
mod shared;
mod snapshot;
mod spy;
mod stub;
mod suite;
mod tend;
