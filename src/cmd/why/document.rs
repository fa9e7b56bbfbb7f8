//! The story as JSON.
use serde::Serialize;
use triage_core::{Case, CaseId, Event, NodeName, Stamp, Verdict};

use super::resolve::{No, Subject};
use super::story::Story;
use crate::site::Site;
use crate::view::{
    self, ActionView, CodeView, DecisionView, HoldView, JobView, SourceView, TasksView, TrailView,
};

/// The story as JSON.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// As it was asked.
    asked: &'a str,
    /// `job`, `case` or `node`.
    kind: &'static str,
    /// What the question was understood as.
    name: String,
    /// What else has the name, as it can be asked for.
    also: Vec<String>,
    runs: Vec<RunView<'a>>,
    more_runs: bool,
    cases: &'a [Case],
    cases_elsewhere: &'a [CaseId],
    verdicts: &'a [Verdict],
    evidence: &'a [Event],
    evidence_gone: usize,
    other_events: &'a [Event],
    more_events: bool,
    decisions: Vec<DecisionView<'a>>,
    actions: Vec<ActionView<'a>>,
    trail: Vec<TrailView<'a>>,
    holds: Vec<HoldView<'a>>,
    blind: Vec<SourceView<'a>>,
    codes: &'a [CodeView],
    /// What to do next, one sentence.
    next: &'a str,
}

#[derive(Serialize)]
struct RunView<'a> {
    run: JobView<'a>,
    tasks: &'a TasksView,
}

impl<'a> Document<'a> {
    /// Of a story that was gathered.
    pub(super) fn new(
        site: &'a Site,
        asked: &'a str,
        also: &[Subject],
        story: &'a Story,
        next: &'a str,
    ) -> Self {
        let run = |run: &'a super::story::Run| RunView {
            run: JobView::new(&run.span, &story.verdicts),
            tasks: &run.tasks,
        };
        Self {
            v: view::VERSION,
            node: &site.node,
            at: site.now,
            asked,
            kind: story.subject.kind(),
            name: story.subject.name(),
            also: also.iter().map(ToString::to_string).collect(),
            runs: story.runs.iter().map(run).collect(),
            more_runs: story.more_runs,
            cases: &story.cases,
            cases_elsewhere: &story.cases_elsewhere,
            verdicts: &story.verdicts,
            evidence: &story.evidence,
            evidence_gone: story.evidence_gone,
            other_events: &story.other_events,
            more_events: story.more_events,
            decisions: story.decisions.iter().map(DecisionView::from).collect(),
            actions: story.actions.iter().map(ActionView::from).collect(),
            trail: story.audit.iter().map(TrailView::from).collect(),
            holds: story.holds.iter().map(HoldView::from).collect(),
            blind: story.blind.iter().map(SourceView::from).collect(),
            codes: &story.codes,
            next,
        }
    }
}

/// The answer where nothing was found.
#[derive(Serialize)]
pub(super) struct Unknown<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    asked: &'a str,
    /// Null: nothing was found.
    kind: Option<&'static str>,
    instead: &'a No,
}

impl<'a> Unknown<'a> {
    /// Of a name that led nowhere.
    pub(super) const fn new(site: &'a Site, asked: &'a str, no: &'a No) -> Self {
        Self { v: view::VERSION, node: &site.node, at: site.now, asked, kind: None, instead: no }
    }
}
