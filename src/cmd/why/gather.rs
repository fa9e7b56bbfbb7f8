//! Taking the story out of the ledger.
use std::collections::BTreeSet;
use triage_core::arrange::Arrange as _;
use triage_core::arrange::Gather as _;

use triage_core::catalog::Catalog;
use triage_core::{
    Case, CaseId, Decision, EventId, HoldOn, JobSpan, NodeName, RunId, Subject as Whom, Verdict,
};
use triage_ledger::{AuditRow, Filter, Found, IntentRow, JobFilter, Ledger, Level, SourceRow};

use super::resolve::Subject;
use super::story::{Run, Story};
use crate::site::Site;
use crate::view::{self, CodeView, TasksView};

/// Most runs told; an array can have thousands.
const RUNS: u32 = 20;
/// Most events told that are no evidence.
const OTHER_EVENTS: u32 = 40;
/// How far back a node's story goes for what is over.
const LOOK_BACK_S: i64 = 7 * 86_400;
/// Most rows of the suite's own trouble in a node's story.
const TROUBLES: u32 = 20;

/// Takes the story of `subject` out of the ledger.
pub(super) fn gather(
    ledger: &Ledger,
    site: &Site,
    catalog: &Catalog,
    subject: Subject,
) -> anyhow::Result<Story> {
    let mut story = Story {
        subject: subject.clone(),
        runs: Vec::new(),
        more_runs: false,
        cases: Vec::new(),
        cases_elsewhere: Vec::new(),
        verdicts: Vec::new(),
        evidence: Vec::new(),
        evidence_gone: 0,
        other_events: Vec::new(),
        more_events: false,
        decisions: Vec::new(),
        actions: Vec::new(),
        audit: Vec::new(),
        holds: ledger.holds(site.now)?,
        out: ledger.out()?,
        blind: blind(ledger, site)?,
        codes: Vec::new(),
        states: ledger.checks()?,
        settings: site.config.checks.clone(),
    };
    match subject {
        Subject::Job(job) => of_job(ledger, job, &mut story)?,
        Subject::Case(case) => of_case(ledger, &case, &mut story)?,
        Subject::Node(node) => of_node(ledger, site, node, &mut story)?,
    }
    add_named_cases(ledger, &mut story)?;
    add_doings(ledger, &mut story)?;
    add_evidence(ledger, &mut story)?;
    add_codes(catalog, &mut story);
    keep_holds(&mut story);
    Ok(story)
}

fn blind(ledger: &Ledger, site: &Site) -> anyhow::Result<Vec<SourceRow>> {
    let mut sources = view::current_sources(ledger.sources()?, &site.config);
    sources.retain(|source| source.blind_since.is_some());
    Ok(sources)
}

/// A hold on the node holds everything; one on a case or a job only what is told of here.
fn keep_holds(story: &mut Story) {
    let (runs, cases, subject) = (&story.runs, &story.cases, &story.subject);
    story.holds.retain(|hold| match &hold.on {
        HoldOn::Node(_) => true,
        HoldOn::Case(id) => cases.iter().any(|case| case.id == *id),
        HoldOn::Job(job) => {
            runs.iter().any(|run| job.covers(&run.span.run))
                || matches!(subject, Subject::Job(asked) if asked.job == job.job)
                || matches!(subject, Subject::Node(_))
        }
    });
}

fn of_job(ledger: &Ledger, job: JobFilter, story: &mut Story) -> anyhow::Result<()> {
    let of_job = Filter { job: Some(job), ..Filter::default() };
    let mut spans = ledger.spans(&Filter { limit: Some(RUNS + 1), ..of_job.clone() })?;
    story.more_runs = spans.len() > RUNS as usize;
    if story.more_runs {
        spans.remove(0);
    }
    add_runs(ledger, spans, story)?;
    story.cases = ledger.cases(&of_job)?;
    story.verdicts = ledger.verdicts(&of_job)?;
    story.decisions = ledger.decisions(&of_job)?;
    story.actions = ledger.actions(&of_job)?;
    story.other_events = ledger.events(&Filter { limit: Some(OTHER_EVENTS + 1), ..of_job.clone() })?;
    story.audit = told(ledger.audit(&of_job)?);
    Ok(())
}

/// Rows of the trail that nothing else in the story tells.
fn told(rows: Vec<AuditRow>) -> Vec<AuditRow> {
    let elsewhere =
        |row: &AuditRow| ["action.", "decision."].iter().any(|family| row.note.kind.starts_with(family));
    rows.into_iter().filter(|row| !elsewhere(row)).collect()
}

fn of_case(ledger: &Ledger, id: &CaseId, story: &mut Story) -> anyhow::Result<()> {
    let of_case = Filter { case: Some(id.clone()), ..Filter::default() };
    story.cases = ledger.cases(&of_case)?;
    story.verdicts = ledger.verdicts(&of_case)?;
    story.audit = told(ledger.audit(&of_case)?);
    story.decisions = ledger.decisions(&of_case)?;
    let met = story.cases.iter().filter_map(|case| case.run.clone());
    let refused = story.decisions.iter().filter_map(|decision| match &decision.subject {
        Whom::Run(run) => Some(run.clone()),
        Whom::Node(_) => None,
    });
    let judged = story.verdicts.iter().map(|verdict| verdict.run.clone());
    let runs: BTreeSet<RunId> = met.chain(refused).chain(judged).into_set();
    for verdict in &story.verdicts {
        add_decisions(&mut story.decisions, decisions_from(ledger, verdict)?);
    }
    let mut spans = Vec::new();
    for run in &runs {
        spans.extend(ledger.span(run)?);
    }
    spans.arrange_by_key(|span| span.run.start);
    add_runs(ledger, spans, story)
}

