//! The policy file, and what it lets be done.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use triage_core::policy::{Repair, Step};
use triage_hooks::policy_file;

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
    if let Ok(policy) = policy_file::load(path) {
        repair(&policy.repair, findings);
    }
}

/// Programs that root is to run on the way back into service: there, and nobody else's to change.
fn repair(repair: &Repair, findings: &mut Findings) {
    let reset = (repair.reset != Step::Off).then_some(&repair.reset_command);
    let tests = repair.verify.iter().filter(|_| repair.resume != Step::Off);
    for command in tests.chain(reset) {
        let Some(program) = command.command.first().map(Path::new) else { continue };
        let runs = std::fs::metadata(program)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        if !runs {
            let what =
                format!("[repair] {}: {}: no program that can be run", command.name, program.display());
            findings.fail(what, "install it, or correct its path in policy.toml");
        } else if paths::safe(findings, program, Kind::File) {
            findings.ok(format!("[repair] {}: {}", command.name, program.display()));
        }
    }
}
