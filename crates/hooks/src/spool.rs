//! The plugin's records into the ledger.
use triage_ledger::{Ledger, SpoolRequest};

use crate::ctx::Ctx;

/// Most bytes of the spool read in one pass: a job of 64 tasks a node leaves 40 KiB.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Imports what is new; `first` is the job an epilog is for. That it fails is a trouble, not a reason to stop.
pub(crate) fn import(ctx: &mut Ctx<'_>, ledger: &mut Ledger, first: Option<u32>) {
    let folder = ctx.config.paths.run.join("spool");
    let request =
        SpoolRequest { folder: &folder, now: ctx.now(), boot: &ctx.boot, first, max_bytes: MAX_BYTES };
    match ledger.import_spool(&request) {
        Ok(imported) if imported.bad > 0 => {
            ctx.trouble(
                "spool.bad_lines",
                format!("{} lines of the spool are no task records", imported.bad),
            );
        }
        Ok(_) => {}
        Err(error) => ctx.trouble("spool.unreadable", error.to_string()),
    }
}

/// Makes the folder the plugin writes into, root's alone, where packaging or a reboot left none.
pub(crate) fn make_folder(ctx: &Ctx<'_>) {
    use std::os::unix::fs::DirBuilderExt;
    let folder = ctx.config.paths.run.join("spool");
    if !folder.is_dir()
        && let Err(error) = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)
    {
        log::warn!("{}: could not be made: {error}; task records are lost", folder.display());
    }
}
