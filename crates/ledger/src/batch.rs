//! What one pass hands over to be written: all of it in one transaction, or nothing.
use std::collections::BTreeMap;

use triage_core::baseline::Learned;
use triage_core::checks::CheckState;
use triage_core::facts::NodeFacts;
use triage_core::reading::NvmlReading;
use triage_core::serd::Engine;
use triage_core::{
    Action, BootId, Case, CaseId, Decision, Event, JobSpan, NodeName, NodeRecord, Observation, SourceKind,
    Stamp, TaskEdge, Verdict,
};

use crate::trail::TrailFacts;

/// The ledger's state of cases, decisions and intents as a pass found it; see [`Batch::based_on`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub(crate) i64);

/// Everything one pass has to write. Slices may be empty; [`Batch::new`] gives one where all are.
///
/// ```
/// use triage_core::{BootId, NodeName, Stamp};
/// use triage_ledger::Batch;
///
/// let (node, boot) = (NodeName::from("gpu01"), BootId::from("0f9a"));
/// let batch = Batch { events: &[], ..Batch::new(Stamp::from_secs(0), &node, &boot, "triage-prolog") };
/// assert!(batch.is_empty());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The moment of the pass.
    pub now: Stamp,
    /// This node.
    pub node: &'a NodeName,
    /// This boot. The first batch of a new boot ends the spans an earlier boot left open.
    pub boot: &'a BootId,
    /// The program that writes, for the audit.
    pub program: &'a str,
    /// What [`crate::Loaded::generation`] was when the pass took its cases and decisions. When another program has
    /// changed those since, nothing is written and [`Recorded::Stale`] comes back: load and step again. `None`
    /// leaves the check out, for batches that follow from no case.
    pub based_on: Option<Generation>,
    /// The observations of the pass. Those that became one of `events` are kept verbatim; the other lines are
    /// counted by source and day.
    pub observations: &'a [Observation],
    /// New events.
    pub events: &'a [Event],
    /// Events beyond the bound of one pass, by code: counted.
    pub repeats: Option<&'a BTreeMap<String, u64>>,
    /// Cases that are new or changed, in their new state. A resolved or acquitted case is never reopened.
    pub cases: &'a [Case],
    /// New verdicts.
    pub verdicts: &'a [Verdict],
    /// New decisions.
    pub decisions: &'a [Decision],
    /// What is to be done. An intent whose key is pending, running or done already is left as it is, and so is one
    /// that failed for good under the same decision.
    pub intents: &'a [NewIntent],
    /// Runs that came onto the node or left it, in their new state.
    pub spans: &'a [JobSpan],
    /// Task starts and ends that did not come through the spool.
    pub tasks: &'a [(Stamp, TaskEdge)],
    /// How far sources were read.
    pub cursors: &'a [Cursor],
    /// Which sources could be read, and which not.
    pub sources: &'a [SourceReport],
    /// The NVML sweep of this pass.
    pub reading: Option<&'a Reading>,
    /// What Slurm said of the node, where the pass asked.
    pub node_record: Option<&'a NodeRecord>,
    /// Digest of the policy in force; that it changed is a row of the trail.
    pub policy: Option<&'a str>,
    /// New results of the state checks.
    pub checks: &'a [CheckState],
    /// What this pass read of the node, for the next one's comparison.
    pub facts: Option<&'a NodeFacts>,
    /// A baseline that the health check learned by itself.
    pub baseline: Option<&'a Learned>,
    /// Counts of repeats in their new state.
    pub rates: &'a [Engine],
    /// What a person or a program should be able to look up later.
    pub audit: &'a [AuditNote],
}

