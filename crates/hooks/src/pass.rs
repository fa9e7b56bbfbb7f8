//! One pass: load, look, step, ask, record, and only then carry out.
//!
//! ```text
//! load ─► look ─► step ─► needs? ─► ask the controller ─► step again
//!   ▲                       │ none
//!   │                       ▼
//!   └── stale ─────────── record: one transaction with every row and the intent of every action
//!                           │
//!                           ▼
//!                        carry out: claim, act, settle, one intent at a time
//! ```
//!
//! A job waits for its prolog, so a prolog takes only a glance at the ledger first, and loads the rest where anything at
//! all comes of what it saw.
use triage_core::attribute::PastRun;
use triage_core::pipeline::{Asked, Input, Need, Output, Past, Trigger, step};
use triage_core::{Action, Intent, JobSpan, NodeRecord, Stamp};
use triage_ledger::{Batch, Ledger, Load, Loaded, NewIntent, Recorded};

use crate::ask;
use crate::baseline;
use crate::checks;
use crate::ctx::Ctx;
use crate::look::Look;
use crate::policy_file;
use crate::topology;

/// How long ago a run may have left the node and still be told to a pass: late kernel lines belong to it.
const LATELY_S: i64 = 3_600;

/// How often a pass is begun anew because another program wrote meanwhile. Prolog, epilog and health check of one node
/// meet; more than a few rounds means something else is wrong.
const ROUNDS: u32 = 4;

/// How often the controller's answers may lead to another question: peers, then the job.
const QUESTIONS: u32 = 5;

/// Why a pass did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The ledger refused. Without it nothing is done: the intent comes before the action.
    #[error(transparent)]
    Ledger(#[from] triage_ledger::Error),
    /// Other programs wrote each time we were about to.
    #[error("the ledger changed under us {ROUNDS} times: the pass is left to the next program")]
    Contended,
}

impl PassError {
    /// Says it, and moves a damaged ledger aside.
    pub(crate) fn give_up(&self, ledger: Ledger, consequence: &str) {
        log::error!("{self}; {consequence}");
        if let Self::Ledger(error) = self {
            crate::open::set_aside_if_damaged(ledger, error);
        }
    }
}

/// What a pass is for.
pub struct Task<'t> {
    /// The program.
    pub trigger: Trigger,
    /// The run, for prolog and epilog.
    pub span: Option<JobSpan>,
    /// Looks at the sources; called once, with what the ledger knows of them.
    pub look: &'t mut dyn FnMut(&Ctx<'_>, &Loaded) -> Look,
}

/// Runs the pass up to the record. The actions are in the ledger as intents then, and none is carried out yet.
///
/// # Errors
/// When the ledger refuses.
pub fn run(ctx: &mut Ctx<'_>, ledger: &mut Ledger, task: Task<'_>) -> Result<Output, PassError> {
    let Task { trigger, span, look } = task;
    let mut looked: Option<Look> = None;
    for _ in 0..ROUNDS {
        let now = ctx.now();
        let load = Load { spans_since: now.plus_secs(-LATELY_S), run: span.as_ref().map(|span| &span.run) };
        let glance = trigger == Trigger::Prolog;
        let mut loaded = if glance {
            ledger.glance(&ctx.config.checks.consulted(trigger))?
        } else {
            ledger.load(&load)?
        };
        let look = looked.get_or_insert_with(|| {
            let mut look = look(ctx, &loaded);
            look.name_lost(ctx, &loaded);
            look.history = history(ledger, trigger, span.as_ref());
            look.checks = Some(checks::look(ctx, ledger, (trigger, span.as_ref()), &loaded, &look));
            look
        });
        let (mut output, mut seen) = decide(ctx, ledger, (trigger, span.clone()), &loaded, look);
        if glance && !(loaded.cases.is_empty() && output.is_uneventful()) {
            loaded = ledger.load(&load)?;
            (output, seen) = decide(ctx, ledger, (trigger, span.clone()), &loaded, look);
        }
        match record(ctx, ledger, (trigger, span.as_ref()), &loaded, look, (&output, seen.as_ref()))? {
            Recorded::Committed { .. } => {
                ctx.notes.clear();
                return Ok(output);
            }
            Recorded::Stale => {}
        }
    }
    Err(PassError::Contended)
}

