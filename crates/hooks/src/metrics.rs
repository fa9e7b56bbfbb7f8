//! The figures of a health check for a monitoring system: made from the ledger once the pass has done its work, so that whatever
//! is wrong with them or with their file holds up nothing. Drills are left out, as from every count.
use std::collections::BTreeMap;
use std::time::Duration;

use triage_core::checks::{CheckState, CheckWord};
use triage_core::{Case, Decision, Intent, Stamp};
use triage_host::metrics::{Exposition, write};
use triage_ledger::{Filter, IntentRow, Ledger, SourceRow};

use crate::ctx::Ctx;
use crate::look;

/// How far back what is counted goes, seconds. Counts that only grow would need a memory of what retention pruned.
const DAY_S: i64 = 86_400;

/// Most decisions and actions that are looked through: of a day with more, the newest.
const MOST: u32 = 2_000;

/// Writes the file, where the site wants one. What fails is a warning and nothing else. `ledger`: `None` where the pass had none,
/// or could not end with it: the file says so, and of the node nothing.
pub(crate) fn leave(ctx: &Ctx<'_>, ledger: Option<&Ledger>, begun: Duration) {
    let Some(path) = ctx.config.metrics.textfile.as_deref() else { return };
    let told = ledger.and_then(|ledger| {
        let gathered = Gathered::from(ledger, ctx);
        gathered.map_err(|error| log::warn!("{error}; the metrics file says nothing of the node")).ok()
    });
    let mut all = Exposition::default();
    if let Some(told) = &told {
        told.tell(&mut all);
    }
    let took = ctx.clock.monotonic().saturating_sub(begun);
    of_the_pass(ctx, told.is_some(), took, &mut all);
    if let Err(error) = write(path, all.text()) {
        log::warn!("{error}");
    }
}

fn of_the_pass(ctx: &Ctx<'_>, up: bool, took: Duration, all: &mut Exposition) {
    let version = [([env!("CARGO_PKG_VERSION").to_owned()], 1.0)];
    all.gauge("slurm_triage_build_info", "Version of slurm-triage.", ["version"], version);
    all.value(
        "slurm_triage_up",
        "1 when the last health check came to its end with its ledger; with 0 nothing is known of the node.",
        f64::from(u8::from(up)),
    );
    all.value("slurm_triage_pass_timestamp_seconds", "When the last health check ended.", seconds(ctx.now()));
    all.value("slurm_triage_pass_seconds", "Wall time of the last health check.", took.as_secs_f64());
    let act = |intent: Intent| f64::from(u8::from(ctx.policy.mode.of(intent) == triage_core::Mode::Act));
    let modes = [Intent::Drain, Intent::Requeue, Intent::RefuseJob, Intent::Down];
    all.gauge(
        "slurm_triage_acts",
        "1 where the policy lets an action be carried out, 0 in monitor mode.",
        ["action"],
        modes.map(|intent| ([intent.to_string()], act(intent))),
    );
    all.value(
        "slurm_triage_samples_left_out",
        "Samples left out of this file because there were too many of one name.",
        float(all.left_out()),
    );
}

/// What the ledger knows.
struct Gathered {
    cases: Vec<Case>,
    checks: Vec<CheckState>,
    sources: Vec<SourceRow>,
    drained: usize,
    holds: usize,
    events: Vec<(String, u64)>,
    decisions: Vec<Decision>,
    actions: Vec<IntentRow>,
}

impl Gathered {
    fn from(ledger: &Ledger, ctx: &Ctx<'_>) -> triage_ledger::Result<Self> {
        let now = ctx.now();
        let since = now.plus_secs(-DAY_S);
        let real = Filter { synthetic: Some(false), ..Filter::default() };
        let filter = Filter { since: Some(since), limit: Some(MOST), ..real.clone() };
        Ok(Self {
            cases: ledger.cases_without_evidence(&Filter { open_only: true, ..real })?,
            checks: ledger.checks()?,
            sources: ledger
                .sources()?
                .into_iter()
                .filter(|row| look::is_of(&ctx.config, row.source, &row.stream))
                .collect(),
            drained: ledger.out()?.iter().filter(|out| !out.case.synthetic).count(),
            holds: ledger.holds(now)?.len(),
            events: ledger.event_counts(since)?,
            decisions: ledger.decisions(&filter)?,
            actions: ledger.actions(&filter)?,
        })
    }

