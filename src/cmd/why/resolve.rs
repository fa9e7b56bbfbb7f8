//! What a name means: a node, a job or a case.
use std::fmt;

use serde::Serialize;
use triage_core::{CaseId, NodeName};
use triage_ledger::{Filter, Found, JobFilter, Ledger};

use crate::render::Page;
use crate::site::Site;

/// Fewest hex digits that are taken for the beginning of a case's id.
const SHORTEST_PREFIX: usize = 4;

/// Jobs and cases that are named where nothing was found.
const NAMED: u32 = 5;

/// What the story is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Node(NodeName),
    Job(JobFilter),
    Case(CaseId),
}

impl Subject {
    /// The word for its kind.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Node(_) => "node",
            Self::Job(_) => "job",
            Self::Case(_) => "case",
        }
    }

    /// Its name alone.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Node(node) => node.to_string(),
            Self::Job(JobFilter { job, task: Some(task) }) => format!("{job}_{task}"),
            Self::Job(JobFilter { job, task: None }) => job.to_string(),
            Self::Case(case) => case.to_string(),
        }
    }
}

impl fmt::Display for Subject {
    /// As it can be given on the command line without being taken for another: `case:3f2a9c01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.name())
    }
}

/// What was found under a name.
#[derive(Debug)]
pub(super) enum Resolved {
    /// This, and what else has the name.
    One { subject: Subject, also: Vec<Subject> },
    /// Nothing, or too much.
    No(No),
}

/// Why a name led nowhere, and what to try instead.
#[derive(Debug, Serialize)]
pub(super) struct No {
    /// Cases whose ids begin so, where several do.
    pub(super) cases_that_begin_so: Vec<String>,
    /// Open cases.
    pub(super) open_cases: Vec<String>,
    /// The jobs that came last.
    pub(super) last_jobs: Vec<String>,
}

/// Looks a name up. A node comes before a job, a job before a case.
pub(super) fn resolve(ledger: &Ledger, site: &Site, text: &str) -> anyhow::Result<Resolved> {
    let (kind, name) = match text.split_once(':') {
        Some((kind @ ("node" | "job" | "case"), name)) => (Some(kind), name),
        _ => (None, text),
    };
    let wanted = |this: &str| kind.is_none_or(|kind| kind == this);
    let mut found = Vec::new();
    if wanted("node") {
        found.extend(node(ledger, site, name)?);
    }
    if wanted("job") {
        found.extend(job(ledger, name)?);
    }
    let mut several = Vec::new();
    if wanted("case") && (kind.is_some() || name.len() >= SHORTEST_PREFIX) {
        match ledger.case(name)? {
            Found::One(case) => found.push(Subject::Case(case.id)),
            Found::Several(ids) => several = ids,
            Found::None => {}
        }
    }
    if found.is_empty() {
        return Ok(Resolved::No(No::new(ledger, several)?));
    }
    let subject = found.remove(0);
    Ok(Resolved::One { subject, also: found })
}

fn node(ledger: &Ledger, site: &Site, name: &str) -> anyhow::Result<Option<Subject>> {
    let node = NodeName::from(name);
    let one = Filter { node: Some(node.clone()), limit: Some(1), ..Filter::default() };
    let known = node == site.node || !ledger.spans(&one)?.is_empty() || !ledger.cases(&one)?.is_empty();
    Ok(known.then_some(Subject::Node(node)))
}

/// A job's name may come with its step: `4711.0`, `4711.batch`.
fn job(ledger: &Ledger, name: &str) -> anyhow::Result<Option<Subject>> {
    let bare = name.split_once('.').map_or(name, |(job, _)| job);
    let Some(job) = JobFilter::parse(bare) else { return Ok(None) };
    let one = Filter { job: Some(job), limit: Some(1), ..Filter::default() };
    let known = !ledger.spans(&one)?.is_empty() || !ledger.cases(&one)?.is_empty();
    Ok(known.then_some(Subject::Job(job)))
}

impl No {
    fn new(ledger: &Ledger, several: Vec<String>) -> anyhow::Result<Self> {
        let last = Filter { limit: Some(NAMED), ..Filter::default() };
        let open = Filter { open_only: true, ..last.clone() };
        let mut last_jobs: Vec<String> =
            ledger.spans(&last)?.iter().map(|span| span.run.scontrol_name()).collect();
        last_jobs.dedup();
        Ok(Self {
            cases_that_begin_so: several,
            open_cases: ledger.cases(&open)?.iter().map(|case| case.id.to_string()).collect(),
            last_jobs,
        })
    }

    /// The answer for a person.
    pub(super) fn page(&self, site: &Site, asked: &str) -> Page {
        let mut page = Page::default();
        if self.cases_that_begin_so.is_empty() {
            page.line(0, format_args!("{}: nothing is known here of \"{asked}\"", site.node));
        } else {
            let ids = self.cases_that_begin_so.join(", ");
            page.line(0, format_args!("{}: several cases begin with \"{asked}\": {ids}", site.node));
        }
        page.line(0, "Try:");
        page.line(1, format_args!("slurm-triage why {}", site.node));
        for name in self.open_cases.iter().chain(&self.last_jobs) {
            page.line(1, format_args!("slurm-triage why {name}"));
        }
        page.line(1, "the same on the job's other nodes: each keeps a ledger of its own");
        page
    }
}
