//! NVLink errors that a forced kill throws off. A process killed by SIGKILL in the middle of a transfer leaves its
//! peers with broken transactions: Xid 74 and its kin follow within seconds on GPUs that are well.
use crate::pipeline::Input;
use crate::{Event, ExitStatus, Stamp, TaskWhat};

/// How long after a forced kill NVLink errors are read as its consequence. Field incidents show them within
/// seconds; half a minute leaves room for a slow teardown of eight GPUs.
const AFTERMATH_S: i64 = 30;
const SIGKILL: i32 = 9;

/// When the last forced kill before `event` happened, if the event falls into its aftermath.
pub(super) fn before(input: &Input<'_>, event: &Event) -> Option<Stamp> {
    input
        .tasks
        .iter()
        .filter(|(_, edge)| matches!(edge.what, TaskWhat::End(ExitStatus::Signal(SIGKILL))))
        .map(|(at, _)| *at)
        .filter(|at| *at <= event.at && event.at <= at.plus_secs(AFTERMATH_S))
        .max()
}