/// What comes of it, and the node as Slurm has it, where the pass had to ask.
fn decide(
    ctx: &Ctx<'_>,
    ledger: &Ledger,
    (trigger, span): (Trigger, Option<JobSpan>),
    loaded: &Loaded,
    look: &Look,
) -> (Output, Option<NodeRecord>) {
    let mut input = Input {
        now: ctx.now(),
        node: ctx.node.clone(),
        boot: ctx.boot.clone(),
        trigger,
        catalog: ctx.catalog(),
        policy: &ctx.policy,
        observations: look.observations.clone(),
        cases: loaded.cases.clone(),
        past: past(ctx, loaded, look),
        last_reading: loaded.last_reading.clone().map(|reading| (reading.boot, reading.reading)),
        spans: loaded.spans.clone(),
        span,
        tasks: loaded.tasks.clone(),
        run_events: loaded.run_events.clone(),
        kernel_read: look.kernel_read,
        history: look.history.clone(),
        output: Asked::NotAsked,
        progress: Asked::NotAsked,
        running: Asked::NotAsked,
        decided: loaded.decided.clone(),
        holds: loaded.holds.clone(),
        out: loaded.out.clone(),
        returns: loaded.returns.clone(),
        peers: Asked::NotAsked,
        job: Asked::NotAsked,
        memory: Asked::NotAsked,
        fleet: Asked::NotAsked,
        node_record: Asked::NotAsked,
        checks: look.checks.as_ref().map(|looked| checks::checking(ctx, looked, loaded)),
    };
    let mut output = step(&input);
    for _ in 0..QUESTIONS {
        if output.needs.is_empty() {
            break;
        }
        for need in &output.needs {
            answer(ctx, ledger, &mut input, *need);
        }
        output = step(&input);
    }
    let seen = input.node_record.get().cloned();
    (output, seen)
}

/// What the ledger remembers of earlier runs, for a run that failed. Without it the verdict rests on less, and stands.
fn history(ledger: &Ledger, trigger: Trigger, span: Option<&JobSpan>) -> Vec<PastRun> {
    let failed = |span: &&JobSpan| span.exit.is_some_and(|exit| !exit.is_success()) && span.is_batch_host();
    let Some(span) = span.filter(|_| trigger == Trigger::Epilog).filter(failed) else { return Vec::new() };
    ledger.history(&span.run).unwrap_or_else(|error| {
        log::warn!("{error}; the run is judged without what the ledger remembers");
        Vec::new()
    })
}

/// From the clock: `/proc/stat`, which also tells it, takes the kernel milliseconds to write on a machine of many CPUs.
fn booted(ctx: &Ctx<'_>) -> Option<Stamp> {
    let up = i64::try_from(ctx.clock.monotonic().as_micros()).ok()?;
    Some(ctx.now().plus_micros(-up))
}

fn past(ctx: &Ctx<'_>, loaded: &Loaded, look: &Look) -> Past {
    Past {
        since: loaded.since,
        booted: booted(ctx),
        engines: loaded.rates.clone(),
        closed: loaded.closed.clone(),
        thresholds: ctx.config.rates.clone(),
        endpoints: topology::endpoints(&ctx.root, look),
    }
}

