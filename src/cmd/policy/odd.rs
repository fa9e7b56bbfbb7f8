//! What in a policy makes it never act, or surely does not mean what it says. It can be used all the same.
use triage_core::Resource;
use triage_core::policy::{Glob, Policy};
use triage_hooks::policy_file::nearest;

/// What resources begin with, as they are written.
const KINDS: &[&str] = &[
    "gpu:",
    "nvswitch:",
    "pci:",
    "nic:",
    "fs:",
    "disk:",
    "dimm:",
    "cpu:",
    "service:",
    "process:",
    "rank:",
    "source:",
    "host",
    "job",
];

/// Words of a node's state, as Slurm writes them.
const STATES: &[&str] = &[
    "ALLOCATED",
    "BLOCKED",
    "CLOUD",
    "COMPLETING",
    "DOWN",
    "DRAIN",
    "DYNAMIC_NORM",
    "ERROR",
    "EXTERNAL",
    "FAIL",
    "FUTURE",
    "IDLE",
    "INVAL",
    "INVALID_REG",
    "MAINTENANCE",
    "MIXED",
    "NOT_RESPONDING",
    "NO_RESPOND",
    "PERFCTRS",
    "PLANNED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "POWER_DOWN",
    "POWER_UP",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "REBOOT^",
    "RESERVED",
    "RESUME",
    "UNDRAIN",
    "UNKNOWN",
];

/// What the figures and lists beside the rules make of the policy, one line each.
pub(super) fn figures(policy: &Policy) -> Vec<String> {
    let (brake, job, except) = (&policy.brake, &policy.job, &policy.except);
    let all = |globs: &[Glob]| globs.iter().any(|glob| glob.as_str() == "*");
    let every_node = except.nodes.iter().any(|hosts| String::from(hosts.clone()) == "*");
    let share = brake.max_share <= 0.0 && brake.min_nodes == 0;
    let table = [
        (brake.max_nodes == 0, "[brake] max_nodes = 0: no node is ever drained"),
        (share, "[brake] max_share = 0 and min_nodes = 0: no node of any partition is ever drained"),
        (brake.max_in_window == 0, "[brake] max_in_window = 0: no node is ever drained"),
        (
            brake.max_per_switch == 0,
            "[brake] max_per_switch = 0: no node below a known switch is ever drained",
        ),
        (
            brake.max_per_job == 0,
            "[brake] max_per_job = 0: no node is drained that a job of several nodes is on",
        ),
        (
            brake.window_s == 0,
            "[brake] window_s = 0: max_in_window bounds nothing, since no time is looked back upon",
        ),
        (job.max_restarts == 0, "[job] max_restarts = 0: no job is ever requeued"),
        (
            job.suspect_nodes <= 1,
            "[job] suspect_nodes: one node to blame is too many already: no job is requeued for it",
        ),
        (every_node, "[except] nodes = [\"*\"]: no node is ever drained"),
        (
            all(&except.partitions),
            "[except] partitions = [\"*\"]: no node is ever drained and no job touched",
        ),
        (all(&except.accounts), "[except] accounts = [\"*\"]: no job is ever touched"),
        (all(&except.users), "[except] users = [\"*\"]: no job is ever touched"),
    ];
    let mut told: Vec<String> =
        table.iter().filter(|(is, _)| *is).map(|(_, what)| (*what).to_owned()).collect();
    let codes = job.no_requeue_exit_codes.iter().filter(|code| !(0..=255).contains(*code));
    told.extend(
        codes
            .map(|code| format!("[job] no_requeue_exit_codes: {code} is never met: exit codes are 0 to 255")),
    );
    told.extend(policy.node.leave_alone_states.iter().filter_map(|word| state(word)));
    told
}

/// A word that begins no word of a node's state.
fn state(word: &str) -> Option<String> {
    if STATES.iter().any(|state| state.starts_with(word)) {
        return None;
    }
    let meant = nearest(word, STATES.iter().copied().chain(["MAINT", "POWER", "REBOOT"]));
    let meant = meant.map(|state| format!("; did you mean {state}?")).unwrap_or_default();
    Some(format!("[node] leave_alone_states: no state of a node begins with \"{word}\"{meant}"))
}

/// A pattern that is written as no resource is.
pub(super) fn resource(pattern: &Glob) -> Option<String> {
    let text = pattern.as_str();
    let Some((head, _)) = text.split_once('*') else {
        let read = Resource::from(text);
        let written = read.to_string();
        return match read {
            Resource::Other(_) => Some(none_is(text)),
            _ if written != text => Some(format!("no resource is written \"{text}\": write \"{written}\"")),
            _ => None,
        };
    };
    let fits =
        KINDS.iter().any(|kind| kind.starts_with(head) || (kind.ends_with(':') && head.starts_with(kind)));
    (!fits).then(|| none_is(text))
}

fn none_is(text: &str) -> String {
    let low = text.to_lowercase();
    let hint = if low != text && KINDS.iter().any(|kind| low.starts_with(kind)) {
        format!("write \"{low}\"")
    } else {
        "write gpu:*, gpu:0000:61:00.0, nic:mlx5_0, fs:/scratch or host".to_owned()
    };
    format!("no resource is written \"{text}\": {hint}")
}
