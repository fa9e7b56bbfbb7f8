//! The state checks' part of a pass: which areas to look at, looking, and what the checks are told besides.
use std::time::Duration;

use triage_core::JobSpan;
use triage_core::baseline::Learned;
use triage_core::checks::{self, Checking, Expect, SITE, SITE_CODE};
use triage_core::facts::NodeFacts;
use triage_core::pipeline::Trigger;
use triage_host::facts::Collect;
use triage_host::facts::space::Asking;
use triage_host::site_checks::SiteChecks;
use triage_host::slurm::conf::applies_to;
use triage_ledger::{Ledger, Loaded};

use crate::ctx::Ctx;
use crate::look::Look;

/// Kept back for what follows in the same pass: judging, recording, acting.
const AFTER: Duration = Duration::from_secs(5);

/// What was looked at, for the checks of this pass.
#[derive(Debug, Default)]
pub struct Looked {
    /// Somebody looked.
    pub made: bool,
    /// What was read.
    pub facts: NodeFacts,
    /// What an earlier health check read.
    pub before: Option<NodeFacts>,
    /// What this node should have.
    pub expect: Expect,
    /// What it had when it was admitted.
    pub baseline: Option<Learned>,
}

/// Looks at the areas this pass's checks ask for; with none, what the site says of the checks still holds their cases. A
/// prolog reads a file or two and forks nothing.
pub(crate) fn look(
    ctx: &Ctx<'_>,
    ledger: &Ledger,
    (trigger, span): (Trigger, Option<&JobSpan>),
    loaded: &Loaded,
    look: &Look,
) -> Looked {
    if look.drill {
        return Looked::default();
    }
    let areas = checks::areas(&ctx.config.checks, trigger);
    let (before, baseline) =
        if trigger == Trigger::Prolog { (None, None) } else { (before(ledger), baseline(ledger)) };
    let expect = ctx.config.expect.on_node(|list| applies_to(list, &ctx.node));
    let uids = checks::leftover_users(span, &loaded.spans, before.as_ref(), &loaded.checks);
    let reading = look.reading.as_ref().map(|reading| &reading.reading);
    let gpu_pids: Vec<u32> = reading
        .into_iter()
        .flat_map(|reading| &reading.gpus)
        .flat_map(|gpu| &gpu.processes)
        .map(|process| process.pid)
        .collect();
    let facts = Collect {
        root: &ctx.root,
        clock: ctx.clock,
        node: &ctx.node,
        boot: &ctx.boot,
        areas: &areas,
        expect: &expect,
        before: before.as_ref(),
        uids: &uids,
        gpu_pids: &gpu_pids,
        space: asking(ctx),
        site: site(ctx),
        slurm_conf: slurm_conf(ctx),
    }
    .run();
    Looked { made: true, facts, before, expect, baseline }
}

fn before(ledger: &Ledger) -> Option<NodeFacts> {
    ledger.last_facts().unwrap_or_else(|error| {
        log::warn!("{error}; the checks compare with nothing");
        None
    })
}

fn baseline(ledger: &Ledger) -> Option<Learned> {
    ledger.baseline().unwrap_or_else(|error| {
        log::warn!("{error}; the node is compared with no baseline");
        None
    })
}

/// The checks' part of the pass's input.
pub(crate) fn checking<'a>(ctx: &'a Ctx<'_>, looked: &'a Looked, loaded: &'a Loaded) -> Checking<'a> {
    Checking {
        made: looked.made,
        facts: &looked.facts,
        before: looked.before.as_ref(),
        expect: &looked.expect,
        baseline: looked.baseline.as_ref().map(|learned| &learned.baseline),
        settings: &ctx.config.checks,
        last: &loaded.checks,
    }
}

fn asking<'a>(ctx: &'a Ctx<'_>) -> Asking<'a> {
    Asking {
        runner: ctx.runner,
        root: &ctx.root,
        program: ctx.config.paths.libexec.join("triage-probe"),
        deadline: ctx.config.deadlines.mount.min(left(ctx)),
        notes: ctx.config.paths.run.join("hung-mounts"),
    }
}

fn site<'a>(ctx: &'a Ctx<'_>) -> SiteChecks<'a> {
    SiteChecks {
        runner: ctx.runner,
        clock: ctx.clock,
        folder: ctx.config.paths.checks.clone(),
        node: &ctx.node,
        enabled: Box::new(|name| ctx.config.checks.named(&format!("{SITE_CODE}{name}"), &SITE).enabled),
        each: ctx.config.deadlines.site_check,
        total: ctx.config.deadlines.site_checks.min(left(ctx)),
    }
}

fn left(ctx: &Ctx<'_>) -> Duration {
    ctx.deadline.left(ctx.clock).saturating_sub(AFTER)
}

/// slurmd names the file to its hooks, unless it is the one that was compiled in.
fn slurm_conf(ctx: &Ctx<'_>) -> Option<std::path::PathBuf> {
    ctx.config.slurm.conf.clone().or_else(|| std::env::var_os("SLURM_CONF").map(Into::into))
}
