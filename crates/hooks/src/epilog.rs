//! `triage-epilog`: closes the job's span, reads what is left, judges, and on the batch host decides about the job.
use std::time::Duration;

use triage_core::pipeline::Trigger;
use triage_core::{Action, JobAsk, JobSpan, RunId, Stamp};
use triage_host::slurm::HookEnv;
use triage_ledger::{Filter, IntentRow, IntentState, Ledger, Load};

use crate::carry::{self, Take};
use crate::ctx::Ctx;
use crate::look::Look;
use crate::pass::{self, Task};
use crate::start::Hook;
use crate::{finish, open, spool};

/// The hook.
pub const HOOK: Hook =
    Hook { program: "triage-epilog", limit: |deadlines| deadlines.epilog, pass, drill: None };

/// Longest wait for another program that writes.
const WAIT: Duration = Duration::from_millis(1_000);

fn pass(ctx: &mut Ctx<'_>) -> u8 {
    let env = match HookEnv::from_process() {
        Ok(env) => env,
        Err(error) => {
            log::error!("{error}; nothing was done");
            return 0;
        }
    };
    let Some(mut ledger) = open::ledger(ctx, WAIT) else { return 0 };
    spool::import(ctx, &mut ledger, Some(env.job));
    let span = end(ctx, &ledger, &env);
    let failed = span.as_ref().and_then(|span| span.exit).is_some_and(|exit| !exit.is_success());
    let task = Task {
        trigger: Trigger::Epilog,
        span,
        look: &mut |ctx, loaded| {
            let mut look = Look::default();
            look.kernel_log(ctx, loaded);
            // A job that went well has shown that its GPUs work; the sweep can wait for the health check. So it can
            // where enough is known: a lost GPU often takes NVML with it, and the batch host waits only
            // a moment for the word of its peers.
            if failed && !look.condemns(ctx, loaded) {
                look.probe(ctx);
            }
            look
        },
    };
    match pass::run(ctx, &mut ledger, task) {
        Ok(output) => {
            carry::out(ctx, &mut ledger, &output, Take::AtOnce);
            // The last step of a requeue has to wait for our own end.
            finish::later(ctx, &output);
            open::tidy(&ledger);
        }
        Err(error) => error.give_up(ledger, "node and job are left alone"),
    }
    0
}

/// What Slurm calls a run that was put back into the queue.
const REQUEUED: &str = "REQUEUED";

/// The run as it ends on this node: the span the prolog opened, or one made up from what Slurm says where the prolog could
/// not write. `None` when nothing of the job was here.
fn end(ctx: &Ctx<'_>, ledger: &Ledger, env: &HookEnv) -> Option<JobSpan> {
    let open = ledger.open_span(&env.cluster, env.job, env.restart).unwrap_or_else(|error| {
        log::error!("{error}");
        None
    });
    let was_opened = open.is_some();
    let now = ctx.now();
    let mut span = match open {
        Some(open) => open,
        None => made_up(ctx, ledger, env, now)?,
    };
    let ran = from_tasks(ctx, ledger, &mut span) || was_opened;
    // Slurm counts a run that it puts back into the queue before it lets go of its nodes, and has no exit code of it then.
    let requeued = span.run.restart < env.restart;
    if requeued {
        REQUEUED.clone_into(&mut span.state);
    }
    // A run that was not let end is no success, nor is one that never began.
    let may_be_success = ran && !requeued && !was_refused(ledger, &span.run);
    span.end = Some(now);
    span.exit = env.exit.filter(|exit| may_be_success || !exit.is_success());
    Some(span)
}

/// Whether our prolog refused the run.
fn was_refused(ledger: &Ledger, run: &RunId) -> bool {
    let of_run = Filter { run: Some(run.clone()), ..Filter::default() };
    let refusal =
        |row: &IntentRow| matches!(row.action, Action::RefuseJob { .. }) && row.state == IntentState::Done;
    ledger.actions(&of_run).is_ok_and(|rows| rows.iter().any(refusal))
}

/// A run that no prolog opened: the prolog could not write, or slurmd ran none, as that of 22.05 does for a run that soon
/// follows another one of the job. Slurm has every node of a job run the epilog, also one that no step of it used and where
/// no prolog ran. Whether the run went well, or never began since another node refused it, cannot be told there, so a
/// success without a task is none.
fn made_up(ctx: &Ctx<'_>, ledger: &Ledger, env: &HookEnv, now: Stamp) -> Option<JobSpan> {
    let first_task = ledger.first_task(&env.cluster, env.job).unwrap_or_else(|error| {
        log::error!("{error}");
        None
    });
    let span = JobSpan {
        run: RunId {
            cluster: env.cluster.clone(),
            job: env.job,
            array: None,
            het: env.het,
            restart: env.restart,
            start: env.start.or(first_task).unwrap_or(now),
        },
        node: ctx.node.clone(),
        boot: ctx.boot.clone(),
        uid: env.uid,
        user: env.user.clone(),
        partition: env.partition.clone(),
        nodes: env.nodes.clone(),
        gpus: env.gpus.clone(),
        ask: JobAsk::Default,
        end: None,
        exit: None,
        state: String::new(),
    };
    let failed = env.exit.is_some_and(|exit| !exit.is_success());
    (failed || first_task.is_some() || span.is_batch_host()).then_some(span)
}

/// What only the task records tell: the job's place in an array, and its own wish. A step may have a wish of its own;
/// the strictest of all holds, since a wish can only lower what is allowed. Whether there are any.
fn from_tasks(ctx: &Ctx<'_>, ledger: &Ledger, span: &mut JobSpan) -> bool {
    let load = Load { spans_since: ctx.now(), run: Some(&span.run) };
    let Ok(loaded) = ledger.load(&load) else { return false };
    span.run.array = loaded.tasks.iter().find_map(|(_, edge)| edge.array).or(span.run.array);
    span.ask = loaded.tasks.iter().map(|(_, edge)| edge.ask).min().unwrap_or(span.ask);
    !loaded.tasks.is_empty()
}