    fn tell(&self, all: &mut Exposition) {
        cases(&self.cases, all);
        checks(&self.checks, all);
        sources(&self.sources, all);
        all.gauge(
            "slurm_triage_events_last_day",
            "Events of the last 24 hours, by code.",
            ["code"],
            self.events.iter().map(|(code, count)| ([code.clone()], float(*count))),
        );
        self.decided(all);
        all.value(
            "slurm_triage_cases_drained",
            "Cases for which this node was taken out by slurm-triage and is not known to be back.",
            float(self.drained as u64),
        );
        all.value(
            "slurm_triage_holds",
            "Holds that people have placed and that stand.",
            float(self.holds as u64),
        );
    }

    fn decided(&self, all: &mut Exposition) {
        let mut decisions: BTreeMap<[String; 2], u64> = BTreeMap::new();
        for decision in &self.decisions {
            let gate = decision.held_by().map(|gate| gate.name.clone()).unwrap_or_default();
            *decisions.entry([decision.intent.to_string(), gate]).or_default() += 1;
        }
        all.gauge(
            "slurm_triage_decisions_last_day",
            "Decisions of the last 24 hours, by what was wanted and the gate that held it; no gate: nothing held it.",
            ["intent", "held_by"],
            decisions.into_iter().map(|(labels, count)| (labels, float(count))),
        );
        let mut actions: BTreeMap<[String; 2], u64> = BTreeMap::new();
        for row in &self.actions {
            *actions.entry([row.action.kind().to_string(), row.state.to_string()]).or_default() += 1;
        }
        all.gauge(
            "slurm_triage_actions_last_day",
            "Actions of the last 24 hours, by kind and what became of them.",
            ["action", "state"],
            actions.into_iter().map(|(labels, count)| (labels, float(count))),
        );
    }
}

fn cases(cases: &[Case], all: &mut Exposition) {
    let mut open: BTreeMap<[String; 2], u64> = BTreeMap::new();
    for case in cases {
        *open.entry([case.class.to_string(), case.code.to_string()]).or_default() += 1;
    }
    all.value("slurm_triage_cases_open_total", "Open cases.", float(open.values().sum()));
    all.gauge(
        "slurm_triage_cases_open",
        "Open cases by kind of cause and code.",
        ["class", "code"],
        open.into_iter().map(|(labels, count)| (labels, float(count))),
    );
}

fn checks(checks: &[CheckState], all: &mut Exposition) {
    let mut counts = BTreeMap::from([CheckWord::Ok, CheckWord::Bad, CheckWord::Blind].map(|word| (word, 0)));
    for check in checks.iter().filter(|check| check.state != CheckWord::Disabled) {
        *counts.entry(check.state).or_default() += 1;
    }
    all.gauge(
        "slurm_triage_checks",
        "State checks by result.",
        ["state"],
        counts.into_iter().map(|(word, count)| ([word.to_string()], float(count))),
    );
    // Those that are well are not named one by one: some sixty samples that say nothing, on every node.
    let unwell = || checks.iter().filter(|check| matches!(check.state, CheckWord::Bad | CheckWord::Blind));
    all.gauge(
        "slurm_triage_check_unwell",
        "State checks that found something bad, or could not look (blind).",
        ["check", "state"],
        unwell().map(|check| ([check.name.clone(), check.state.to_string()], 1.0)),
    );
    all.gauge(
        "slurm_triage_check_unwell_since_timestamp_seconds",
        "Since when a state check stands so.",
        ["check", "state"],
        unwell().map(|check| ([check.name.clone(), check.state.to_string()], seconds(check.since))),
    );
}

fn sources(sources: &[SourceRow], all: &mut Exposition) {
    let name = |row: &SourceRow| [row.source.to_string(), row.stream.clone()];
    all.gauge(
        "slurm_triage_source_blind",
        "1 while a source cannot be read: what it would have said is not known.",
        ["source", "stream"],
        sources.iter().map(|row| (name(row), f64::from(u8::from(row.blind_since.is_some())))),
    );
    all.gauge(
        "slurm_triage_source_blind_since_timestamp_seconds",
        "Since when a source cannot be read.",
        ["source", "stream"],
        sources.iter().filter_map(|row| Some((name(row), seconds(row.blind_since?)))),
    );
    all.gauge(
        "slurm_triage_source_seconds",
        "Wall time of the last look at a source.",
        ["source", "stream"],
        sources.iter().map(|row| (name(row), float(row.cost_us) / 1e6)),
    );
}

/// Exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts and microseconds far below 2^53")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 are exact until the year 2255")]
fn seconds(at: Stamp) -> f64 {
    at.micros() as f64 / 1e6
}
