//! The report as JSON; text and HTML are made from it.
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use triage_core::{CaseId, DecisionId, Mode, NodeName, Stamp};

use super::figures::{Graded, Hours, RuleFigures};
use super::grade::{Grade, Settings, is_failed};
use crate::books::{Asked, Books};
use crate::site::Site;
use crate::view;

/// The report.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) v: u32,
    pub(super) at: Stamp,
    pub(super) since: Stamp,
    /// Days of work without a fault after which a drain is held to have been wrong.
    pub(super) clean_days: u32,
    /// The precision that a rule has to prove before it is called ready, 0 to 1.
    pub(super) bar: f64,
    pub(super) ledgers: &'a [Asked],
    pub(super) seen: Seen<'a>,
    pub(super) rules: Vec<RuleFigures>,
    pub(super) decisions: Vec<GradedView<'a>>,
}

/// What we saw.
#[derive(Serialize)]
pub(super) struct Seen<'a> {
    /// Nodes whose ledgers were read.
    pub(super) nodes: usize,
    /// Runs that ended; one on several nodes is one.
    pub(super) runs: usize,
    /// Of them, those that failed of themselves.
    pub(super) failed: usize,
    /// Events by code.
    pub(super) events: BTreeMap<&'a str, u64>,
    /// Cases by fault.
    pub(super) cases: BTreeMap<&'a str, usize>,
    /// Verdicts by class of cause.
    pub(super) verdicts: BTreeMap<&'static str, usize>,
}

/// One thing we said should be done, and how it turned out.
#[derive(Serialize)]
pub(super) struct GradedView<'a> {
    pub(super) decision: &'a DecisionId,
    pub(super) at: Stamp,
    /// The node whose ledger holds it.
    pub(super) node: &'a NodeName,
    /// `node n1`, `job 4711`.
    pub(super) subject: String,
    pub(super) intent: &'static str,
    pub(super) rule: &'a str,
    /// It was carried out then; null: it was not.
    pub(super) done_at: Option<Stamp>,
    pub(super) cases: Vec<&'a CaseId>,
    /// Why it was wanted.
    pub(super) why: &'a str,
    pub(super) grade: Grade,
    /// What it is graded by.
    pub(super) because: &'a str,
    pub(super) saved: Hours,
    pub(super) wasted: Hours,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        site: &Site,
        since: Stamp,
        books: &'a Books,
        settings: Settings,
        bar: f64,
        (graded, why): (&'a [Graded<'a>], &'a [String]),
        rules: Vec<RuleFigures>,
    ) -> Self {
        Self {
            v: view::VERSION,
            at: site.now,
            since,
            clean_days: settings.clean_days,
            bar,
            ledgers: &books.asked,
            seen: Seen::new(books),
            rules,
            decisions: graded.iter().zip(why).map(|(one, why)| GradedView::new(one, why)).collect(),
        }
    }
}

impl<'a> Seen<'a> {
    fn new(books: &'a Books) -> Self {
        let mut seen = Self {
            nodes: books.all.len(),
            runs: 0,
            failed: 0,
            events: BTreeMap::new(),
            cases: BTreeMap::new(),
            verdicts: BTreeMap::new(),
        };
        // A job on many nodes is in the ledger of each of them.
        let (mut ended, mut failed) = (BTreeSet::new(), BTreeSet::new());
        for book in &books.all {
            for span in book.spans.iter().filter(|span| span.end.is_some()) {
                let run = (&span.run.cluster, span.run.job, span.run.restart);
                ended.insert(run);
                if is_failed(span) {
                    failed.insert(run);
                }
            }
            for (code, count) in &book.events {
                *seen.events.entry(code).or_default() += count;
            }
            for case in &book.cases {
                *seen.cases.entry(&case.fault).or_default() += 1;
            }
            for verdict in &book.verdicts {
                *seen.verdicts.entry(verdict.class.word()).or_default() += 1;
            }
        }
        (seen.runs, seen.failed) = (ended.len(), failed.len());
        seen
    }
}

impl<'a> GradedView<'a> {
    fn new(one: &Graded<'a>, because: &'a str) -> Self {
        let (claim, decision) = (one.claim, one.claim.decision);
        Self {
            decision: &decision.id,
            at: decision.at,
            node: &claim.book.node,
            subject: decision.subject.to_string(),
            intent: decision.intent.word(),
            rule: &decision.rule,
            done_at: claim.done,
            cases: claim.cases.iter().map(|case| &case.id).collect(),
            why: &decision.why,
            grade: one.grade,
            because,
            saved: one.saved,
            wasted: one.wasted,
        }
    }
}

impl RuleFigures {
    /// Whether it may act, in words; of one that acts it is said whether it has proven itself.
    pub(super) const fn told_ready(&self) -> &'static str {
        match (self.mode, self.ready) {
            (Mode::Act, true) => "acts, and is proven",
            (Mode::Act, false) => "acts already, not proven",
            (Mode::Monitor, true) => "ready to act",
            (Mode::Monitor, false) => "not ready to act",
        }
    }

    /// The precision for people: counts first, they are what it rests on.
    pub(super) fn told_precision(&self) -> String {
        self.precision.map_or_else(String::new, |share| {
            format!("{:.0} % ({:.0} to {:.0} %)", share.share * 100.0, share.low * 100.0, share.high * 100.0)
        })
    }
}

impl Hours {
    /// For people: `3.2 node-h, 25.6 GPU-h`; nothing for nothing.
    pub(super) fn told(&self) -> String {
        if self.node == 0.0 {
            return String::new();
        }
        format!("{:.1} node-h, {:.1} GPU-h", self.node, self.gpu)
    }
}
