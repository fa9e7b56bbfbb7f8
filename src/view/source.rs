//! Whether a source can be read.
use serde::Serialize;
use triage_core::{SourceKind, Stamp};
use triage_hooks::{healthcheck, look};
use triage_host::config::Config;
use triage_ledger::SourceRow;

/// Whether a source can be read.
#[derive(Debug, Serialize)]
pub(crate) struct SourceView<'a> {
    /// Kind of source.
    pub(crate) source: &'static str,
    /// Which one of that kind; empty where there is only one.
    pub(crate) stream: &'a str,
    /// `ok`, `blind`, or `hung` while the process that looked still hangs in it.
    pub(crate) state: &'static str,
    /// The last look.
    pub(crate) last_try: Stamp,
    /// The last look that succeeded.
    pub(crate) last_ok: Option<Stamp>,
    /// Since when it cannot be read.
    pub(crate) blind_since: Option<Stamp>,
    /// Why not; empty when it can.
    pub(crate) reason: &'a str,
    /// The process that hung at the last look.
    pub(crate) hung_pid: Option<u32>,
    /// What the last look cost, microseconds.
    pub(crate) cost_us: u64,
}

impl<'a> From<&'a SourceRow> for SourceView<'a> {
    fn from(row: &'a SourceRow) -> Self {
        let state = match (row.blind_since, &row.hung) {
            (None, _) => "ok",
            (Some(_), None) => "blind",
            (Some(_), Some(_)) => "hung",
        };
        Self {
            source: row.source.word(),
            stream: &row.stream,
            state,
            last_try: row.last_try,
            last_ok: row.last_ok,
            blind_since: row.blind_since,
            reason: &row.reason,
            hung_pid: row.hung.as_ref().map(|process| process.pid),
            cost_us: row.cost_us,
        }
    }
}

/// Whether the row tells that the health check itself came by, rather than of something it looks at.
pub(crate) fn is_health_check(row: &SourceRow) -> bool {
    row.source == SourceKind::Suite && row.stream == healthcheck::HOOK.program
}

/// The rows of sources that this configuration has.
pub(crate) fn current(rows: Vec<SourceRow>, config: &Config) -> Vec<SourceRow> {
    rows.into_iter().filter(|row| look::is_of(config, row.source, &row.stream)).collect()
}

/// When somebody last looked at everything.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct HealthCheckView {
    /// The last health check.
    pub(crate) last: Option<Stamp>,
    /// It is longer ago than an hour, or never was: nobody looks, whatever the last one saw.
    pub(crate) overdue: bool,
}

/// Sites run it every minute to every half hour.
const OVERDUE_S: i64 = 3_600;

impl HealthCheckView {
    /// From the states of all sources.
    pub(crate) fn new(sources: &[SourceRow], now: Stamp) -> Self {
        let last = sources.iter().find(|row| is_health_check(row)).and_then(|row| row.last_ok);
        Self { last, overdue: last.is_none_or(|last| now.micros_since(last) > OVERDUE_S * 1_000_000) }
    }
}

impl SourceView<'_> {
    /// Its name for people: `kmsg`, `kernel_file /var/log/kern.log`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.source, self.stream).trim_end().to_owned()
    }

    /// Whether it cannot be read.
    pub(crate) const fn is_blind(&self) -> bool {
        self.blind_since.is_some()
    }
}