fn answer(ctx: &Ctx<'_>, ledger: &Ledger, input: &mut Input<'_>, need: Need) {
    match (need, &input.span) {
        (Need::Node, _) => input.node_record = ask::node(ctx),
        (Need::Fleet, _) => input.fleet = ask::fleet(ctx, input),
        (Need::Memory, span) => {
            let run = span.as_ref().map(|span| &span.run);
            input.memory = match ledger.memory(run) {
                Ok(memory) => Asked::Answer(memory),
                Err(error) => Asked::NoAnswer(error.to_string()),
            };
        }
        (Need::Running, _) => input.running = Asked::Answer(ask::running(ctx, ledger, input)),
        (Need::Job, Some(span)) => input.job = ask::job(ctx, span),
        (Need::Peers, Some(span)) => input.peers = ask::peers(ctx, span),
        (Need::Output, Some(span)) => input.output = ask::output(ctx, span, input),
        (Need::Progress, Some(span)) => input.progress = ask::progress(ctx, span, input),
        (Need::Progress, None) => input.progress = Asked::NoAnswer("no job in this pass".to_owned()),
        (Need::Output, None) => input.output = Asked::NoAnswer("no job in this pass".to_owned()),
        (Need::Job, None) => input.job = Asked::NoAnswer("no job in this pass".to_owned()),
        (Need::Peers, None) => input.peers = Asked::NoAnswer("no job in this pass".to_owned()),
    }
}

fn record(
    ctx: &Ctx<'_>,
    ledger: &mut Ledger,
    (trigger, span): (Trigger, Option<&JobSpan>),
    loaded: &Loaded,
    look: &Look,
    (output, seen): (&Output, Option<&NodeRecord>),
) -> Result<Recorded, PassError> {
    let now = ctx.now();
    let policy = policy_file::digest(&ctx.policy);
    let synthetic = |action: &Action| {
        output.decisions.iter().any(|decision| decision.id == *action.decision() && decision.synthetic)
    };
    let intents: Vec<NewIntent> = output
        .actions
        .iter()
        .map(|action| NewIntent {
            action: action.clone(),
            expires: expiry(action, now),
            synthetic: synthetic(action),
        })
        .collect();
    let spans: &[JobSpan] = span.map_or(&[], std::slice::from_ref);
    let learned = baseline::learned(trigger, loaded, look, output);
    let batch = Batch {
        baseline: learned.as_ref(),
        based_on: Some(loaded.generation),
        observations: &look.observations,
        events: &output.events,
        repeats: Some(&output.repeats),
        cases: &output.cases,
        rates: &output.engines,
        verdicts: &output.verdicts,
        decisions: &output.decisions,
        intents: &intents,
        spans,
        cursors: &look.cursors,
        sources: &look.sources,
        reading: look.reading.as_ref(),
        checks: &output.checks,
        facts: look
            .checks
            .as_ref()
            .filter(|looked| looked.made && trigger == Trigger::HealthCheck)
            .map(|looked| &looked.facts),
        node_record: seen,
        policy: Some(&policy),
        audit: &ctx.notes,
        ..Batch::new(now, &ctx.node, &ctx.boot, ctx.program)
    };
    for decision in output.decisions.iter().filter(|decision| decision.intent != Intent::Note) {
        log::info!("{} for {}: {} ({})", decision.intent, decision.subject, decision.why, held(decision));
    }
    Ok(ledger.record(&batch)?)
}

fn held(decision: &triage_core::Decision) -> String {
    decision
        .held_by()
        .map_or_else(|| "wanted".to_owned(), |gate| format!("held by {}: {}", gate.name, gate.why))
}

/// After which an action makes no sense any more. A drain is wanted as long as its case is open, and wanted again by
/// every pass; a finished job leaves slurmctld's memory after MinJobAge, by default 300 s.
fn expiry(action: &Action, now: Stamp) -> Stamp {
    now.plus_secs(match action {
        Action::Drain { .. }
        | Action::ConfirmDrain { .. }
        | Action::Resume { .. }
        | Action::Reboot { .. } => 3_600,
        Action::Reset { .. } | Action::Verify { .. } => 7_200,
        // Ended jobs do not come back: what is late is decided anew.
        Action::Publish { .. } | Action::Down { .. } => 600,
        Action::Requeue { .. } | Action::KillSteps { .. } => 300,
        Action::ClearBeginTime { .. } | Action::Explain { .. } | Action::LastLine { .. } => 900,
        Action::RefuseJob { .. } => 60,
    })
}
