//! Whether the kernel log can be read.
use triage_host::clock::{Deadline, SystemClock};
use triage_host::kernel_log::{KernelLog, Limits};

use super::finding::Findings;
use super::parts::Checkup;

/// How much of it is read to see that it can be, bytes, and for how long.
const LOOK: usize = 64 * 1024;
const WAIT: std::time::Duration = std::time::Duration::from_secs(2);

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let settings = &checkup.site.config.kernel_log;
    let boot = match checkup.root.boot_id() {
        Ok(boot) => boot,
        Err(error) => return findings.fail(format!("the boot id cannot be read: {error}"), "mount /proc"),
    };
    let log = KernelLog::new(settings, checkup.root.clone(), boot);
    let name = format!("{} {}", log.kind(), log.stream());
    let limits = Limits { max_bytes: LOOK, until: Some(Deadline::after(&SystemClock, WAIT)) };
    match log.read_new(None, limits, &SystemClock) {
        Ok(_) => findings.ok(format!("{}: can be read", name.trim_end())),
        Err(error) => findings.fail(format!("{:#}", anyhow::Error::from(error)), "without it no Xid is seen"),
    }
    if settings.admit_user_facility {
        findings.warn(
            "admit_user_facility = true: lines that a program writes are taken, and marked as synthetic",
            "for tests and drills only: remove it from [kernel_log]",
        );
    }
}
