//! The ledger about itself.
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use triage_core::Stamp;
use triage_ledger::{About, FsKind, Ledger};

/// The ledger about itself.
#[derive(Debug, Serialize)]
pub(crate) struct LedgerView {
    /// The file.
    pub(crate) path: PathBuf,
    /// Schema version.
    pub(crate) schema: i64,
    /// Size of the file, bytes, without its log.
    pub(crate) bytes: u64,
    /// Bytes of it that are free.
    pub(crate) free_bytes: u64,
    /// Size at which the oldest rows go early, bytes.
    pub(crate) max_bytes: u64,
    /// Days that are kept.
    pub(crate) retain_days: u32,
    /// `local`, `network` or `unknown`.
    pub(crate) filesystem: &'static str,
    /// SQLite's journal mode.
    pub(crate) journal: &'static str,
    /// When it was begun.
    pub(crate) created: Option<Stamp>,
    /// How far back it remembers.
    pub(crate) oldest_event: Option<Stamp>,
    /// When retention last came to its end.
    pub(crate) last_upkeep: Option<Stamp>,
    /// When the whole file was last checked and found sound.
    pub(crate) last_check: Option<Stamp>,
    /// The damaged ledger it replaced.
    pub(crate) replaced: Option<ReplacedView>,
    /// Rows of each table that grows.
    pub(crate) rows: BTreeMap<String, u64>,
}

/// A damaged ledger that was set aside.
#[derive(Debug, Serialize)]
pub(crate) struct ReplacedView {
    /// When.
    pub(crate) at: Stamp,
    /// Where it is now.
    pub(crate) file: PathBuf,
    /// What was wrong with it.
    pub(crate) why: String,
}

impl LedgerView {
    /// What an open ledger says of itself under the limits of `settings`.
    pub(crate) fn new(
        ledger: &Ledger,
        settings: &triage_host::config::Ledger,
    ) -> Result<Self, triage_ledger::Error> {
        let About {
            schema,
            created,
            replaced,
            bytes,
            free_bytes,
            oldest_event,
            rows,
            last_upkeep,
            last_check,
            ..
        } = ledger.about()?;
        Ok(Self {
            path: ledger.path().to_owned(),
            schema,
            bytes,
            free_bytes,
            max_bytes: u64::from(settings.max_mb) * 1_000_000,
            retain_days: settings.retain_days,
            filesystem: filesystem(ledger.opened().filesystem),
            journal: ledger.opened().journal.word(),
            created,
            oldest_event,
            last_upkeep,
            last_check,
            replaced: replaced.map(|r| ReplacedView { at: r.at, file: r.file, why: r.why }),
            rows: rows.into_iter().collect(),
        })
    }
}

const fn filesystem(kind: FsKind) -> &'static str {
    match kind {
        FsKind::Local => "local",
        FsKind::Network => "network",
        FsKind::Unknown => "unknown",
    }
}
