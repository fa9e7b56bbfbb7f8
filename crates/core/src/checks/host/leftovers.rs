//! What a job left behind: processes that outlived it, and shared memory that nobody will free.
use crate::arrange::Gather as _;
use std::collections::{BTreeMap, BTreeSet};

use super::said;
use crate::checks::{Check, CheckInput, CheckState, CheckWord, Findings, Threshold, Where};
use crate::facts::host::{Leftovers, UserProcess};
use crate::facts::{Area, NodeFacts};
use crate::{JobSpan, Resource};

pub(in crate::checks) const PROCESSES: Check = Check {
    name: "leftover_processes",
    finds: "processes that began during a job and outlived it by a minute, of a user with no other job on the node",
    reads: &[Area::Leftovers],
    at: &[Where::Epilog, Where::HealthCheck],
    // slurm.conf(5): KillWait is 30 s and UnkillableStepTimeout 60 s.
    bad_for_s: 60,
    good_for_s: 0,
    evaluate: processes,
    ..Check::HOST
};

pub(in crate::checks) const SHM: Check = Check {
    name: "leftover_shm",
    finds: "files in `/dev/shm` of a user with no job on the node, written during one",
    reads: &[Area::Leftovers],
    at: &[Where::Epilog, Where::HealthCheck],
    threshold: Some(Threshold {
        value: 1024.0,
        unit: "MiB, at least",
        source: "ours: below it nobody misses the memory; PyTorch and NCCL leave a few MiB a rank when killed",
    }),
    good_for_s: 0,
    evaluate: shm,
    ..Check::HOST
};

/// The latest run of each user who was looked for and has no run on the node; `None` for one whose run ended too long ago
/// to be loaded, and who left something then.
fn gone<'a>(input: &CheckInput<'a>, left: &Leftovers) -> BTreeMap<u32, Option<&'a JobSpan>> {
    let here = |uid: u32| input.running().any(|span| span.uid == uid);
    let mut gone: BTreeMap<u32, Option<&JobSpan>> =
        left.uids.iter().filter(|uid| !here(**uid)).map(|uid| (*uid, None)).into_map();
    for span in input.span.iter().copied().chain(input.spans).filter(|span| span.end.is_some()) {
        if let Some(known) = gone.get_mut(&span.uid)
            && known.is_none_or(|known| known.end < span.end)
        {
            *known = Some(span);
        }
    }
    gone
}

/// Users whose leftovers are worth looking for: those whose runs have ended, and those who had left something at the last
/// look. Not those who have a run on the node, and not root.
pub fn users(
    span: Option<&JobSpan>,
    spans: &[JobSpan],
    before: Option<&NodeFacts>,
    last: &[CheckState],
) -> BTreeSet<u32> {
    let ended = span.into_iter().chain(spans).filter(|span| span.end.is_some()).map(|span| span.uid);
    let open = last.iter().any(|state| {
        [PROCESSES.name, SHM.name].contains(&state.name.as_str()) && state.state == CheckWord::Bad
    });
    let known = before.filter(|_| open).and_then(|before| said(before.leftovers.as_ref()));
    let known = known.into_iter().flat_map(|left| left.uids.iter().copied());
    let here = |uid: &u32| spans.iter().any(|span| span.end.is_none() && span.uid == *uid);
    ended.chain(known).filter(|uid| *uid != 0 && !here(uid)).collect()
}

fn processes(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(left) = said(input.facts.leftovers.as_ref()) else { return };
    for (uid, span) in gone(input, left) {
        // A login of the same user that began before or after the job is none of its.
        let is_left = |process: &&UserProcess| match span {
            Some(JobSpan { run, end: Some(end), .. }) => {
                (run.start.micros()..=end.micros()).contains(&process.started_us)
                    && !is_session(&process.comm)
            }
            _ => input.was_bad(&Resource::Process(process.pid)),
        };
        let own: Vec<_> = left.processes.iter().filter(|p| p.uid == uid).filter(is_left).collect();
        if let Some(first) = own.first() {
            let others = if own.len() > 1 { format!(" and {} more", own.len() - 1) } else { String::new() };
            let text = format!(
                "{} (pid {}){others} of {} outlived {}",
                first.comm,
                first.pid,
                user(uid, span),
                job(span)
            );
            findings.likely(Resource::Process(first.pid), text);
        }
    }
}

fn shm(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(left) = said(input.facts.leftovers.as_ref()) else { return };
    for (uid, span) in gone(input, left) {
        let since = span.map_or(i64::MIN, |span| span.run.start.micros());
        let own: Vec<_> =
            left.shm.iter().filter(|file| file.uid == uid && file.written_us >= since).collect();
        let mib = own.iter().map(|file| file.bytes).fold(0, u64::saturating_add) / (1024 * 1024);
        #[expect(clippy::cast_precision_loss, reason = "MiB against a limit")]
        let much = mib as f64 >= input.setting.threshold;
        if let (true, Some(first)) = (much, own.first()) {
            let (who, job) = (user(uid, span), job(span));
            let text = format!(
                "{mib} MiB in {} files of /dev/shm left by {who} from {job}: {}",
                own.len(),
                first.name
            );
            findings.likely(Resource::Fs("/dev/shm".to_owned()), text);
        }
    }
}

/// systemd keeps a manager for each user who logged in, and takes its time to end it.
fn is_session(comm: &str) -> bool {
    matches!(
        comm,
        "systemd" | "(sd-pam)" | "dbus-daemon" | "dbus-broker" | "sshd" | "gpg-agent" | "ssh-agent"
    )
}

fn user(uid: u32, span: Option<&JobSpan>) -> String {
    span.map(|span| &span.user)
        .filter(|user| !user.is_empty())
        .map_or_else(|| format!("uid {uid}"), |user| format!("user {user}"))
}

fn job(span: Option<&JobSpan>) -> String {
    span.map_or_else(|| "an earlier job".to_owned(), |span| format!("job {}", span.run.job))
}
