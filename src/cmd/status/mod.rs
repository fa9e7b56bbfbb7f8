//! `slurm-triage status`: is this node well, are our eyes open, what is pending.
mod page;

use serde::Serialize;
use triage_core::checks::CheckState;
use triage_core::{Case, CaseId, Decision, Hold, JobSpan, NodeName, OutCase, Stamp};
use triage_ledger::{AuditRow, Filter, IntentRow, Level, SourceRow};

use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render;
use crate::room;
use crate::site::Site;
use crate::view::{
    self, ActionView, CheckView, GoneView, HealthCheckView, HeldView, HoldView, JobView, LedgerView, OutView,
    PolicyView, SourceView, TroubleView,
};

/// How far back the suite's own trouble is told, and the most rows of it.
const TROUBLE_S: i64 = 86_400;
const TROUBLES: u32 = 10;

/// What the ledger said.
struct Read {
    cases: Vec<Case>,
    sources: Vec<SourceRow>,
    pending: Vec<IntentRow>,
    on_node: Vec<JobSpan>,
    holds: Vec<Hold>,
    out: Vec<OutCase>,
    returns: Vec<Decision>,
    /// About the open cases.
    wanted: Vec<Decision>,
    trouble: Vec<AuditRow>,
    ledger: LedgerView,
    /// Of every check that ever looked, also of those that are gone.
    checks: Vec<CheckState>,
}

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// No case is open, no drain of ours outlives its case, every source can be read, somebody looks and can write down what
    /// he sees, and the policy can be used.
    well: bool,
    health_check: HealthCheckView,
    /// Why nothing can be written down now.
    unwritable: Option<&'a str>,
    cases: &'a [Case],
    /// Open cases for which this node is drained by us.
    drained: Vec<&'a CaseId>,
    /// Drains that are wanted and held, but for those that the mode holds.
    held: &'a [HeldView<'a>],
    /// Open cases whose check looks no more.
    gone_checks: &'a [GoneView<'a>],
    /// What people have put on hold.
    holds: Vec<HoldView<'a>>,
    /// Cases that are closed while our drain for them still stands.
    out: &'a [OutView<'a>],
    sources: &'a [SourceView<'a>],
    /// State checks that find something bad, or are blind.
    checks: &'a [CheckView<'a>],
    pending: Vec<ActionView<'a>>,
    jobs: Vec<JobView<'a>>,
    policy: PolicyView,
    ledger: &'a LedgerView,
    trouble: Vec<TroubleView<'a>>,
}

pub(crate) fn run(common: &Common) -> CmdResult {
    let site = Site::find(common)?;
    let read = read(&site)?;
    let health_check = HealthCheckView::new(&read.sources, site.now);
    let sources = read.sources.iter().filter(|row| !view::is_health_check(row));
    let sources: Vec<SourceView<'_>> = sources.map(SourceView::from).collect();
    let gone = GoneView::all(&read.cases, &site.config.checks, &read.checks);
    let current = view::current_checks(read.checks.clone());
    let mut checks = CheckView::all(&site.config.checks, &current);
    checks.retain(CheckView::wants_attention);
    let out = OutView::all(&read.out, &read.returns);
    let policy = PolicyView::load(&site);
    let stopped = stopped(&site);
    let drained: Vec<&CaseId> =
        read.out.iter().map(|out| &out.case).filter(|case| case.is_open()).map(|case| &case.id).collect();
    let undrained = read.cases.iter().filter(|case| !case.synthetic && !drained.contains(&&case.id));
    let held: Vec<HeldView<'_>> =
        undrained.filter_map(|case| HeldView::of(case, &read.wanted, &policy.brake)).collect();
    let document = Document {
        v: view::VERSION,
        node: &site.node,
        at: site.now,
        well: read.cases.is_empty()
            && out.is_empty()
            && !health_check.overdue
            && stopped.is_none()
            && policy.error.is_none()
            && !sources.iter().any(SourceView::is_blind)
            && checks.is_empty(),
        health_check,
        unwritable: stopped.as_ref().map(|stopped| stopped.why.as_str()),
        cases: &read.cases,
        drained,
        held: &held,
        gone_checks: &gone,
        holds: read.holds.iter().map(HoldView::from).collect(),
        out: &out,
        sources: &sources,
        checks: &checks,
        pending: read.pending.iter().map(ActionView::from).collect(),
        jobs: read.on_node.iter().map(|span| JobView::new(span, &[])).collect(),
        policy,
        ledger: &read.ledger,
        trouble: read.trouble.iter().map(TroubleView::from).collect(),
    };
    if common.json {
        render::json(&document)?;
    } else {
        render::print(page::page(&document).text())?;
    }
    Ok(if document.well { exit::OK } else { exit::FINDINGS })
}

/// A ledger that was named may be a copy, which nobody writes.
fn stopped(site: &Site) -> Option<room::Stopped> {
    site.ledger.starts_with(&site.config.paths.state).then(|| room::stopped(&site.ledger)).flatten()
}

fn read(site: &Site) -> anyhow::Result<Read> {
    let ledger = site.open()?;
    let open = Filter { open_only: true, ..Filter::default() };
    let since = Some(site.now.plus_secs(-TROUBLE_S));
    let loud = Filter { since, level: Some(Level::Warning), limit: Some(TROUBLES), ..Filter::default() };
    let out = ledger.out()?;
    let mut returns = Vec::new();
    for out in out.iter().filter(|out| !out.case.is_open()) {
        let of_case = Filter { case: Some(out.case.id.clone()), ..Filter::default() };
        returns.extend(ledger.decisions(&of_case)?);
    }
    let cases = ledger.cases(&open)?;
    let mut wanted = Vec::new();
    for case in &cases {
        wanted.extend(ledger.decisions(&Filter { case: Some(case.id.clone()), ..Filter::default() })?);
    }
    Ok(Read {
        out,
        returns,
        wanted,
        cases,
        sources: view::current_sources(ledger.sources()?, &site.config),
        pending: ledger.waiting_intents(site.now)?,
        on_node: ledger.spans(&open)?,
        holds: ledger.holds(site.now)?,
        trouble: ledger.audit(&loud)?,
        ledger: LedgerView::new(&ledger, &site.config.ledger)?,
        checks: ledger.checks()?,
    })
}