impl<'a> Batch<'a> {
    /// An empty batch of `program` on `node` in `boot`.
    pub const fn new(now: Stamp, node: &'a NodeName, boot: &'a BootId, program: &'a str) -> Self {
        Self {
            now,
            node,
            boot,
            program,
            based_on: None,
            observations: &[],
            events: &[],
            repeats: None,
            cases: &[],
            verdicts: &[],
            decisions: &[],
            intents: &[],
            spans: &[],
            tasks: &[],
            cursors: &[],
            sources: &[],
            reading: None,
            checks: &[],
            facts: None,
            baseline: None,
            node_record: None,
            policy: None,
            rates: &[],
            audit: &[],
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        !self.must_survive_power_loss()
            && self.observations.is_empty()
            && self.repeats.is_none_or(BTreeMap::is_empty)
            && self.spans.is_empty()
            && self.tasks.is_empty()
            && self.cursors.is_empty()
            && self.sources.is_empty()
            && self.reading.is_none()
            && self.checks.is_empty()
            && self.facts.is_none()
            && self.baseline.is_none()
            && self.node_record.is_none()
            && self.policy.is_none()
    }

    /// Whether the batch holds evidence, judgement or an intent, which must be on the disk before anything is done.
    /// What is left over is bookkeeping; see `store.rs` for what its loss would cost.
    pub(crate) const fn must_survive_power_loss(&self) -> bool {
        !(self.events.is_empty()
            && self.cases.is_empty()
            && self.verdicts.is_empty()
            && self.decisions.is_empty()
            && self.intents.is_empty()
            && self.rates.is_empty()
            && self.audit.is_empty())
    }

    /// Whether the batch changes what other passes base their decisions on.
    pub(crate) const fn changes_judgement(&self) -> bool {
        !(self.cases.is_empty()
            && self.decisions.is_empty()
            && self.intents.is_empty()
            && self.rates.is_empty())
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a stale batch was not written: load and step again"]
pub enum Recorded {
    /// All of it is in the ledger.
    Committed {
        /// Events that were not there before.
        events: usize,
        /// Intents that were not there before; those left alone are not counted.
        intents: usize,
    },
    /// Another program changed cases, decisions or intents since they were loaded. Nothing was written.
    Stale,
}

/// An action to be carried out, and until when it makes sense to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntent {
    /// What to do.
    pub action: Action,
    /// After this moment it is not begun any more.
    pub expires: Stamp,
    /// Rests on a drill or a test. Also set when the decision behind it does.
    pub synthetic: bool,
}

/// How far one source has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Kind of source.
    pub source: SourceKind,
    /// Which one of that kind; empty where there is only one.
    pub stream: String,
    /// The boot it was read in.
    pub boot: BootId,
    /// What exactly was read, where a name may come to mean another thing: a file's device and inode. Within one boot
    /// and anchor a cursor only ever moves forward, so a slower program cannot undo a faster one's.
    pub anchor: String,
    /// The first position that was not read yet.
    pub cursor: u64,
}

/// One look at one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReport {
    /// Kind of source.
    pub source: SourceKind,
    /// Which one of that kind; empty where there is only one.
    pub stream: String,
    /// When it was looked at.
    pub at: Stamp,
    /// What the look cost, microseconds of wall time.
    pub cost_us: u64,
    /// What came of it.
    pub seen: Seen,
}

/// Whether a source could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It could.
    Read,
    /// It could not.
    Blind {
        /// What was tried and how it failed, one line.
        reason: String,
        /// The process that still hangs over it, if one does.
        hung: Option<ProcessId>,
    },
}

/// One process and no other: pids are reused, but not with the same start time in the same boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of `/proc/<pid>/stat`.
    pub start: u64,
    /// The boot it runs in.
    pub boot: BootId,
}

/// An NVML sweep with its circumstances.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// When it was made.
    pub at: Stamp,
    /// In which boot.
    pub boot: BootId,
    /// Made by a simulator or for a drill.
    pub synthetic: bool,
    /// What NVML said.
    pub reading: NvmlReading,
}

/// How loud an audit row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For the record.
    Info,
    /// `status` and `doctor` show it.
    Warning,
    /// A fault of the suite itself; `status` and `doctor` show it first.
    Error,
}

impl Level {
    /// The word in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One line for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditNote {
    /// How loud.
    pub level: Level,
    /// What kind of thing, dotted: `case.acquitted`, `pass.failed`, `ledger.replaced`.
    pub kind: String,
    /// What it is about: a case id, a job, a path; may be empty.
    pub subject: String,
    /// Who did it: a user's name or uid; empty for the suite itself.
    pub actor: String,
    /// One sentence.
    pub text: String,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// The node it is about; may be empty.
    pub node: String,
    /// The case it is about.
    pub case: Option<CaseId>,
    /// The job it is about, as scontrol is told.
    pub job: Option<String>,
    /// The rule of the policy that spoke; empty where none did.
    pub rule: String,
    /// On what it rests.
    pub facts: TrailFacts,
}

impl AuditNote {
    /// A quiet note of the suite about `subject`, its text still to be filled in.
    pub fn info(kind: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            level: Level::Info,
            kind: kind.into(),
            subject: subject.into(),
            actor: String::new(),
            text: String::new(),
            synthetic: false,
            node: String::new(),
            case: None,
            job: None,
            rule: String::new(),
            facts: TrailFacts::default(),
        }
    }
}
