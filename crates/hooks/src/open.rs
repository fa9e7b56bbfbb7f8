//! Opening the ledger. Without it a hook does nothing that could be regretted: no intent, no action.
use std::time::Duration;

use triage_core::Stamp;
use triage_host::config::Config;
use triage_ledger::{Ledger, OpenOptions};

use crate::ctx::Ctx;

/// The ledger for a writer that has until the pass's deadline, but waits for other writers only so long.
pub(crate) fn ledger(ctx: &mut Ctx<'_>, wait: Duration) -> Option<Ledger> {
    let path = ctx.ledger_path();
    let wait = wait.min(ctx.deadline.left(ctx.clock));
    match Ledger::open(&path, &options(&ctx.config, wait, ctx.now())) {
        Ok(ledger) => {
            if let Some(aside) = &ledger.opened().set_aside {
                log::error!("{}: was damaged and has been moved aside: {aside:?}", path.display());
            }
            Some(ledger)
        }
        Err(error) => {
            log::error!("{error}; this pass leaves node and job alone");
            None
        }
    }
}

/// How a writer opens the ledger of a node with this configuration.
pub fn options(config: &Config, wait: Duration, now: Stamp) -> OpenOptions {
    let max_bytes = u64::from(config.ledger.max_mb).saturating_mul(1_000_000);
    OpenOptions { max_bytes, ..OpenOptions::writer(wait, now) }
}

/// Moves a damaged ledger aside, so that the next pass begins a new one; for this pass there is none.
pub(crate) fn set_aside_if_damaged(ledger: Ledger, error: &triage_ledger::Error) {
    if error.is_corrupt()
        && let Err(error) = ledger.set_aside(&error.to_string())
    {
        log::error!("{error}");
    }
}

/// Moves the log of recent writes into the file, where no job waits for it any more.
pub(crate) fn tidy(ledger: &Ledger) {
    if let Err(error) = ledger.checkpoint() {
        log::warn!("{error}");
    }
}
