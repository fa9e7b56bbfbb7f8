//! `triage-prolog`: what the last passes know, and the kernel's new lines. No probe, no controller, no fork on a healthy
//! node. The only thing that keeps a job off is a confirmed open case under a policy that acts.
use std::time::Duration;

use triage_core::pipeline::{Output, Trigger};
use triage_core::{Action, JobAsk, JobSpan, RunId};
use triage_host::slurm::HookEnv;
use triage_ledger::Ledger;

use crate::ctx::Ctx;
use crate::look::Look;
use crate::pass::{self, Task};
use crate::start::Hook;
use crate::{ask, carry, open, spool};

/// The hook.
pub const HOOK: Hook =
    Hook { program: "triage-prolog", limit: |deadlines| deadlines.prolog, pass, drill: None };

/// Longest wait for another program that writes: a prolog delays its job by as much.
const WAIT: Duration = Duration::from_millis(250);

fn pass(ctx: &mut Ctx<'_>) -> u8 {
    let env = match HookEnv::from_process() {
        Ok(env) => env,
        Err(error) => {
            log::error!("{error}; nothing was done");
            return 0;
        }
    };
    spool::make_folder(ctx);
    let Some(mut ledger) = open::ledger(ctx, WAIT) else { return 0 };
    let task = Task {
        trigger: Trigger::Prolog,
        span: Some(begin(ctx, &env)),
        look: &mut |ctx, loaded| {
            let mut look = Look::default();
            look.kernel_log(ctx, loaded);
            look
        },
    };
    match pass::run(ctx, &mut ledger, task) {
        Ok(output) => refuse(ctx, &mut ledger, &output),
        Err(error) => {
            error.give_up(ledger, "the job is let in");
            0
        }
    }
}

/// The run as it begins on this node.
fn begin(ctx: &Ctx<'_>, env: &HookEnv) -> JobSpan {
    JobSpan {
        run: RunId {
            cluster: env.cluster.clone(),
            job: env.job,
            array: None,
            het: env.het,
            restart: env.restart,
            start: ctx.now(),
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
    }
}

/// The word of the node's state that says so: maintenance, a reservation. Until now nobody has asked the controller, and a refusal
/// would drain the node as surely as a drain.
fn somebody_elses(ctx: &Ctx<'_>) -> Option<String> {
    let record = ask::node(ctx);
    record.get()?.has_state_of(&ctx.policy.node.leave_alone_states).map(str::to_owned)
}

/// Slurm drains the node of a prolog that fails and keeps a reason that stands already. So our drain, which is wanted
/// for the same case, goes first: the node then says what is wrong with it instead of "Prolog error".
fn refuse(ctx: &Ctx<'_>, ledger: &mut Ledger, output: &Output) -> u8 {
    let refusal = output.actions.iter().find(|action| matches!(action, Action::RefuseJob { .. }));
    let Some(refusal) = refusal else { return 0 };
    if let Some(state) = somebody_elses(ctx) {
        log::warn!(
            "this job is let in, with an open case on the node: the node is {state} and is left alone"
        );
        return 0;
    }
    for drain in output.actions.iter().filter(|action| matches!(action, Action::Drain { .. })) {
        carry::one(ctx, ledger, drain);
    }
    carry::one(ctx, ledger, refusal);
    log::error!("this job is refused: the node has an open case, see slurm-triage why {}", ctx.node);
    1
}
