//! `triage-healthcheck`: all sources, NVML through the probe, what earlier passes left over, and the ledger's upkeep.
use std::time::Duration;

use triage_core::SourceKind;
use triage_core::pipeline::Trigger;
use triage_ledger::{Ledger, Limits, Seen};

use crate::carry::{self, Take};
use crate::ctx::Ctx;
use crate::drill::order;
use crate::look::Look;
use crate::pass::{self, Task};
use crate::start::Hook;
use crate::{finish, metrics, open, overdue, spool};

/// The hook.
pub const HOOK: Hook = Hook {
    program: "triage-healthcheck",
    limit: |deadlines| deadlines.healthcheck,
    pass,
    drill: Some(order::answer),
};

/// Longest wait for another program that writes.
const WAIT: Duration = Duration::from_secs(2);

fn pass(ctx: &mut Ctx<'_>) -> u8 {
    let begun = ctx.clock.monotonic();
    let ledger = passed(ctx);
    metrics::leave(ctx, ledger.as_ref(), begun);
    0
}

/// The pass and the upkeep; the ledger again where both went well.
fn passed(ctx: &mut Ctx<'_>) -> Option<Ledger> {
    spool::make_folder(ctx);
    let mut ledger = open::ledger(ctx, WAIT)?;
    spool::import(ctx, &mut ledger, None);
    let task = Task {
        trigger: Trigger::HealthCheck,
        span: None,
        look: &mut |ctx, loaded| {
            let begun = ctx.clock.monotonic();
            let mut look = Look::default();
            look.kernel_log(ctx, loaded);
            look.probe(ctx);
            look.observations.extend(overdue::take(ctx));
            // That somebody looks at all is known from here: `status` and `doctor` ask for it.
            look.report(ctx, SourceKind::Suite, HOOK.program.to_owned(), begun, Seen::Read);
            look
        },
    };
    match pass::run(ctx, &mut ledger, task) {
        Ok(output) => {
            carry::out(ctx, &mut ledger, &output, Take::AtOnce);
            finish::later(ctx, &output);
            finish::start(ctx, &carry::forgotten(ctx, &ledger, &output));
            carry::left_over(ctx, &mut ledger, &output);
        }
        Err(error) => {
            error.give_up(ledger, "the next health check tries again");
            return None;
        }
    }
    upkeep(ctx, ledger)
}

fn upkeep(ctx: &Ctx<'_>, mut ledger: Ledger) -> Option<Ledger> {
    let settings = &ctx.config.ledger;
    let limits = Limits { days: settings.retain_days, bytes: u64::from(settings.max_mb) * 1_000_000 };
    let budget = ctx.deadline.left(ctx.clock) / 2;
    if let Err(error) = ledger.upkeep(&limits, ctx.now(), budget) {
        log::error!("{error}");
        open::set_aside_if_damaged(ledger, &error);
        return None;
    }
    Some(ledger)
}
