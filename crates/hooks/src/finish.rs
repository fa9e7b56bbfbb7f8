//! What takes longer than a hook may: a process of its own carries it out, after the hook has ended. It holds nothing of
//! slurmd's, has a deadline of its own, and should it die the next health check starts another one.
use std::path::Path;
use std::time::Duration;

use triage_core::Action;
use triage_core::pipeline::Output;
use triage_core::policy::Policy;
use triage_host::clock::SystemClock;
use triage_host::proc::Root;
use triage_host::runner::{Command, SystemRunner, detach};

use crate::ctx::Ctx;
use crate::start::{self, Read};
use crate::{carry, open};

const WAIT: Duration = Duration::from_secs(5);

/// Starts a process for each action of this pass that takes long. One that is carried out already finds it claimed.
pub(crate) fn later(ctx: &Ctx<'_>, output: &Output) {
    start(ctx, output.actions.iter().filter(|action| action.takes_long()));
}

/// Starts a process for each of these actions.
pub(crate) fn start<'a>(ctx: &Ctx<'_>, actions: impl IntoIterator<Item = &'a Action>) {
    for action in actions {
        let Ok(program) = std::env::current_exe() else { return };
        let config = ctx.config_path.display().to_string();
        let mut command = Command::new(program, ctx.config.deadlines.finisher)
            .args(["--config".to_owned(), config, "--finish".to_owned(), action.key()])
            .env("SLURMD_NODENAME", ctx.node.as_str());
        if let Ok(conf) = std::env::var("SLURM_CONF") {
            command = command.env("SLURM_CONF", conf);
        }
        if let Err(error) = detach(&command) {
            log::warn!("{error}; {} is left to the next health check", action.kind());
        }
    }
}

/// Carries out the action with this key.
pub(crate) fn run(program: &'static str, path: &Path, key: &str) {
    let Read { config, usable, .. } = start::read_config(path);
    triage_host::log::init(program, &config.log);
    let Some(node) = start::node_name() else { return };
    let limit = config.deadlines.finisher;
    let made = Ctx::new(
        program,
        (path.to_owned(), &config),
        node,
        Root::default(),
        (&SystemClock, &SystemRunner),
        limit,
    );
    let Ok(mut ctx) = made else { return };
    // Nothing is decided here; but what root may run is what the policy says now.
    if !usable {
        ctx.policy = Policy::default();
    }
    let Some(mut ledger) = open::ledger(&mut ctx, WAIT) else { return };
    let waiting = ledger.waiting_intents(ctx.now()).unwrap_or_default();
    if let Some(intent) = waiting.iter().find(|intent| intent.action.key() == key) {
        carry::one(&ctx, &mut ledger, &intent.action);
    }
}
