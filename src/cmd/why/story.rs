//! All that a story is told from.
use triage_core::checks::{CheckSettings, CheckState};
use triage_core::{Case, CaseId, CaseState, Decision, Event, Hold, JobSpan, OutCase, Verdict};
use triage_ledger::{AuditRow, IntentRow, SourceRow};

use super::resolve::Subject;
use crate::view::{CodeView, TasksView};

/// All that a story is told from; every list oldest first.
#[derive(Debug)]
pub(super) struct Story {
    /// What it is about.
    pub(super) subject: Subject,
    /// Runs on this node.
    pub(super) runs: Vec<Run>,
    /// There were older runs, which are left out.
    pub(super) more_runs: bool,
    /// Cases of this node.
    pub(super) cases: Vec<Case>,
    /// Cases a verdict names that are not in this ledger: those of other nodes.
    pub(super) cases_elsewhere: Vec<CaseId>,
    /// Verdicts.
    pub(super) verdicts: Vec<Verdict>,
    /// What cases and verdicts rest on.
    pub(super) evidence: Vec<Event>,
    /// Evidence that retention has removed, or that was beyond the bound of its pass.
    pub(super) evidence_gone: usize,
    /// What else was seen while the runs were here.
    pub(super) other_events: Vec<Event>,
    /// There is more of that, which is left out.
    pub(super) more_events: bool,
    /// Decisions.
    pub(super) decisions: Vec<Decision>,
    /// Intents and what became of them.
    pub(super) actions: Vec<IntentRow>,
    /// How it came to stand where it stands, what people did about it, and the suite's own trouble. Decisions and actions
    /// are told by themselves.
    pub(super) audit: Vec<AuditRow>,
    /// What is on hold of it, or of this node.
    pub(super) holds: Vec<Hold>,
    /// Cases for which our drain of this node stands.
    pub(super) out: Vec<OutCase>,
    /// Sources that cannot be read now.
    pub(super) blind: Vec<SourceRow>,
    /// What the codes mean.
    pub(super) codes: Vec<CodeView>,
    /// The last result of every check.
    pub(super) states: Vec<CheckState>,
    /// What the site says of single checks.
    pub(super) settings: CheckSettings,
}

/// One run on this node.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) span: JobSpan,
    pub(super) tasks: TasksView,
}

impl Story {
    /// The case that matters most: a real one before a drill, then the one that asks for most, then the latest.
    pub(super) fn lead(&self) -> Option<&Case> {
        let open = self.cases.iter().filter(|case| case.is_open());
        open.max_by_key(|case| (!case.synthetic, case.advice, case.confidence, case.last_seen))
    }

    /// The closed case of this story for which our drain of the node still stands.
    pub(super) fn still_out(&self) -> Option<&Case> {
        let told = |case: &&Case| !case.is_open() && self.cases.iter().any(|known| known.id == case.id);
        self.out.iter().map(|out| &out.case).rfind(told)
    }

    /// The case that was closed last.
    pub(super) fn last_closed(&self) -> Option<&Case> {
        self.cases
            .iter()
            .filter(|case| matches!(case.state, CaseState::Resolved | CaseState::Acquitted))
            .max_by_key(|case| case.closed_at)
    }
}
