//! The operator's command, as a person or a script meets it: the real program over real ledgers.
//!
//! What it prints is compared with `snapshots/`; `INSTA_UPDATE=always cargo test --test cli` writes them anew.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails by panic, helpers included")]

mod baseline;
mod checks;
mod doctor;
mod hostile;
mod inject;
mod ledgers;
mod lists;
mod live_job;
mod parts;
mod people;
mod policy;
mod report;
mod scan;
mod status;
mod support;
mod usage;
mod why;
