//! Programs and folders: there, and safe from other users. Root runs what lies here and obeys what it says.
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Group};

use super::finding::Findings;
use super::parts::Checkup;
use crate::room;

/// The programs slurmd runs, and the one they run.
const PROGRAMS: [&str; 4] = ["triage-prolog", "triage-epilog", "triage-healthcheck", "triage-probe"];

/// The sticky bit: in such a folder nobody but its owner takes a file away.
const STICKY: u32 = 0o1000;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let paths = &checkup.site.config.paths;
    let mut programs = 0;
    for name in PROGRAMS {
        programs += usize::from(program(
            findings,
            &paths.libexec.join(name),
            "install the package, or correct [paths] libexec",
        ));
    }
    if programs == PROGRAMS.len() {
        findings.ok(format!("{}: all {programs} programs are there", paths.libexec.display()));
    }
    safe(findings, &paths.libexec, Kind::Folder);
    let scontrol = &checkup.site.config.slurm.scontrol;
    if program(findings, scontrol, "install Slurm's client commands, or correct [slurm] scontrol") {
        findings.ok(format!("{}: there", scontrol.display()));
    }
    state(findings, &paths.state);
    run(findings, &paths.run);
}

/// The ledger's folder. It is made by the first hook, so its absence alone is no fault.
fn state(findings: &mut Findings, state: &Path) {
    match meta(state) {
        Ok(found) if group_may_write(&found) => {
            let group = Group::from_gid(Gid::from_raw(found.gid())).ok().flatten();
            let group = group.map_or_else(|| format!("gid {}", found.gid()), |group| group.name);
            findings.note(format!(
                "{}: there; group {group} may write it, which is nearly root's right on this node (docs/operators.md)",
                state.display()
            ));
        }
        Ok(_) if safe(findings, state, Kind::Folder) => findings.ok(format!("{}: there", state.display())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.note(format!("{}: not there yet; the first hook makes it", state.display()));
        }
        Err(error) => unreadable(findings, state, &error),
    }
}

/// As docs/operators.md lets a group of people in: root's folder, which its group may write and others may not.
fn group_may_write(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0o020
}

/// The run folder and the spool in it. Hooks make them; the plugin makes none, being loaded into every job step.
fn run(findings: &mut Findings, run: &Path) {
    let spool = run.join("spool");
    if let Some(stopped) = room::stopped(&spool) {
        findings.fail(
            format!("{}: no record of a task gets in", stopped.why),
            format!("{}, or move [paths] run", stopped.remedy),
        );
    }
    match meta(&spool) {
        Ok(found) => {
            let mode = found.mode() & 0o7777;
            if !found.is_dir() {
                findings.fail(
                    format!("{}: is no folder", spool.display()),
                    "remove it: the next hook makes the folder",
                );
            } else if mode & 0o077 != 0 {
                let what = format!("{}: mode {mode:04o} lets others than root in", spool.display());
                findings.fail(what, format!("chmod 0700 {}: what is in it is believed", spool.display()));
            } else if safe(findings, &spool, Kind::Folder) && safe(findings, run, Kind::Folder) {
                findings.ok(format!("{}: there, mode {mode:04o}", spool.display()));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.note(format!("{}: not there yet; the first hook makes it", spool.display()));
        }
        Err(error) => unreadable(findings, &spool, &error),
    }
}

/// Whether a program is there and can be run; says what is wrong where not.
pub(super) fn program(findings: &mut Findings, path: &Path, remedy: &str) -> bool {
    match meta(path) {
        Ok(found) if !found.is_file() => findings.fail(format!("{}: is no file", path.display()), remedy),
        Ok(found) if found.mode() & 0o111 == 0 => {
            let what =
                format!("{}: mode {:04o} does not let it be run", path.display(), found.mode() & 0o7777);
            findings.fail(what, format!("chmod 0755 {}", path.display()));
        }
        Ok(_) => return safe(findings, path, Kind::File),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.fail(format!("{}: no such program", path.display()), remedy);
        }
        Err(error) => unreadable(findings, path, &error),
    }
    false
}

/// What a path should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Whether nobody but root can change what lies there; says so where somebody can. A link's target counts.
pub(super) fn safe(findings: &mut Findings, path: &Path, kind: Kind) -> bool {
    let Ok(found) = meta(path) else { return true };
    let mode = found.mode() & 0o7777;
    let writable = mode & 0o022 != 0 && !(kind == Kind::Folder && mode & STICKY != 0);
    if found.uid() == 0 && !writable {
        return true;
    }
    let what = format!(
        "{}: owner uid {}, mode {mode:04o}: others than root can change it",
        path.display(),
        found.uid()
    );
    findings.fail(what, format!("chown root {0} && chmod go-w {0}", path.display()));
    false
}

fn meta(path: &Path) -> std::io::Result<Metadata> {
    fs::metadata(path)
}

fn unreadable(findings: &mut Findings, path: &Path, error: &std::io::Error) {
    let remedy = if error.kind() == ErrorKind::PermissionDenied {
        "run doctor as root"
    } else {
        "see that the path leads somewhere"
    };
    findings.warn(format!("{}: cannot be looked at: {error}", path.display()), remedy);
}
