//! Carrying out intents: claim, look, act, settle, one at a time. Whoever comes next finds what was not settled.
use std::time::Duration;

use triage_core::pipeline::Output;
use triage_core::{Action, Outcome};
use triage_host::clock::Deadline;
use triage_ledger::{Claim, ClaimRequest, Claimed, IntentRow, IntentState, Ledger};

use crate::ctx::Ctx;

/// What a claim's lease has over the pass's own deadline, microseconds: a pass that is killed at its deadline has no
/// longer than that.
const LEASE_SLACK_US: i64 = 5_000_000;

/// How long one intent of an earlier pass may hold up a health check. Only a requeued job's begin time is waited for,
/// and the next health check can do that as well. Clearing it takes two seconds where everything is ready for it.
const LEFT_OVER: Duration = Duration::from_secs(5);

/// Which of the intents a pass carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// All but those that take long.
    AtOnce,
    /// All.
    All,
}

impl Take {
    fn takes(self, action: &Action) -> bool {
        self == Self::All || !action.takes_long()
    }
}

/// Carries out the actions of this pass.
pub fn out(ctx: &Ctx<'_>, ledger: &mut Ledger, output: &Output, take: Take) {
    for action in output.actions.iter().filter(|action| take.takes(action)) {
        one(ctx, ledger, action);
    }
}

/// Carries out what passes before this one, of which `output` came, left: intents nobody began, and those whose owner is gone.
pub fn left_over(ctx: &Ctx<'_>, ledger: &mut Ledger, output: &Output) {
    let waiting = match ledger.waiting_intents(ctx.now()) {
        Ok(waiting) => waiting,
        Err(error) => return log::error!("{error}"),
    };
    let wanted =
        |intent: &IntentRow| intent.state != IntentState::Pending || is_wanted(ctx, output, &intent.action);
    let to_do = |intent: &IntentRow| !runs_a_command(&intent.action) && wanted(intent);
    for intent in waiting.into_iter().filter(to_do) {
        if ctx.deadline.has_passed(ctx.clock) {
            return;
        }
        within(ctx, ledger, &intent.action, Deadline::after(ctx.clock, LEFT_OVER));
    }
}

/// Resets and tests that nobody is at: no pass wants them twice, and each needs a process of its own. One that this pass wants
/// has got its own already.
pub fn forgotten(ctx: &Ctx<'_>, ledger: &Ledger, output: &Output) -> Vec<Action> {
    let waiting = ledger.waiting_intents(ctx.now()).unwrap_or_default();
    let me = ctx.me();
    let gone =
        |intent: &IntentRow| intent.still_at_it(ctx.now(), &me, &|process| ctx.is_alive(process)).is_none();
    let nobodys = |intent: &IntentRow| {
        runs_a_command(&intent.action)
            && is_wanted(ctx, output, &intent.action)
            && (intent.state == IntentState::Pending || gone(intent))
            && output.actions.iter().all(|new| new.key() != intent.action.key())
    };
    waiting.into_iter().filter(nobodys).map(|intent| intent.action).collect()
}

const fn runs_a_command(action: &Action) -> bool {
    matches!(action, Action::Reset { .. } | Action::Verify { .. })
}

/// Whether what nobody has begun yet is still to be done. Whether its node is to be out every health check decides anew, with all
/// gates; about a run nobody does, and a reboot is asked for once, but the policy may have changed.
fn is_wanted(ctx: &Ctx<'_>, output: &Output, action: &Action) -> bool {
    let decided_anew = matches!(action, Action::Drain { .. } | Action::Down { .. } | Action::Resume { .. });
    ctx.policy.carries_out(action)
        && (!decided_anew || output.actions.iter().any(|wanted| wanted.key() == action.key()))
}

/// Carries out the intent under `action`'s key, if it is there to be taken.
pub fn one(ctx: &Ctx<'_>, ledger: &mut Ledger, action: &Action) {
    within(ctx, ledger, action, ctx.deadline);
}

/// The same, for no longer than until `deadline`. A controller that was away a moment ago is not asked again: the
/// intent waits for the next pass.
fn within(ctx: &Ctx<'_>, ledger: &mut Ledger, action: &Action, deadline: Deadline) {
    if ctx.controller_is_away.get() && !matches!(action, Action::RefuseJob { .. }) {
        return;
    }
    let key = action.key();
    let me = ctx.me();
    let left = i64::try_from(ctx.deadline.left(ctx.clock).as_micros()).unwrap_or(i64::MAX);
    let claim = ledger.claim(&ClaimRequest {
        key: &key,
        now: ctx.now(),
        me: &me,
        lease_until: ctx.now().plus_micros(left).plus_micros(LEASE_SLACK_US),
        alive: &|process| ctx.is_alive(process),
    });
    match claim {
        Ok(Claim::Yours(claimed)) => settle(ctx, ledger, &claimed, deadline.min(ctx.deadline)),
        Ok(Claim::OnHold(hold)) => log::info!("{key}: left alone: {}", hold.sentence()),
        Ok(Claim::AlreadyDone { .. } | Claim::Held(_) | Claim::Gone) => {}
        // Without an answer nothing may be done.
        Err(error) => log::error!("{key}: {error}"),
    }
}

fn settle(ctx: &Ctx<'_>, ledger: &mut Ledger, claimed: &Claimed, deadline: Deadline) {
    let outcome = act(ctx, claimed, deadline);
    ctx.controller_is_away.set(
        outcome.retry
            && !claimed.too_late
            && ctx.policy.carries_out(&claimed.intent.action)
            && !matches!(claimed.intent.action, Action::ClearBeginTime { .. } | Action::LastLine { .. }),
    );
    log::info!("{}: {}", claimed.intent.action.key(), outcome.answer);
    if let Err(error) = ledger.settle(claimed, &outcome, ctx.program) {
        log::error!("{}: {error}; the next pass settles it", claimed.intent.action.key());
    }
}

/// Every action of the executor re-reads the state it is about first, so one that was done before a crash is found
/// done. One that is too late is let go as expired: what is still wanted, as a drain is while its case is open, the next pass
/// wants anew, and a "no" for good would stand in its way.
fn act(ctx: &Ctx<'_>, claimed: &Claimed, deadline: Deadline) -> Outcome {
    let without = |done: bool, retry: bool, answer: &str| Outcome {
        at: ctx.now(),
        done,
        retry,
        answer: answer.to_owned(),
    };
    let action = &claimed.intent.action;
    if let Action::Reboot { boot, .. } = action
        && *boot != ctx.boot
    {
        return without(true, false, "the node was booted since");
    }
    if claimed.too_late {
        return without(false, true, "too late: whoever began it did not say what came of it");
    }
    if !ctx.policy.carries_out(action) {
        return without(false, true, "not done: the policy is in monitor mode");
    }
    if !ctx.policy.repair.allows(action) {
        return without(false, false, "not run: the policy does not have this command");
    }
    crate::ask::executor(ctx).execute(action, deadline)
}
