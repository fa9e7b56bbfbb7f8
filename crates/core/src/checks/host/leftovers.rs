//! What a job left behind: processes that outlived it, and shared memory that nobody will free.
use std::collections::BTreeMap;

use super::said;
use crate::checks::{Check, CheckInput, Findings, Threshold, Where};
use crate::facts::Area;
use crate::{JobSpan, Resource};

pub(in crate::checks) const PROCESSES: Check = Check {
    name: "leftover_processes",
    finds: "processes that began during a job and outlived it, of a user with no other job on the node",
    reads: &[Area::Leftovers],
    at: &[Where::Epilog, Where::HealthCheck],
    threshold: Some(Threshold {
        value: 60.0,
        unit: "s after the job's end, at least",
        source: "slurm.conf(5): KillWait is 30 s, and UnkillableStepTimeout 60 s",
    }),
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

/// Runs of users who have nothing left on the node, by user: the latest each.
fn ended<'a>(input: &CheckInput<'a>) -> BTreeMap<u32, &'a JobSpan> {
    let here = input.running().map(|span| span.uid).collect::<Vec<_>>();
    let gone = input.span.filter(|span| span.end.is_some()).into_iter();
    let gone = gone.chain(input.spans.iter().filter(|span| span.end.is_some()));
    let mut latest: BTreeMap<u32, &JobSpan> = BTreeMap::new();
    for span in gone.filter(|span| span.uid != 0 && !here.contains(&span.uid)) {
        let known = latest.entry(span.uid).or_insert(span);
        if known.end < span.end {
            *known = span;
        }
    }
    latest
}

fn processes(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(left) = said(input.facts.leftovers.as_ref()) else { return };
    for (uid, span) in ended(input) {
        let Some(end) =
            span.end.filter(|end| seconds(input.now.micros_since(*end)) >= input.setting.threshold)
        else {
            continue;
        };
        // A login of the same user that began before or after the job is none of its.
        let began_in = |started: i64| started >= span.run.start.micros() && started <= end.micros();
        let own =
            left.processes.iter().filter(|p| p.uid == uid && began_in(p.started_us) && !is_session(&p.comm));
        let own: Vec<_> = own.collect();
        if let Some(first) = own.first() {
            let text = format!(
                "{} {} of {} outlived job {}: {} (pid {}){}",
                own.len(),
                if own.len() == 1 { "process" } else { "processes" },
                user(span),
                span.run.job,
                first.comm,
                first.pid,
                if own.len() > 1 { " and others" } else { "" }
            );
            findings.likely(Resource::Process(first.pid), text);
        }
    }
}

fn shm(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(left) = said(input.facts.leftovers.as_ref()) else { return };
    for (uid, span) in ended(input) {
        let own =
            left.shm.iter().filter(|file| file.uid == uid && file.written_us >= span.run.start.micros());
        let (count, bytes, first) = own.fold((0_u64, 0_u64, ""), |(count, bytes, first), file| {
            (count + 1, bytes.saturating_add(file.bytes), if first.is_empty() { &file.name } else { first })
        });
        let mib = bytes / (1024 * 1024);
        #[expect(clippy::cast_precision_loss, reason = "MiB against a limit")]
        if mib as f64 >= input.setting.threshold {
            let text = format!(
                "{mib} MiB in {count} files of /dev/shm left by {} (job {}): {first}",
                user(span),
                span.run.job
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

fn user(span: &JobSpan) -> String {
    if span.user.is_empty() { format!("uid {}", span.uid) } else { format!("user {}", span.user) }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 285 years")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
