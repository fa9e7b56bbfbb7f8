//! The types of the pipeline, one file a concept. Times are UTC microseconds, names are Slurm's and NVIDIA's.
mod action;
mod case;
mod decision;
mod event;
mod hold;
mod ids;
mod job;
mod observation;
mod out_case;
mod resource;
mod time;
mod verdict;
pub(crate) mod words;

pub use action::{Action, ActionKey, Outcome};
pub use case::{Case, CaseState, ClearedBy};
pub use decision::{Decision, Gate, Intent, Mode, Subject};
pub use event::Event;
pub use hold::{Hold, HoldOn, JobName};
pub use ids::{BootId, CaseId, Code, DecisionId, EventId, NodeName, VerdictId, digest};
pub use job::{
    ArrayId, ExitStatus, JobAsk, JobRecord, JobSpan, NodeRecord, PeerEvidence, RunId, TaskEdge, TaskWhat,
};
pub use observation::{Observation, Payload, SourceKind};
pub use out_case::{OutCase, Try};
pub use resource::{PciAddress, Resource};
pub use time::Stamp;
pub use verdict::{Culprit, Discounted, Evidence, Grounds, Verdict};
pub use words::{Advice, CauseClass, Confidence, Provenance, Role, UnknownWord};
