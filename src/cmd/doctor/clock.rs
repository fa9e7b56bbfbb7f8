//! The clock. Evidence of several nodes is put in order by it, so it should be kept by NTP or the like.
use triage_core::Stamp;
use triage_host::clock::{Clock, SystemClock};
use triage_ledger::{Filter, Ledger, OpenOptions};

use super::finding::Findings;
use super::parts::Checkup;
use crate::render;
use crate::site::LEDGER_WAIT;

/// 2025-01-01: this program is younger, so a clock before it is wrong.
const YOUNGEST: Stamp = Stamp::from_secs(1_735_689_600);

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let now = SystemClock.now();
    let remedy = "set the clock, and have chrony or ntpd keep it";
    if now < YOUNGEST {
        findings.fail(format!("the clock says {}", render::seconds(now)), remedy);
        return;
    }
    if checkup.root.boot_time().is_ok_and(|boot| boot > now) {
        findings.fail("the clock was set back to before this boot", remedy);
    }
    if checkup.common.now.is_none()
        && let Some(newest) = newest_event(checkup).filter(|newest| *newest > now)
    {
        findings.warn(
            format!("the ledger holds an event of {}, which is to come", render::seconds(newest)),
            remedy,
        );
    }
    findings.ok(format!("{} UTC", render::seconds(now)));
    if !is_kept() {
        findings
            .note("the kernel is not told that anything keeps its clock (chrony tells it only with rtcsync)");
    }
}

fn newest_event(checkup: &Checkup<'_>) -> Option<Stamp> {
    let options = OpenOptions::reader(LEDGER_WAIT, checkup.site.now);
    let ledger = Ledger::open(&checkup.site.ledger, &options).ok()?;
    let events = ledger.events(&Filter { limit: Some(1), ..Filter::default() }).ok()?;
    events.last().map(|event| event.at)
}

/// Whether something has told the kernel that its clock is synchronised.
fn is_kept() -> bool {
    // SAFETY: the structure holds numbers only, for which all bits zero are valid; `modes` 0 asks and sets nothing.
    let mut asked: nix::libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure that lives through the call.
    let state = unsafe { nix::libc::adjtimex(&raw mut asked) };
    state != nix::libc::TIME_ERROR && asked.status & nix::libc::STA_UNSYNC == 0
}
