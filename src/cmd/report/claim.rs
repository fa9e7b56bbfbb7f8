//! What we said should be done, once for each thing, and whether it was.
use std::collections::BTreeMap;
use triage_core::arrange::Arrange as _;

use triage_core::{Case, Decision, Intent, JobSpan, Resource, Stamp, Subject, Verdict};

use crate::books::Book;

/// One thing that policy wanted done, the first time it said so.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    pub(super) book: &'a Book,
    pub(super) decision: &'a Decision,
    /// The case it rests on, itself or through its verdict.
    pub(super) cases: Vec<&'a Case>,
    pub(super) verdict: Option<&'a Verdict>,
    /// When it was carried out.
    pub(super) done: Option<Stamp>,
    /// The gate that held it, other than the mode.
    pub(super) withheld: Option<&'a str>,
}

/// What is graded: what takes something from somebody.
const GRADED: &[Intent] =
    &[Intent::Drain, Intent::RefuseJob, Intent::Requeue, Intent::RequeueHold, Intent::Stop];

/// The claims of a book, oldest first. A decision that is made again about the same thing is the same claim; it counts as
/// held back only if every one of them was.
pub(super) fn of<'a>(book: &'a Book, since: Stamp) -> Vec<Claim<'a>> {
    let mut by_thing: BTreeMap<(String, &str, &str), Vec<&'a Decision>> = BTreeMap::new();
    let wanted = |decision: &&Decision| {
        GRADED.contains(&decision.intent) && !decision.synthetic && decision.at >= since
    };
    for decision in book.decisions.iter().filter(wanted) {
        let case = decision.case.as_ref().map_or("", |case| case.as_str());
        by_thing
            .entry((format!("{:?}", decision.subject), decision.intent.word(), case))
            .or_default()
            .push(decision);
    }
    let mut claims: Vec<Claim<'a>> =
        by_thing.into_values().filter_map(|decisions| Claim::new(book, &decisions)).collect();
    claims.arrange_by(|a, b| (a.decision.at, &a.decision.id).cmp(&(b.decision.at, &b.decision.id)));
    claims
}

impl<'a> Claim<'a> {
    fn new(book: &'a Book, decisions: &[&'a Decision]) -> Option<Self> {
        let free = |decision: &&&Decision| gate_but_mode(decision).is_none();
        let first = decisions.iter().find(free).or_else(|| decisions.first()).copied()?;
        let verdict = first.verdict.as_ref().and_then(|id| book.verdict(id));
        let named = verdict.iter().flat_map(|verdict| &verdict.cases);
        let cases = first.case.iter().chain(named).filter_map(|id| book.case(id)).collect();
        let done = book.done_for(decisions.iter().map(|decision| &decision.id));
        Some(Self {
            book,
            decision: first,
            cases,
            verdict,
            done: done.map(|row| row.settled_at.unwrap_or(row.created)),
            withheld: gate_but_mode(first),
        })
    }

    /// When it was first wanted.
    pub(super) const fn at(&self) -> Stamp {
        self.decision.at
    }

    /// What is claimed to be bad.
    pub(super) fn resource(&self) -> Option<&'a Resource> {
        self.cases.first().map(|case| &case.resource)
    }

    /// The run it is about.
    pub(super) const fn run(&self) -> Option<&'a triage_core::RunId> {
        match &self.decision.subject {
            Subject::Run(run) => Some(run),
            Subject::Node(_) => None,
        }
    }

    /// Runs on the node that began after it was wanted, until then, and had to do with what is claimed to be bad, in the
    /// order of their beginning. A run whose GPUs nobody knows had the whole node.
    pub(super) fn later_runs(&self, until: Stamp) -> impl Iterator<Item = &'a JobSpan> {
        let index = self.resource().and_then(|resource| self.book.gpu_index(resource));
        let concerns = move |span: &&JobSpan| {
            index.is_none_or(|index| span.gpus.is_empty() || span.gpus.contains(&index))
        };
        self.book.begun_within(self.at(), until).filter(concerns)
    }
}

fn gate_but_mode(decision: &Decision) -> Option<&str> {
    let held = |gate: &&triage_core::Gate| !gate.passed && gate.name != "mode";
    decision.gates.iter().find(held).map(|gate| gate.name.as_str())
}
