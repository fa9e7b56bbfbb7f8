//! Counting what each part cost, and putting the worst first.
use std::collections::{BTreeMap, BTreeSet};
use triage_core::arrange::Arrange as _;

use clap::ValueEnum;
use serde::Serialize;
use triage_core::{Case, CaseState, CauseClass, Resource, RunId, Stamp};
use triage_ledger::IntentState;

use super::who::{Names, place};
use crate::books::Book;

/// What kind of part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A GPU.
    Gpu,
    /// A network adapter.
    Nic,
    /// A node as a whole: everything that failed on it.
    Node,
}

impl Kind {
    /// The word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Nic => "nic",
            Self::Node => "node",
        }
    }
}

/// One part and what it cost.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// A GPU's serial, else its UUID; else node and place.
    pub(super) name: String,
    /// Runs that failed of it.
    pub(super) jobs_lost: usize,
    /// Drains that were carried out for it.
    pub(super) drains: usize,
    /// Drains that were wanted and not carried out.
    pub(super) wanted: usize,
    /// Cases, those that a person acquitted not among them.
    pub(super) faults: usize,
    /// Of them, those that stand.
    pub(super) open: usize,
    /// Of them, those that a repair closed.
    pub(super) repaired: usize,
    /// When it was last seen to fail.
    pub(super) last: Stamp,
    /// Where it failed: node and place.
    pub(super) places: BTreeSet<String>,
    /// What it failed with.
    pub(super) codes: BTreeSet<String>,
    /// A node that our own hand put back is on probation until then; null: it never was.
    pub(super) probation_until: Option<Stamp>,
}

/// What one part gathers.
#[derive(Default)]
struct Tally {
    runs: BTreeSet<RunId>,
    drains: BTreeSet<String>,
    wanted: BTreeSet<String>,
    cases: BTreeMap<String, CaseState>,
    last: Stamp,
    places: BTreeSet<String>,
    codes: BTreeSet<String>,
    probation_until: Option<Stamp>,
}

/// Every part that failed: first what lost most jobs, then what was drained and what failed most often.
pub(super) fn rank(books: &[Book], probation_days: u32) -> Vec<Part> {
    let names = Names::of(books);
    let mut tallies: BTreeMap<(Kind, String), Tally> = BTreeMap::new();
    for book in books {
        for case in book.cases.iter().filter(|case| counts(case)) {
            for key in keys(&names, book, case) {
                tallies.entry(key).or_default().add(book, case);
            }
        }
        if let Some(until) = probation(book, probation_days)
            && let Some(tally) = tallies.get_mut(&(Kind::Node, book.node.to_string()))
        {
            tally.probation_until = tally.probation_until.max(Some(until));
        }
    }
    let mut parts: Vec<Part> =
        tallies.into_iter().map(|((kind, name), tally)| tally.part(kind, name)).collect();
    parts.arrange_by(|a, b| {
        let cost = |part: &Part| (part.jobs_lost, part.drains, part.wanted, part.faults, part.last);
        cost(b).cmp(&cost(a)).then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
    });
    parts
}

/// What a program did is no fault of the part it did it on, and what a person acquitted was none.
const fn counts(case: &Case) -> bool {
    !matches!(case.state, CaseState::Acquitted)
        && !matches!(case.class, CauseClass::Application | CauseClass::None)
}

/// A fault counts for the part and for its node.
fn keys(names: &Names, book: &Book, case: &Case) -> Vec<(Kind, String)> {
    let part = match &case.resource {
        Resource::Gpu(_) | Resource::GpuIndex(_) => Some((Kind::Gpu, names.gpu(book, case))),
        Resource::Nic(_) => Some((Kind::Nic, case.part.clone().unwrap_or_else(|| place(book, case)))),
        _ => None,
    };
    part.into_iter().chain([(Kind::Node, book.node.to_string())]).collect()
}

fn probation(book: &Book, days: u32) -> Option<Stamp> {
    let back =
        book.actions.iter().filter(|row| row.action.kind() == "resume" && row.state == IntentState::Done);
    let last = back.filter_map(|row| row.settled_at).max()?;
    Some(last.plus_secs(i64::from(days) * 86_400))
}

impl Tally {
    fn add(&mut self, book: &Book, case: &Case) {
        self.cases.insert(case.id.to_string(), case.state);
        self.last = self.last.max(case.last_seen);
        self.places.insert(place(book, case));
        self.codes.insert(case.code.to_string());
        self.runs.extend(lost(book, case));
        if book.drained_for(&case.id) {
            self.drains.insert(case.id.to_string());
        } else if book.drain_wanted_for(&case.id) {
            self.wanted.insert(case.id.to_string());
        }
    }

    fn part(self, kind: Kind, name: String) -> Part {
        let count =
            |wanted: fn(CaseState) -> bool| self.cases.values().filter(|state| wanted(**state)).count();
        Part {
            kind,
            name,
            jobs_lost: self.runs.len(),
            drains: self.drains.len(),
            wanted: self.wanted.len(),
            faults: self.cases.len(),
            open: count(CaseState::is_open),
            repaired: count(|state| state == CaseState::Resolved),
            last: self.last,
            places: self.places,
            codes: self.codes,
            probation_until: self.probation_until,
        }
    }
}

/// Runs that failed and that the case met, or that a verdict lays at its door. A job that ran on several nodes is one.
fn lost(book: &Book, case: &Case) -> Vec<RunId> {
    let named = book.verdicts_naming(&case.id);
    let met = case.run.iter().chain(named.map(|verdict| &verdict.run));
    let failed = |run: &&RunId| {
        book.span(run)
            .is_none_or(|span| span.end.is_some() && span.exit.is_none_or(|exit| !exit.is_success()))
    };
    met.filter(failed).map(|run| RunId { start: Stamp::from_micros(0), ..run.clone() }).collect()
}