fn of_node(ledger: &Ledger, site: &Site, node: NodeName, story: &mut Story) -> anyhow::Result<()> {
    let since = Some(site.now.plus_secs(-LOOK_BACK_S));
    let here = Filter { node: Some(node), ..Filter::default() };
    let open = Filter { open_only: true, ..here.clone() };
    let lately = Filter { since, ..here };
    story.cases = ledger.cases(&lately)?;
    for case in ledger.cases(&open)? {
        add_case(&mut story.cases, case);
    }
    story.verdicts = ledger.verdicts(&lately)?;
    for verdict in &story.verdicts {
        add_decisions(&mut story.decisions, decisions_from(ledger, verdict)?);
    }
    let loud = Filter { since, level: Some(Level::Warning), limit: Some(TROUBLES), ..Filter::default() };
    story.audit = ledger.audit(&loud)?;
    let said = Filter { since, ..Filter::default() };
    let of_people = ledger.audit(&said)?.into_iter().filter(|row| !row.note.actor.is_empty());
    story.audit.extend(told(of_people.collect()));
    story.audit.arrange_by_key(|row| row.id);
    story.audit.dedup_by_key(|row| row.id);
    add_runs(ledger, ledger.spans(&open)?, story)
}

fn decisions_from(ledger: &Ledger, verdict: &Verdict) -> anyhow::Result<Vec<Decision>> {
    let mut decisions = ledger.decisions(&Filter { run: Some(verdict.run.clone()), ..Filter::default() })?;
    decisions.retain(|decision| decision.verdict.as_ref() == Some(&verdict.id));
    Ok(decisions)
}

fn add_runs(ledger: &Ledger, spans: Vec<JobSpan>, story: &mut Story) -> anyhow::Result<()> {
    for span in spans {
        let tasks = TasksView::new(&ledger.tasks_of(&span)?);
        story.runs.push(Run { span, tasks });
    }
    Ok(())
}

fn add_case(cases: &mut Vec<Case>, case: Case) {
    if cases.iter().all(|known| known.id != case.id) {
        cases.push(case);
    }
}

fn add_decisions(decisions: &mut Vec<Decision>, more: Vec<Decision>) {
    for decision in more {
        if decisions.iter().all(|known| known.id != decision.id) {
            decisions.push(decision);
        }
    }
}

/// Cases that verdicts and decisions name: a run may have died of a case that was older than it.
fn add_named_cases(ledger: &Ledger, story: &mut Story) -> anyhow::Result<()> {
    let named = story.verdicts.iter().flat_map(|verdict| &verdict.cases);
    let named: BTreeSet<CaseId> =
        named.chain(story.decisions.iter().filter_map(|decision| decision.case.as_ref())).cloned().into_set();
    for id in named {
        if story.cases.iter().any(|case| case.id == id) {
            continue;
        }
        match ledger.case(id.as_str())? {
            Found::One(case) if case.id == id => add_case(&mut story.cases, *case),
            _ => story.cases_elsewhere.push(id),
        }
    }
    story.cases.arrange_by(|a, b| (a.opened_at, &a.id).cmp(&(b.opened_at, &b.id)));
    Ok(())
}

/// What was decided and done about the cases.
fn add_doings(ledger: &Ledger, story: &mut Story) -> anyhow::Result<()> {
    let mut actions: Vec<IntentRow> = std::mem::take(&mut story.actions);
    for case in &story.cases {
        let of_case = Filter { case: Some(case.id.clone()), ..Filter::default() };
        add_decisions(&mut story.decisions, ledger.decisions(&of_case)?);
        actions.extend(ledger.actions(&of_case)?);
    }
    for run in story.decisions.iter().filter_map(|decision| match &decision.subject {
        Whom::Run(run) => Some(run),
        Whom::Node(_) => None,
    }) {
        let of_run = ledger.actions(&Filter { run: Some(run.clone()), ..Filter::default() })?;
        let told =
            |row: &IntentRow| story.decisions.iter().any(|decision| decision.id == *row.action.decision());
        actions.extend(of_run.into_iter().filter(told));
    }
    actions.arrange_by_key(|row| row.id);
    actions.dedup_by_key(|row| row.id);
    story.actions = actions;
    story.decisions.arrange_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    Ok(())
}

fn add_evidence(ledger: &Ledger, story: &mut Story) -> anyhow::Result<()> {
    let of_cases = story.cases.iter().flat_map(|case| &case.events);
    let ids: BTreeSet<EventId> =
        of_cases.chain(story.verdicts.iter().flat_map(|verdict| &verdict.evidence)).cloned().into_set();
    let ids: Vec<EventId> = ids.into_iter().collect();
    story.evidence = ledger.events_by_id(&ids)?;
    story.evidence_gone = ids.len().saturating_sub(story.evidence.len());
    story.evidence.arrange_by(|a, b| (a.at, a.cursor, &a.id).cmp(&(b.at, b.cursor, &b.id)));
    story.more_events = story.other_events.len() > OTHER_EVENTS as usize;
    if story.more_events {
        story.other_events.remove(0);
    }
    story.other_events.retain(|event| ids.binary_search(&event.id).is_err());
    Ok(())
}

fn add_codes(catalog: &Catalog, story: &mut Story) {
    let of_cases = story.cases.iter().map(|case| case.code.as_str());
    let of_events = story.evidence.iter().map(|event| event.code.as_str());
    story.codes = CodeView::of(catalog, of_cases.chain(of_events));
}
