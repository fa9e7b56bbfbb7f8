//! Questions to the controller, asked only when a pass has something to decide about.
use std::path::PathBuf;
use std::time::Duration;

use triage_core::fleet::Fleet;
use triage_core::joblog::OutputReport;
use triage_core::pipeline::{Asked, Input, Running};
use triage_core::progress::Progress;
use triage_core::{JobRecord, JobSpan, NodeName, NodeRecord, PeerEvidence, peer};
use triage_host::clock::Deadline;
use triage_host::executor::{Executor, Site};
use triage_host::slurm::topology::{self, Place};
use triage_host::slurm::{Scontrol, ScontrolError};
use triage_ledger::{Ledger, Load};

use crate::ctx::Ctx;

/// How long the batch host waits for the word of the other nodes of a failed job. Their epilogs run at the same time
/// and publish within a second; a node that is slower is read by nobody, and drains itself all the same.
const PEER_GRACE: Duration = Duration::from_millis(2_500);

/// Kept back from the pass's deadline, so that what was found is still recorded.
const RESERVE: Duration = Duration::from_millis(1_500);

/// What one call may take of what the pass has left. At least half of it: a prolog has two seconds in all, and a controller
/// that takes half a second would else cost the node the reason that our drain gives it before Slurm's own.
fn share(left: Duration) -> Duration {
    left.saturating_sub(RESERVE).max(left / 2).max(Duration::from_millis(100))
}

/// scontrol, with no more time than the pass has left.
pub(crate) fn scontrol<'a>(ctx: &Ctx<'a>) -> Scontrol<'a> {
    let left = share(ctx.deadline.left(ctx.clock));
    let conf = ctx.config.slurm.conf.as_ref().map(|path| path.display().to_string());
    Scontrol {
        runner: ctx.runner,
        program: ctx.config.slurm.scontrol.clone(),
        conf: conf.or_else(|| std::env::var("SLURM_CONF").ok()),
        deadline: ctx.config.slurm.command_deadline.min(left),
    }
}

pub(crate) fn executor<'a>(ctx: &'a Ctx<'_>) -> Executor<'a> {
    let output = crate::output::reader(ctx);
    let site = Site { brakes: &ctx.policy.brake, topology: topology(ctx) };
    Executor { scontrol: scontrol(ctx), clock: ctx.clock, output: Some(output), site: Some(site) }
}

/// This node as Slurm has it.
pub(crate) fn node(ctx: &Ctx<'_>) -> Asked<NodeRecord> {
    answer(ctx, |scontrol| scontrol.node(&ctx.node))
}

/// Between two nodes of one job that are about to be taken out, and at most: each looks at the others first, and may then
/// find that there are enough.
const STAGGER: Duration = Duration::from_millis(25);
const LONGEST_STAGGER: Duration = Duration::from_millis(1_000);

/// Every node as Slurm has it. Nodes of one job ask one after the other.
pub(crate) fn fleet(ctx: &Ctx<'_>, input: &Input<'_>) -> Asked<Fleet> {
    let place = input.span.iter().find_map(|span| span.nodes.iter().position(|node| *node == ctx.node));
    let wait = STAGGER.saturating_mul(place.and_then(|place| u32::try_from(place).ok()).unwrap_or(0));
    ctx.clock.sleep(wait.min(LONGEST_STAGGER).min(ctx.deadline.left(ctx.clock) / 4));
    if let Some(few) = first_of_the_run(ctx, input, place) {
        return few;
    }
    let place = topology(ctx).map_or(Place::Nowhere, |path| topology::place_of(&path, &ctx.node));
    let (switch, no_switch) = match place {
        Place::Below(switch) => (Some(switch), None),
        Place::Nowhere => (None, None),
        Place::Unknown(why) => {
            log::warn!("{why}; no brake counts by switch until it is mended");
            (None, Some(why))
        }
    };
    match answer(ctx, |scontrol| scontrol.every_node()) {
        Asked::Answer(nodes) => Asked::Answer(Fleet { nodes, few: false, switch, no_switch }),
        Asked::NoAnswer(why) => Asked::NoAnswer(why),
        Asked::NotAsked => Asked::NotAsked,
    }
}

/// Nodes of a run that read every node's record straight away. Those behind them look at these first: where a whole job's
/// nodes break at once, a thousand of them would read a thousand records each.
const FIRST: usize = 16;

/// The first nodes of the run, where those that are out among them leave no room for this one.
fn first_of_the_run(ctx: &Ctx<'_>, input: &Input<'_>, place: Option<usize>) -> Option<Asked<Fleet>> {
    place.filter(|place| *place >= FIRST)?;
    let span = input.span.as_ref()?;
    let first = span.nodes.get(..FIRST)?;
    let Asked::Answer(nodes) = answer(ctx, |scontrol| scontrol.nodes(first)) else { return None };
    let few = Fleet { nodes, few: true, ..Fleet::default() };
    let limits = triage_core::fleet::limits(&input.policy.brake, &few, &ctx.node, input.now, [span]);
    triage_core::fleet::held(&limits, &few.nodes, &ctx.node)?;
    Some(Asked::Answer(few))
}

