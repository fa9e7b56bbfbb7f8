//! The pure pipeline of slurm-triage: from what a source said to what should be done about it.
//!
//! Nothing in this crate reads a file, runs a program, looks at the clock or at the environment, and no
//! input makes it panic. [`model`] holds the types that every other crate speaks.
//!
//! ```text
//! Observation -> classify -> Event -> detect -> Case -> attribute -> Verdict -> decide -> Decision -> reconcile -> Action
//! ```
pub mod arrange;
pub mod attribute;
pub mod baseline;
pub mod catalog;
pub mod checks;
pub mod classify;
mod decide;
pub mod detectors;
pub mod drill;
pub mod facts;
pub mod fleet;
pub mod flight;
pub mod joblog;
pub mod json;
pub mod judge;
pub mod memory;
pub mod model;
pub mod outlook;
mod parts;
pub mod peer;
pub mod pipeline;
pub mod policy;
pub mod progress;
pub mod reading;
pub mod reason;
pub mod serd;
mod sources;
pub mod still;
pub mod sweep;

pub use model::*;
