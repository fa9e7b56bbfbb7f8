//! The node's ledger.
use triage_core::Stamp;
use triage_ledger::{Error, Ledger, OpenOptions};

use super::finding::Findings;
use super::parts::Checkup;
use crate::render;
use crate::room;
use crate::site::{LEDGER_WAIT, Site};
use crate::view::{HealthCheckView, LedgerView};

/// With less room than this the ledger soon cannot be written, bytes.
const LEAST_ROOM: u64 = 64_000_000;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let site = &checkup.site;
    let opened = Ledger::open(&site.ledger, &OpenOptions::reader(LEDGER_WAIT, site.now));
    let about = opened.and_then(|ledger| {
        Ok((
            LedgerView::new(&ledger, &site.config.ledger)?,
            HealthCheckView::new(&ledger.sources()?, site.now),
            ledger.holds(site.now)?,
        ))
    });
    match about {
        Ok((view, health_check, holds)) => {
            describe(&view, findings);
            for hold in holds {
                findings.note(format!("{}; slurm-triage release ends it", hold.sentence()));
            }
            last_look(health_check, site.now, findings);
        }
        Err(error @ Error::Missing { .. }) => {
            findings.warn(
                format!("{error}; {}", site.whose()),
                "see that slurm.conf names the hooks and that slurmd has read it",
            );
        }
        Err(error) => {
            let remedy = match error {
                Error::Corrupt { .. } => {
                    "the next hook sets it aside; to keep what is left, copy it before that"
                }
                _ => "",
            };
            findings.fail(format!("{:#}", crate::site::explained(error)), remedy);
        }
    }
    room(site, findings);
}

fn describe(view: &LedgerView, findings: &mut Findings) {
    let path = view.path.display();
    findings.ok(format!(
        "{path}: schema {}, journal {}, {} filesystem",
        view.schema, view.journal, view.filesystem
    ));
    if view.filesystem != "local" {
        findings.warn(
            format!("{path}: lies on a filesystem that is not known to be this machine's own"),
            "put [paths] state on a local disk: a server that hangs would hang the hooks until their deadlines",
        );
    }
    if view.bytes.saturating_sub(view.free_bytes) > view.max_bytes {
        findings.warn(
            format!("{path}: larger than its limit of {} MB", view.max_bytes / 1_000_000),
            "the health check prunes it a little at a time; should it stay, see the audit with slurm-triage status",
        );
    }
    if let Some(replaced) = &view.replaced {
        let at = render::seconds(replaced.at);
        findings.note(format!(
            "{path}: replaced a damaged one at {at}, which is {}: {}",
            replaced.file.display(),
            replaced.why
        ));
    }
}

fn last_look(health_check: HealthCheckView, now: Stamp, findings: &mut Findings) {
    let remedy = "see HealthCheckProgram and HealthCheckInterval in slurm.conf, and slurmd's log";
    match health_check {
        HealthCheckView { last: Some(last), overdue: false } => {
            findings.ok(format!("the last health check was {}", render::ago(now, last)));
        }
        HealthCheckView { last: Some(last), overdue: true } => {
            findings.warn(format!("no health check since {}", render::seconds(last)), remedy);
        }
        HealthCheckView { last: None, .. } => findings.warn("no health check ever", remedy),
    }
}

/// What stops the hooks comes before how much room there is: a filesystem that is read-only needs none.
fn room(site: &Site, findings: &mut Findings) {
    let ledger = &site.ledger;
    if let Some(stopped) = room::stopped(ledger) {
        return findings.fail(
            format!("{}: without the ledger nothing is recorded and nothing done", stopped.why),
            format!("{}, or move [paths] state", stopped.remedy),
        );
    }
    let folder = ledger.parent().filter(|folder| folder.is_dir());
    if let Some(free) = folder.and_then(room::left).filter(|free| *free < LEAST_ROOM) {
        findings.warn(
            format!("{}: {} MB of room left on the filesystem", ledger.display(), free / 1_000_000),
            "make room, or move [paths] state: without the ledger nothing is recorded and nothing done",
        );
    }
}