/// The file of the topology: as configured, else beside slurm.conf.
fn topology(ctx: &Ctx<'_>) -> Option<PathBuf> {
    if let Some(path) = &ctx.config.slurm.topology {
        return Some(path.clone());
    }
    let conf = scontrol(ctx).conf.map_or_else(|| PathBuf::from("/etc/slurm/slurm.conf"), PathBuf::from);
    topology::beside(&conf)
}

/// The job as Slurm has it.
pub(crate) fn job(ctx: &Ctx<'_>, span: &JobSpan) -> Asked<JobRecord> {
    answer(ctx, |scontrol| scontrol.job_of(&span.run))
}

/// What the run printed, where Slurm says that it went.
pub(crate) fn output(ctx: &Ctx<'_>, span: &JobSpan, input: &Input<'_>) -> Asked<OutputReport> {
    match input.job.get() {
        Some(record) => Asked::Answer(crate::output::read(ctx, record, span)),
        None => Asked::NoAnswer("where it is was not to be learnt: the job's record was not read".to_owned()),
    }
}

/// Most jobs asked about that run on this node.
const MOST_RUNNING: usize = 8;

/// The jobs that run on this node and whose batch host it is.
pub(crate) fn running(ctx: &Ctx<'_>, ledger: &Ledger, input: &Input<'_>) -> Vec<Running> {
    let here = |span: &&JobSpan| span.end.is_none() && span.is_batch_host();
    let one = |span: &JobSpan| {
        let load = Load { spans_since: ctx.now(), run: Some(&span.run) };
        let known = ledger.load(&load).ok();
        let mut span = span.clone();
        // A job's own wish is told by its tasks alone; the strictest holds.
        let asked = known.iter().flat_map(|known| &known.tasks).map(|(_, edge)| edge.ask).min();
        span.ask = asked.unwrap_or(span.ask);
        let memory = ledger.memory(Some(&span.run));
        Running {
            job: job(ctx, &span),
            memory: memory.map_or_else(|error| Asked::NoAnswer(error.to_string()), Asked::Answer),
            decided: known.map(|known| known.decided).unwrap_or_default(),
            span,
        }
    };
    input.spans.iter().filter(here).take(MOST_RUNNING).map(one).collect()
}

/// How far the run got, by the end of what it printed.
pub(crate) fn progress(ctx: &Ctx<'_>, span: &JobSpan, input: &Input<'_>) -> Asked<Progress> {
    match input.job.get() {
        Some(record) => Asked::Answer(crate::output::read_end(ctx, record, span).progress),
        None => Asked::NoAnswer("where it is was not to be learnt: the job's record was not read".to_owned()),
    }
}

/// What the other nodes of the run say: one call, after a grace for them to say it.
pub(crate) fn peers(ctx: &Ctx<'_>, span: &JobSpan) -> Asked<Vec<PeerEvidence>> {
    let grace = Deadline::after(ctx.clock, PEER_GRACE).min(ctx.deadline).left(ctx.clock);
    ctx.clock.sleep(grace);
    let others: Vec<NodeName> = span.nodes.iter().filter(|node| **node != ctx.node).cloned().collect();
    match answer(ctx, |scontrol| scontrol.nodes(&others)) {
        Asked::Answer(records) => {
            // Only the nodes asked for: a record of another name is no word about this job.
            let known = records.iter().filter(|record| others.contains(&record.node));
            Asked::Answer(known.filter_map(peer::read).collect())
        }
        Asked::NoAnswer(why) => Asked::NoAnswer(why),
        Asked::NotAsked => Asked::NotAsked,
    }
}

/// Asks, unless the controller failed to answer earlier in this pass: each try costs seconds, and a job waits.
fn answer<T>(ctx: &Ctx<'_>, ask: impl FnOnce(&Scontrol<'_>) -> Result<T, ScontrolError>) -> Asked<T> {
    if ctx.controller_is_away.get() {
        return Asked::NoAnswer("the controller did not answer a moment ago".to_owned());
    }
    match ask(&scontrol(ctx)) {
        Ok(answer) => Asked::Answer(answer),
        Err(error) => {
            log::warn!("{error}");
            ctx.controller_is_away.set(error.is_away());
            Asked::NoAnswer(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_leaves_time_for_the_record_and_has_half_of_what_is_left() {
        for (left, call) in [(10_000, 8_500), (3_000, 1_500), (1_900, 950), (50, 100)] {
            assert_eq!(share(Duration::from_millis(left)), Duration::from_millis(call), "{left} ms left");
        }
    }
}
