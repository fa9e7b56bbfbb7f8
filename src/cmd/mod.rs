//! One file, or one folder, a subcommand. Each reads all it needs, closes the ledger, and only then prints.
pub(crate) mod bundle;
pub(crate) mod baseline;
pub(crate) mod cases;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod inject;
pub(crate) mod jobs;
mod lists;
pub(crate) mod live;
pub(crate) mod policy;
pub(crate) mod parts;
pub(crate) mod people;
pub(crate) mod report;
pub(crate) mod scan;
pub(crate) mod status;
pub(crate) mod trail;
pub(crate) mod why;
