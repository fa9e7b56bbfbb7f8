//! `triage-epilog`: closes the job's span, reads what is left, judges, and on the batch host decides about the job.
use std::time::Duration;

use triage_core::pipeline::Trigger;
use triage_core::{JobAsk, JobSpan, RunId};
use triage_host::slurm::HookEnv;
use triage_ledger::{Ledger, Load};

use crate::carry::{self, Take};
use crate::ctx::Ctx;
use crate::look::Look;
use crate::pass::{self, Task};
use crate::start::Hook;
use crate::{finish, open, spool};

/// The hook.
pub const HOOK: Hook = Hook { program: "triage-epilog", limit: |deadlines| deadlines.epilog, pass };

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
    let failed = span.exit.is_some_and(|exit| !exit.is_success());
    let task = Task {
        trigger: Trigger::Epilog,
        span: Some(span),
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

/// The run as it ends on this node: the span the prolog opened, or one made up from what Slurm says where the prolog
/// never ran here (a node of a job that no step used) or could not write.
fn end(ctx: &Ctx<'_>, ledger: &Ledger, env: &HookEnv) -> JobSpan {
    let open = ledger.open_span(&env.cluster, env.job, env.restart).unwrap_or_else(|error| {
        log::error!("{error}");
        None
    });
    let now = ctx.now();
    let mut span = open.unwrap_or_else(|| JobSpan {
        run: RunId {
            cluster: env.cluster.clone(),
            job: env.job,
            array: None,
            het: env.het,
            restart: env.restart,
            start: env.start.unwrap_or(now),
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
    });
    span.end = Some(now);
    span.exit = env.exit;
    from_tasks(ctx, ledger, &mut span);
    span
}

/// What only the task records tell: the job's place in an array, and its own wish. A step may have a wish of its own;
/// the strictest of all holds, since a wish can only lower what is allowed.
fn from_tasks(ctx: &Ctx<'_>, ledger: &Ledger, span: &mut JobSpan) {
    let load = Load { spans_since: ctx.now(), run: Some(&span.run) };
    let Ok(loaded) = ledger.load(&load) else { return };
    span.run.array = loaded.tasks.iter().find_map(|(_, edge)| edge.array).or(span.run.array);
    span.ask = loaded.tasks.iter().map(|(_, edge)| edge.ask).min().unwrap_or(span.ask);
}
