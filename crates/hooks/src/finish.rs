//! The detached helper of an epilog: waits until the requeued job is out of COMPLETING, then clears its begin time. It
//! holds nothing of slurmd's, has a deadline of its own, and should it die the next health check does its work.
use std::path::Path;
use std::time::Duration;

use triage_core::policy::Policy;
use triage_host::clock::SystemClock;
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;

use crate::ctx::Ctx;
use crate::start::{self, Read};
use crate::{carry, open};

const WAIT: Duration = Duration::from_secs(5);

/// Finishes the requeue whose last step has this key.
pub(crate) fn run(program: &'static str, path: &Path, key: &str) {
    let Read { config, .. } = start::read_config(path);
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
    // What was decided was decided; the finisher decides nothing.
    ctx.policy = Policy::default();
    let Some(mut ledger) = open::ledger(&mut ctx, WAIT) else { return };
    let waiting = ledger.waiting_intents(ctx.now()).unwrap_or_default();
    if let Some(intent) = waiting.iter().find(|intent| intent.action.key() == key) {
        carry::one(&ctx, &mut ledger, &intent.action);
    }
}
