//! Repeats: N in T on the events' own time, as in illumos' soft error rate discrimination engines.
//!
//! What is harmless once may be a fault when it repeats: corrected errors, link flaps, a page fault under one program after
//! another on the same GPU. An [`Engine`] counts one rule's occurrences on one thing, fires once, and counts anew only after
//! a repair: when the case it opened is closed. Its state is kept in the ledger, so neither a restart nor a reboot forgets
//! it. A GPU is counted by its serial number, wherever it is plugged in.
mod engine;
mod feed;
mod links;
mod rules;
mod thresholds;

pub use engine::{Engine, Occurrence};
pub use rules::{RULES, Rule};
pub use thresholds::{Override, Threshold, Thresholds};

pub(crate) use feed::{feed, is_of_boot};
