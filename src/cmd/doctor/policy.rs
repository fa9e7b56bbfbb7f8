//! The policy file, and what it lets be done.
use super::finding::Findings;
use super::parts::Checkup;
use super::paths::{self, Kind};
use crate::view::PolicyView;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let policy = PolicyView::load(&checkup.site);
    let path = &policy.path;
    if let Some(error) = policy.error {
        findings
            .fail(error, "mend it: until then the suite is in monitor mode, whatever the file was to say");
        return;
    }
    let modes = policy.mode.each().map(|(action, mode)| format!("{action} {mode}")).join(", ");
    if policy.present {
        findings.ok(format!("{}: read; {modes}", path.display()));
        paths::safe(findings, path, Kind::File);
    } else {
        findings.note(format!("{}: not there; the built-in policy holds: {modes}", path.display()));
    }
}
