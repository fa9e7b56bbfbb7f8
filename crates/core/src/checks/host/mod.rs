//! Checks of the host: filesystems, memory, processes, clock, CPUs, services, kernel.
pub(super) mod clock;
pub(super) mod cpus;
pub(super) mod disks;
pub(super) mod edac;
pub(super) mod firmware;
pub(super) mod kernel;
pub(super) mod leftovers;
pub(super) mod load;
pub(super) mod memory;
pub(super) mod mounts;
pub(super) mod processes;
pub(super) mod pstore;
pub(super) mod raid;
pub(super) mod services;
pub(super) mod smart;
pub(super) mod space;
pub(super) mod tables;

#[cfg(test)]
mod tests;

use crate::facts::Sheet;

/// What a sheet says. A check only runs when its sheets say something, so the `None` is for the compiler.
fn said<T>(sheet: Option<&Sheet<T>>) -> Option<&T> {
    sheet.and_then(|sheet| sheet.said.as_ref())
}

/// `part` of `whole` in per cent; `None` where there is no whole.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}
