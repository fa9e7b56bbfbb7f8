//! When a line of a file was written, in which boot, and whether it is the kernel's at all.
use triage_core::classify::prefix::{Clock, LineTime, Sender, peel};
use triage_core::{BootId, Stamp};

use super::super::plausible;

/// A boot's start is told to the second, and the kernel's own clock drifts: lines of the boot's first seconds may seem
/// older than the boot.
const BOOT_SLACK_S: i64 = 5;

/// What is needed to date lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dating {
    boot_time: Option<Stamp>,
    since: Option<Stamp>,
    /// The boot in which the file was last followed, when it is not this one: that of lines older than this boot.
    earlier: Option<BootId>,
}

impl Dating {
    pub(super) const fn new(boot_time: Option<Stamp>, since: Option<Stamp>, earlier: Option<BootId>) -> Self {
        Self { boot_time, since, earlier }
    }

    /// Text, moment and, where it is not this one, the boot of a line. `None`: some program's, or older than this boot
    /// and not followed since then: history, no fault.
    pub(in super::super) fn date<'a>(
        &self,
        raw: &'a [u8],
        read_at: Stamp,
    ) -> Option<(&'a [u8], Stamp, Option<&BootId>)> {
        let peeled = peel(raw);
        if peeled.sender == Sender::Process {
            return None;
        }
        let clock = Clock { boot: self.boot_time, utc_offset: utc_offset(), latest: read_at };
        let told = peeled.time.and_then(|time| time.resolve(&clock));
        let Some(told) = told else {
            return Some((peeled.text, read_at, None));
        };
        let of_earlier_boot = self.boot_time.is_some_and(|boot| told < boot.plus_secs(-BOOT_SLACK_S));
        if of_earlier_boot {
            let earlier = self.earlier.as_ref()?;
            return Some((peeled.text, told, Some(earlier)));
        }
        // Only the kernel's clock drifts. A wall clock's time that is older than the last look is that of a daemon which
        // was late.
        let drifts = matches!(peeled.time, Some(LineTime::SinceBoot(_)));
        let since = self.since.filter(|_| drifts && self.earlier.is_none());
        Some((peeled.text, plausible(told, since, read_at), None))
    }
}

/// Local time minus UTC now, seconds. Log files without an offset are in local time.
fn utc_offset() -> i32 {
    // SAFETY: both structures are plain data of this frame; localtime_r writes the second and keeps neither.
    unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&raw const now, &raw mut parts).is_null() {
            return 0;
        }
        i32::try_from(parts.tm_gmtoff).unwrap_or(0)
    }
}
