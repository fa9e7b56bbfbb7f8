//! How far each node's clock is off.
//!
//! Slurm starts the tasks of a step on all nodes within a second or two, and when it ends a step it ends it
//! everywhere. A node whose first task began long before or after the others' has a wrong clock, unless its last task
//! ended together with theirs: then it merely began late (a container that had to be unpacked).
use super::{JobEvidence, NodeEvidence};
use crate::arrange::Arrange as _;
use crate::{Stamp, TaskWhat};

/// Clocks that differ by less are taken as equal, microseconds: NTP keeps a cluster within milliseconds, and tasks do
/// start up to two seconds apart.
const TRUSTED_SPREAD: i64 = 3_000_000;

/// Ends that differ by less are one end, microseconds: Slurm's teardown of a step takes a few seconds.
const SAME_END: i64 = 5_000_000;

/// Microseconds each node's clock is ahead of the others', in the order of the nodes.
pub(super) fn offsets(evidence: &JobEvidence) -> Vec<i64> {
    let starts: Vec<Option<Stamp>> = evidence.nodes.iter().map(first_start).collect();
    let ends: Vec<Option<Stamp>> = evidence.nodes.iter().map(last_end).collect();
    let Some(start) = reference(&starts, evidence.run.start) else { return vec![0; evidence.nodes.len()] };
    let end = reference(&ends, evidence.run.end.unwrap_or_default());
    starts.iter().zip(&ends).map(|(s, e)| offset(*s, *e, start, end)).collect()
}

fn offset(first: Option<Stamp>, last: Option<Stamp>, start: Stamp, end: Option<Stamp>) -> i64 {
    let Some(first) = first else { return 0 };
    let ahead = first.micros_since(start);
    let began_late = ahead > 0
        && matches!((last, end), (Some(last), Some(end)) if last.micros_since(end).saturating_abs() < SAME_END);
    if ahead.saturating_abs() <= TRUSTED_SPREAD || began_late { 0 } else { ahead }
}

/// What most nodes say; of two, the one nearer to what Slurm says.
fn reference(stamps: &[Option<Stamp>], slurm: Stamp) -> Option<Stamp> {
    let mut known: Vec<Stamp> = stamps.iter().flatten().copied().collect();
    known.arrange();
    match known.as_slice() {
        [] => None,
        [a, b] => Some(if distance(*a, slurm) <= distance(*b, slurm) { *a } else { *b }),
        many => many.get((many.len() - 1) / 2).copied(),
    }
}

const fn distance(a: Stamp, b: Stamp) -> i64 {
    a.micros_since(b).saturating_abs()
}

fn first_start(node: &NodeEvidence) -> Option<Stamp> {
    node.tasks.iter().filter(|(_, edge)| edge.what == TaskWhat::Start).map(|(at, _)| *at).min()
}

fn last_end(node: &NodeEvidence) -> Option<Stamp> {
    node.tasks.iter().filter(|(_, edge)| edge.what != TaskWhat::Start).map(|(at, _)| *at).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::build::Job;

    #[test]
    fn a_clock_five_minutes_ahead_is_seen_from_the_task_records() {
        let mut job = Job::new(3);
        for (node, ahead) in [(0, 0), (1, 300), (2, 0)] {
            job.start(node, ahead + 1).end(node, ahead + 900, 1);
        }
        assert_eq!(offsets(&job.evidence), [0, 300_000_000, 0]);
    }

    #[test]
    fn a_node_that_only_began_late_keeps_its_clock() {
        let mut job = Job::new(3);
        for (node, late) in [(0, 0), (1, 40), (2, 0)] {
            job.start(node, late + 1).end(node, 900, 1);
        }
        assert_eq!(offsets(&job.evidence), [0, 0, 0]);
    }

    #[test]
    fn of_two_nodes_the_one_that_agrees_with_slurm_is_right() {
        let mut job = Job::new(2);
        job.start(0, -3600).end(0, -2700, 1).start(1, 1).end(1, 900, 1);
        assert_eq!(offsets(&job.evidence), [-3_601_000_000, 0]);
    }

    #[test]
    fn without_task_records_nobody_is_off() {
        assert_eq!(offsets(&Job::new(2).evidence), [0, 0]);
    }
}
