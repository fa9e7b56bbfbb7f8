//! Filesystems that should be mounted and are not, or not so that one can write.
use std::collections::BTreeMap;

use super::said;
use crate::checks::{Check, CheckAction, CheckInput, Findings, Where};
use crate::facts::Area;
use crate::facts::host::{Mount, Mounts};
use crate::{Advice, CauseClass, Resource};

pub(in crate::checks) const MISSING: Check = Check {
    name: "mounts",
    finds: "a filesystem of `/etc/fstab` or `[expect] mounts` that is not mounted, or is one of another type",
    reads: &[Area::Mounts],
    at: &[Where::Prolog, Where::HealthCheck],
    good_for_s: 0,
    evaluate: missing,
    ..Check::HOST
};

pub(in crate::checks) const READ_ONLY: Check = Check {
    name: "mount_readonly",
    finds: "a filesystem that is read-only and should not be; the kernel does that to a local one whose disk fails",
    reads: &[Area::Mounts],
    at: &[Where::Prolog, Where::HealthCheck],
    action: CheckAction::Drain,
    advice: Advice::Drain,
    fault: "fs.local",
    evaluate: read_only,
    ..Check::HOST
};

/// Types whose driver remounts read-only, or shuts down, when the disk below fails.
const LOCAL: &[&str] = &["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

/// What should be mounted where, the site's word before fstab's.
fn expected<'a>(input: &CheckInput<'a>, mounts: &'a Mounts) -> BTreeMap<&'a str, Wanted<'a>> {
    let fstab = mounts.fstab.iter().map(|mount| {
        let kind = (!matches!(mount.kind.as_str(), "auto" | "none")).then_some(mount.kind.as_str());
        (mount.path.as_str(), Wanted { kind, read_only: mount.read_only, from: "/etc/fstab" })
    });
    let site = input.expect.mounts.iter().map(|mount| {
        let wanted = Wanted { kind: mount.kind.as_deref(), read_only: mount.read_only, from: "[expect]" };
        (mount.path.as_str(), wanted)
    });
    fstab.chain(site).filter(|(path, _)| path.starts_with('/')).collect()
}

struct Wanted<'a> {
    kind: Option<&'a str>,
    read_only: bool,
    from: &'static str,
}

/// What is seen at a path: the last mount there covers the others.
fn mounted<'a>(mounts: &'a Mounts, path: &str) -> Option<&'a Mount> {
    mounts.mounted.iter().rev().find(|mount| mount.path == path)
}

fn missing(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(mounts) = said(input.facts.mounts.as_ref()) else { return };
    let expected = expected(input, mounts);
    for (path, wanted) in &expected {
        let resource = Resource::Fs((*path).to_owned());
        match (mounted(mounts, path), wanted.kind) {
            (None, _) => {
                findings.certain(resource, format!("{path}: not mounted, expected by {}", wanted.from))
            }
            (Some(found), Some(kind)) if !same_kind(&found.kind, kind) => {
                findings.likely(resource, format!("{path}: mounted as {}, expected {kind}", found.kind));
            }
            _ => {}
        }
    }
    findings.value(format!("{} expected", expected.len()));
}

/// `nfs` in fstab may mount as `nfs4`; a FUSE filesystem tells its kind behind a dot.
fn same_kind(found: &str, wanted: &str) -> bool {
    let family = |kind: &str| match kind {
        "nfs4" => "nfs".to_owned(),
        kind => kind.strip_prefix("fuse.").unwrap_or(kind).to_owned(),
    };
    // fstab may name a type that the kernel serves by another driver.
    family(found) == family(wanted) || LOCAL.contains(&found) && LOCAL.contains(&wanted)
}

fn read_only(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(mounts) = said(input.facts.mounts.as_ref()) else { return };
    let expected = expected(input, mounts);
    let before = input.before.and_then(|before| said(before.mounts.as_ref()));
    // A disk that failed is not well again once its filesystem is unmounted.
    let is_there = |known: &Resource| matches!(known, Resource::Fs(path) if mounted(mounts, path).is_some());
    input.blind_on_gone(findings, is_there);
    // What another mount covers nobody can write to: the read-only image below a live system's root, for one.
    let seen = |mount: &&Mount| mounted(mounts, &mount.path).is_some_and(|last| std::ptr::eq(last, *mount));
    for mount in mounts.mounted.iter().filter(|mount| mount.read_only).filter(seen) {
        let path = mount.path.as_str();
        let resource = Resource::Fs(path.to_owned());
        let told = expected.get(path).map(|wanted| !wanted.read_only);
        let was_writable = before.and_then(|before| mounted(before, path)).is_some_and(|m| !m.read_only);
        // Meant to be written to, says somebody; or could be written to a moment ago.
        let why = match told {
            Some(true) => "expected rw",
            Some(false) => continue,
            // Users mount these themselves, and may make them read-only as they like.
            None if is_fuse(mount) => continue,
            None if was_writable || input.was_bad(&resource) => "it was rw earlier in this boot",
            None => continue,
        };
        let text = format!("{path}: read-only, {why} ({} {})", mount.kind, mount.source);
        // Nodes are built to run on a read-only root, and few of their fstabs say so.
        let by_design = path == "/" && !was_writable && !is_sites_word(input, path);
        // A disk that the kernel gave up on. Of a server's filesystem the server may be to blame, and all nodes with it.
        if LOCAL.contains(&mount.kind.as_str()) && mount.source.starts_with("/dev/") && !by_design {
            let finding = crate::checks::Finding {
                resource,
                text,
                confidence: crate::Confidence::Confirmed,
                class: None,
            };
            findings.add(finding.of_class(CauseClass::Hardware));
        } else {
            findings.likely(resource, text);
        }
    }
}

fn is_fuse(mount: &Mount) -> bool {
    matches!(mount.kind.as_str(), "fuse" | "fuseblk") || mount.kind.starts_with("fuse.")
}

fn is_sites_word(input: &CheckInput<'_>, path: &str) -> bool {
    input.expect.mounts.iter().any(|mount| mount.path == path)
}
