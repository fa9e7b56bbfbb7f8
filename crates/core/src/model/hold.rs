//! A person's word that nothing is to be carried out for a node, a case or a job.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CaseId, NodeName, RunId, Stamp};

/// A job as a person names it: `4711`, or `4700_3` for one task of an array. The plain id of an array or of a het job
/// means all of its tasks or components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobName {
    /// The job, array or het job.
    pub job: u32,
    /// One task of the array.
    pub task: Option<u32>,
}

impl JobName {
    /// Reads `4711` and `4700_3`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str| -> Option<u32> {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten()
        };
        match text.split_once('_') {
            Some((job, task)) => Some(Self { job: digits(job)?, task: Some(digits(task)?) }),
            None => Some(Self { job: digits(text)?, task: None }),
        }
    }

    /// Whether the run is one of this job's.
    pub fn covers(self, run: &RunId) -> bool {
        match (self.task, run.array) {
            (Some(task), Some(array)) => array.job == self.job && array.task == task,
            (Some(_), None) => false,
            (None, array) => {
                run.job == self.job
                    || run.het == Some(self.job)
                    || array.is_some_and(|array| array.job == self.job)
            }
        }
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(task) => write!(f, "{}_{task}", self.job),
            None => write!(f, "{}", self.job),
        }
    }
}

/// What a hold is on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldOn {
    /// The node: nothing is carried out for it, nor by it for the jobs it decides about.
    Node(NodeName),
    /// One case: nothing is carried out for it, nor for a job because of it.
    Case(CaseId),
    /// One job: nothing is carried out for it.
    Job(JobName),
}

impl HoldOn {
    /// The word for its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Node(_) => "node",
            Self::Case(_) => "case",
            Self::Job(_) => "job",
        }
    }

    /// Its name alone.
    pub fn name(&self) -> String {
        match self {
            Self::Node(node) => node.to_string(),
            Self::Case(case) => case.to_string(),
            Self::Job(job) => job.to_string(),
        }
    }

    /// From the two words; `None` where they name nothing.
    pub fn from_words(kind: &str, name: &str) -> Option<Self> {
        match kind {
            "node" => Some(Self::Node(NodeName::from(name))),
            "case" => Some(Self::Case(CaseId::from(name))),
            "job" => JobName::parse(name).map(Self::Job),
            _ => None,
        }
    }
}

impl fmt::Display for HoldOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.name())
    }
}

/// A hold that was placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What it is on.
    pub on: HoldOn,
    /// When it was placed.
    pub at: Stamp,
    /// When it ends by itself; `None`: not before it is released.
    pub until: Option<Stamp>,
    /// Who placed it.
    pub by: String,
    /// Why.
    pub reason: String,
}

impl Hold {
    /// Whether it stands at `now`.
    pub fn stands(&self, now: Stamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// The hold in one sentence.
    pub fn sentence(&self) -> String {
        let until = self.until.map(|until| format!(" until {until}")).unwrap_or_default();
        format!("{} is on hold by {}{until}: {}", self.on, self.by, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArrayId;

    fn run(job: u32, array: Option<(u32, u32)>, het: Option<u32>) -> RunId {
        let array = array.map(|(job, task)| ArrayId { job, task });
        RunId { cluster: String::new(), job, array, het, restart: 0, start: Stamp::from_secs(0) }
    }

    #[test]
    fn a_held_array_or_het_job_covers_its_parts_and_a_task_only_itself() {
        let name = |text: &str| JobName::parse(text).unwrap();
        assert!(name("4700").covers(&run(4703, Some((4700, 3)), None)));
        assert!(name("4700_3").covers(&run(4703, Some((4700, 3)), None)));
        assert!(!name("4700_4").covers(&run(4703, Some((4700, 3)), None)));
        assert!(!name("4700_3").covers(&run(4700, None, None)));
        assert!(name("4711").covers(&run(4712, None, Some(4711))));
        assert!(!name("4711").covers(&run(4712, None, None)));
    }

    #[test]
    fn what_is_no_job_is_no_name() {
        for bad in ["", "_", "1_", "_1", "+1", "-1", "1_2_3", "4294967296", "1 ", "1.0"] {
            assert_eq!(JobName::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_hold_ends_at_its_moment_and_not_before() {
        let hold = Hold {
            on: HoldOn::Node(NodeName::from("n1")),
            at: Stamp::from_secs(0),
            until: Some(Stamp::from_secs(10)),
            by: "ada".to_owned(),
            reason: "x".to_owned(),
        };
        assert!(hold.stands(Stamp::from_secs(10).plus_micros(-1)));
        assert!(!hold.stands(Stamp::from_secs(10)));
        assert!(Hold { until: None, ..hold }.stands(Stamp::from_secs(i64::MAX)));
    }

    #[test]
    fn kind_and_name_read_back() {
        for on in [
            HoldOn::Node(NodeName::from("n1")),
            HoldOn::Case(CaseId::from("0a1b2c3d")),
            HoldOn::Job(JobName { job: 1, task: Some(2) }),
        ] {
            assert_eq!(HoldOn::from_words(on.kind(), &on.name()), Some(on));
        }
    }
}
