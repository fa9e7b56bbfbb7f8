//! What a book is looked up by. A ledger of two years holds a hundred thousand runs and ten thousand decisions; a walk
//! through the ones for each of the others would take minutes.
use std::collections::{BTreeMap, BTreeSet};

use triage_core::arrange::{Arrange as _, Gather as _};
use triage_core::{Action, Case, CaseId, DecisionId, Intent, JobSpan, RunId, Stamp, Verdict, VerdictId};
use triage_ledger::{IntentRow, IntentState};

use super::Book;

/// Places in the lists of a book.
#[derive(Debug, Default)]
pub(super) struct Index {
    cases: BTreeMap<CaseId, usize>,
    opened: Vec<usize>,
    verdicts: BTreeMap<VerdictId, usize>,
    verdicts_of_run: BTreeMap<RunId, Vec<usize>>,
    verdicts_of_case: BTreeMap<CaseId, Vec<usize>>,
    runs: BTreeMap<RunId, usize>,
    runs_of_job: BTreeMap<(String, u32), Vec<usize>>,
    started: Vec<usize>,
    done: BTreeMap<DecisionId, usize>,
    drained: BTreeSet<CaseId>,
    wanted: BTreeSet<CaseId>,
}

impl Index {
    pub(super) fn of(book: &Book) -> Self {
        let mut index = Self::default();
        for (at, case) in book.cases.iter().enumerate() {
            index.cases.entry(case.id.clone()).or_insert(at);
        }
        index.opened = (0..book.cases.len()).collect();
        index.opened.arrange_by_key(|at| book.cases.get(*at).map(|case| case.opened_at));
        for (at, verdict) in book.verdicts.iter().enumerate() {
            index.verdicts.entry(verdict.id.clone()).or_insert(at);
            index.verdicts_of_run.entry(verdict.run.clone()).or_default().push(at);
            for case in &verdict.cases {
                index.verdicts_of_case.entry(case.clone()).or_default().push(at);
            }
        }
        for (at, span) in book.spans.iter().enumerate() {
            let run = &span.run;
            index.runs.entry(run.clone()).or_insert(at);
            index.runs_of_job.entry((run.cluster.clone(), run.job)).or_default().push(at);
        }
        index.started = (0..book.spans.len()).collect();
        index.started.arrange_by_key(|at| book.spans.get(*at).map(|span| span.run.start));
        for (at, row) in book.actions.iter().enumerate().filter(|(_, row)| row.state == IntentState::Done) {
            index.done.entry(row.action.decision().clone()).or_insert(at);
            if let Action::Drain { case, .. } = &row.action {
                index.drained.insert(case.clone());
            }
        }
        let drains = book.decisions.iter().filter(|decision| decision.intent == Intent::Drain);
        index.wanted = drains.filter_map(|decision| decision.case.clone()).into_set();
        index
    }
}

impl Book {
    /// The case with this id.
    pub(crate) fn case(&self, id: &CaseId) -> Option<&Case> {
        self.cases.get(*self.index.cases.get(id)?)
    }

    /// Cases that were opened within these moments, in the order of the list.
    pub(crate) fn opened_within(&self, from: Stamp, to: Stamp) -> impl Iterator<Item = &Case> {
        let opened = |at: &usize| self.cases.get(*at).map_or(from, |case| case.opened_at);
        let first = self.index.opened.partition_point(|at| opened(at) < from);
        let within = self.index.opened.iter().skip(first).take_while(|at| opened(at) <= to);
        let mut places: Vec<usize> = within.copied().collect();
        places.arrange_by_key(|at| *at);
        places.into_iter().filter_map(|at| self.cases.get(at))
    }

    /// The verdict with this id.
    pub(crate) fn verdict(&self, id: &VerdictId) -> Option<&Verdict> {
        self.verdicts.get(*self.index.verdicts.get(id)?)
    }

    /// Verdicts over this run.
    pub(crate) fn verdicts_over(&self, run: &RunId) -> impl Iterator<Item = &Verdict> {
        let places = self.index.verdicts_of_run.get(run).into_iter().flatten();
        places.filter_map(|at| self.verdicts.get(*at))
    }

    /// Verdicts that name this case.
    pub(crate) fn verdicts_naming(&self, case: &CaseId) -> impl Iterator<Item = &Verdict> {
        let places = self.index.verdicts_of_case.get(case).into_iter().flatten();
        places.filter_map(|at| self.verdicts.get(*at))
    }

    /// The run as this node saw it.
    pub(crate) fn span(&self, run: &RunId) -> Option<&JobSpan> {
        self.spans.get(*self.index.runs.get(run)?)
    }

    /// Runs of the job on this node.
    pub(crate) fn runs_of(&self, cluster: &str, job: u32) -> impl Iterator<Item = &JobSpan> {
        let places = self.index.runs_of_job.get(&(cluster.to_owned(), job)).into_iter().flatten();
        places.filter_map(|at| self.spans.get(*at))
    }

    /// Runs that began after `after` and not later than `until`, in the order of their beginning.
    pub(crate) fn begun_within(&self, after: Stamp, until: Stamp) -> impl Iterator<Item = &JobSpan> {
        let begun = |at: &usize| self.spans.get(*at).map_or(after, |span| span.run.start);
        let first = self.index.started.partition_point(|at| begun(at) <= after);
        let spans = self.index.started.iter().skip(first).filter_map(|at| self.spans.get(*at));
        spans.take_while(move |span| span.run.start <= until)
    }

    /// The first action that was carried out for one of these decisions.
    pub(crate) fn done_for<'a>(&self, decisions: impl Iterator<Item = &'a DecisionId>) -> Option<&IntentRow> {
        let first = decisions.filter_map(|id| self.index.done.get(id)).min()?;
        self.actions.get(*first)
    }

    /// Whether a drain was carried out for the case.
    pub(crate) fn drained_for(&self, case: &CaseId) -> bool {
        self.index.drained.contains(case)
    }

    /// Whether a drain was decided about for the case.
    pub(crate) fn drain_wanted_for(&self, case: &CaseId) -> bool {
        self.index.wanted.contains(case)
    }
}
