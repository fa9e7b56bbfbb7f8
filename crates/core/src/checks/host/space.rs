//! Filesystems that do not answer, cannot be written to, or have no room.
use super::{percent, said};
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::facts::host::Answer;

pub(in crate::checks) const HUNG: Check = Check {
    name: "mount_answers",
    finds: "a filesystem that does not answer within `mount_ms`, answers with an error, or fails a wanted write",
    reads: &[Area::Mounts, Area::Space],
    threshold: None,
    evaluate: answers,
    ..Check::HOST
};

pub(in crate::checks) const SPACE: Check = Check {
    name: "space",
    finds: "a local filesystem without room",
    reads: &[Area::Mounts, Area::Space],
    threshold: Some(Threshold {
        value: 95.0,
        unit: "% used, at least",
        source: "between NHC's generated 90 and what fails jobs, 100; ext4 keeps 5 % for root",
    }),
    evaluate: space,
    ..Check::HOST
};

pub(in crate::checks) const INODES: Check = Check {
    name: "inodes",
    finds: "a local filesystem without free inodes",
    reads: &[Area::Mounts, Area::Space],
    threshold: Some(Threshold { value: 95.0, unit: "% used, at least", source: "as for space" }),
    evaluate: inodes,
    ..Check::HOST
};

fn all<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = (&'a str, &'a Answer)> {
    let space = said(input.facts.space.as_ref());
    space.into_iter().flat_map(|space| &space.of).map(|(path, answer)| (path.as_str(), answer))
}

fn fs(path: &str) -> Resource {
    Resource::Fs(path.to_owned())
}

fn answers(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(sheet) = input.facts.space.as_ref() else { return };
    let deadline = said(Some(sheet)).map_or(0, |space| space.deadline_ms);
    for (path, answer) in all(input) {
        if answer.hung {
            let at = answer.wchan.as_ref().map(|wchan| format!(" (in {wchan})")).unwrap_or_default();
            findings.likely(fs(path), format!("{path}: no answer within {deadline} ms{at}"));
        } else if let Some(error) = &answer.error {
            findings.likely(fs(path), format!("{path}: {error}"));
        } else if let Some(error) = &answer.write_error {
            findings.likely(fs(path), format!("{path}: cannot be written to: {error}"));
        }
    }
    // Some may have answered while others were not asked at all.
    for why in &sheet.blind {
        findings.blind(why.clone());
    }
}

fn space(input: &CheckInput<'_>, findings: &mut Findings) {
    share(input, findings, |answer| (answer.bytes.saturating_sub(answer.bytes_free), answer.bytes), "full");
}

fn inodes(input: &CheckInput<'_>, findings: &mut Findings) {
    share(
        input,
        findings,
        |answer| (answer.inodes.saturating_sub(answer.inodes_free), answer.inodes),
        "of the inodes used",
    );
}

/// Filesystems of servers fill up for the whole cluster: every node would open a case for them.
const SHARED: &[&str] =
    &["nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "wekafs", "9p", "afs"];

fn is_local(input: &CheckInput<'_>, path: &str) -> bool {
    let mounts = said(input.facts.mounts.as_ref());
    let mount = mounts.and_then(|mounts| mounts.mounted.iter().rev().find(|mount| mount.path == path));
    mount.is_some_and(|m| !m.read_only && !SHARED.contains(&m.kind.as_str()) && !m.kind.starts_with("fuse"))
}

fn share(input: &CheckInput<'_>, findings: &mut Findings, of: fn(&Answer) -> (u64, u64), what: &str) {
    let mut most = (0.0, "");
    for (path, answer) in all(input) {
        let (used, whole) = of(answer);
        let Some(share) = percent(used, whole).filter(|_| is_local(input, path)) else { continue };
        if share > most.0 {
            most = (share, path);
        }
        if share >= input.setting.threshold {
            let limit = input.setting.threshold;
            findings.certain(fs(path), format!("{path}: {share:.1} % {what}, at most {limit} % expected"));
        }
    }
    if !most.1.is_empty() {
        findings.value(format!("{:.1} % ({})", most.0, most.1));
    }
    for (path, answer) in all(input).filter(|(_, answer)| answer.hung || answer.error.is_some()) {
        findings.blind_on(
            fs(path),
            format!("{path}: {}", if answer.hung { "does not answer" } else { "answers with an error" }),
        );
    }
}
