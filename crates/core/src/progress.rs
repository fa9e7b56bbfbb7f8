//! How far a run got, by what it printed: the highest step and the highest checkpoint. It is the job's own word, and so it
//! only ever decides about that job: whether a restart got further than the run before it.
mod line;
mod tail;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Code, Evidence, Provenance};

pub(crate) use tail::Tail;

/// The code that the ledger knows it by, among what a verdict tells.
const CODE: &str = "job.progress";

/// How far a run got. `None`: it printed nothing of the kind, or nobody read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The highest step, iteration or batch near the end of its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The highest step of which it said that a checkpoint was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
}

impl Progress {
    /// Whether nothing is known.
    pub const fn is_unknown(&self) -> bool {
        self.step.is_none() && self.checkpoint.is_none()
    }

    /// Whether this run got further than `before`; `None` where they cannot be compared. What was not saved is lost, so
    /// checkpoints count where both runs told of some, and steps elsewhere.
    pub fn is_beyond(&self, before: &Self) -> Option<bool> {
        let of = |now: Option<u64>, then: Option<u64>| now.zip(then).map(|(now, then)| now > then);
        of(self.checkpoint, before.checkpoint).or_else(|| of(self.step, before.step))
    }

    /// As a comment on a job notes it; empty where nothing is known.
    pub fn note(&self) -> String {
        if self.is_unknown() { String::new() } else { format!(" [at {self}]") }
    }

    /// The other way of [`Progress::note`].
    pub fn noted_in(comment: &str) -> Option<Self> {
        let (_, rest) = comment.split_once(" [at ")?;
        rest.split_once(']')?.0.parse().ok()
    }

    /// The higher of both.
    pub(crate) fn join(&mut self, other: Self) {
        self.step = self.step.max(other.step);
        self.checkpoint = self.checkpoint.max(other.checkpoint);
    }

    /// As a verdict tells it; `None` where nothing is known.
    pub(crate) fn told(&self) -> Option<Evidence> {
        (!self.is_unknown()).then(|| Evidence {
            time: None,
            node: None,
            code: Code::from(CODE),
            text: self.to_string(),
            provenance: Provenance::User,
            event: None,
        })
    }

    /// From what a verdict tells: the other way of `told`.
    pub fn of(told: &[Evidence]) -> Self {
        let found = told.iter().find(|evidence| evidence.code.as_str() == CODE);
        found.and_then(|evidence| evidence.text.parse().ok()).unwrap_or_default()
    }
}

impl fmt::Display for Progress {
    /// `step 1200, checkpoint 1000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.step, self.checkpoint) {
            (Some(step), Some(checkpoint)) => write!(f, "step {step}, checkpoint {checkpoint}"),
            (Some(step), None) => write!(f, "step {step}"),
            (None, Some(checkpoint)) => write!(f, "checkpoint {checkpoint}"),
            (None, None) => f.write_str("nothing known"),
        }
    }
}

/// A text tells no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no step and no checkpoint is named")]
pub struct NoProgress;

impl FromStr for Progress {
    type Err = NoProgress;

    fn from_str(text: &str) -> Result<Self, NoProgress> {
        let of = |name: &str| text.split(", ").find_map(|part| part.strip_prefix(name)?.trim().parse().ok());
        let found = Self { step: of("step "), checkpoint: of("checkpoint ") };
        if found.is_unknown() { Err(NoProgress) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(step: Option<u64>, checkpoint: Option<u64>) -> Progress {
        Progress { step, checkpoint }
    }

    #[test]
    fn what_was_not_saved_is_no_progress() {
        let before = at(Some(1200), Some(1000));
        assert_eq!(
            at(Some(1300), Some(1000)).is_beyond(&before),
            Some(false),
            "100 steps more, all lost again"
        );
        assert_eq!(at(Some(1100), Some(1100)).is_beyond(&before), Some(true));
        assert_eq!(at(Some(1300), None).is_beyond(&before), Some(true), "steps where one told no checkpoint");
        assert_eq!(at(Some(1200), None).is_beyond(&before), Some(false));
        assert_eq!(at(None, None).is_beyond(&before), None);
        assert_eq!(at(Some(5), None).is_beyond(&at(None, Some(5))), None);
    }

    #[test]
    fn what_the_ledger_keeps_is_read_back_the_same() {
        for progress in [at(Some(1), None), at(None, Some(u64::MAX)), at(Some(0), Some(7))] {
            let told: Vec<Evidence> = progress.told().into_iter().collect();
            assert_eq!(Progress::of(&told), progress);
            let comment =
                format!("requeued, kept off n1 after its fault{}; slurm-triage why 7", progress.note());
            assert_eq!(Progress::noted_in(&comment), Some(progress));
        }
        assert_eq!(Progress::default().told(), None);
        assert_eq!(Progress::noted_in(&Progress::default().note()), None);
        assert_eq!(Progress::of(&[]), Progress::default());
        assert_eq!("step -1".parse::<Progress>(), Err(NoProgress));
    }
}
