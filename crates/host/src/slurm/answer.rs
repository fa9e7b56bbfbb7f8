//! What `scontrol` says when it does not do what it was told. The texts are those of Slurm's error table, the same
//! from 22.05 to 26.05.
use std::fmt;

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The job waits already: somebody was faster. For a requeue that is success.
    AlreadyPending,
    /// The job runs or has ended: what may only be changed while it waits cannot be changed.
    NotPending,
    /// `Requeue=0`.
    Disabled,
    /// Only batch jobs can be requeued.
    BatchOnly,
    /// No such job: it ended longer than `MinJobAge` ago.
    NoSuchJob,
    /// No such node.
    NoSuchNode,
    /// Not ours to do.
    Denied,
    /// A component of a het job; the leader must be named.
    NotLeader,
    /// The job has ended and cannot be changed any more.
    Finished,
    /// The controller could not be reached; worth another try.
    Away,
    /// Something else.
    Other,
}

const TEXTS: &[(&str, Refusal)] = &[
    ("job is pending execution", Refusal::AlreadyPending),
    ("job is no longer pending execution", Refusal::NotPending),
    ("requested operation is presently disabled", Refusal::Disabled),
    ("only batch jobs are accepted or processed", Refusal::BatchOnly),
    ("invalid job id", Refusal::NoSuchJob),
    ("invalid node name", Refusal::NoSuchNode),
    (" not found", Refusal::NoSuchNode),
    ("access/permission denied", Refusal::Denied),
    ("user's group not permitted", Refusal::Denied),
    ("not heterogeneous job leader", Refusal::NotLeader),
    ("individual component of heterogeneous job", Refusal::NotLeader),
    ("job has already finished", Refusal::Finished),
    ("job/step already completing or completed", Refusal::Finished),
    ("unable to contact slurm controller", Refusal::Away),
    ("socket timed out", Refusal::Away),
    ("connection refused", Refusal::Away),
    ("zero bytes were transmitted", Refusal::Away),
    ("slurmctld is shutting down", Refusal::Away),
    ("in standby mode", Refusal::Away),
    ("protocol authentication error", Refusal::Away),
    ("resource temporarily unavailable", Refusal::Away),
];

impl Refusal {
    /// From what scontrol wrote to standard error.
    pub fn of(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        TEXTS.iter().find(|(part, _)| text.contains(part)).map_or(Self::Other, |(_, refusal)| *refusal)
    }

    /// Whether a later try may fare better.
    pub const fn may_pass_later(self) -> bool {
        matches!(self, Self::Away)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyPending => "the job waits already",
            Self::NotPending => "the job does not wait any more",
            Self::Disabled => "the job forbids it (Requeue=0)",
            Self::BatchOnly => "not a batch job",
            Self::NoSuchJob => "slurmctld no longer knows the job",
            Self::NoSuchNode => "slurmctld knows no such node",
            Self::Denied => "not permitted",
            Self::NotLeader => "a component of a het job",
            Self::Finished => "the job has finished",
            Self::Away => "the controller could not be reached",
            Self::Other => "refused",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_22_05_are_told_apart() {
        for (text, expect) in [
            ("Job is pending execution for job 42\n", Refusal::AlreadyPending),
            ("Requested operation is presently disabled for job 42", Refusal::Disabled),
            ("Only batch jobs are accepted or processed for job 42", Refusal::BatchOnly),
            ("Job is no longer pending execution for job 42", Refusal::NotPending),
            ("Job not heterogeneous job leader for job 42", Refusal::NotLeader),
            ("Job has already finished for job 42", Refusal::Finished),
            ("slurm_load_jobs error: Invalid job id specified", Refusal::NoSuchJob),
            ("Invalid job id specified for job 999", Refusal::NoSuchJob),
            ("slurm_update error: Invalid node name specified", Refusal::NoSuchNode),
            ("Node nope not found", Refusal::NoSuchNode),
            ("slurm_update error: Access/permission denied", Refusal::Denied),
            ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", Refusal::Away),
            ("something new", Refusal::Other),
            ("", Refusal::Other),
        ] {
            assert_eq!(Refusal::of(text), expect, "{text}");
        }
    }
}
