//! What `slurm-triage inject` asks of `triage-healthcheck --drill`, and what it is told: JSON both ways.
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use triage_core::policy::Policy;
use triage_core::{Action, Case, Decision, Event};
use triage_host::clock::{Clock, SystemClock};
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;
use triage_ledger::Ledger;

use super::{Drill, Ended};
use crate::ctx::Ctx;
use crate::open;
use crate::start::{self, Read};

/// How long the pass may take: the controller is asked for this node's record.
pub const LIMIT: Duration = Duration::from_secs(15);

/// Longest wait for another program that writes: a person waits.
const WAIT: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The ledger.
    pub ledger: PathBuf,
    /// The person, for the audit.
    pub actor: String,
    /// The kernel's line, without the prefix of its transport; none to end this node's drills.
    pub line: Option<String>,
    /// What is decided may be carried out, where policy acts.
    pub act: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The drill is recorded.
    Begun {
        /// What the line says.
        events: Vec<Event>,
        /// The cases that were opened or joined.
        cases: Vec<Case>,
        /// What was decided.
        decisions: Vec<Decision>,
        /// Kinds of the actions that are left to the next health check.
        actions: Vec<String>,
    },
    /// The drills that were ended.
    Ended(Vec<Ended>),
    /// Policy acts here, and the order does not say that the drill may. Nothing was recorded.
    Acts,
    /// It could not be done, and why. Nothing was recorded.
    Refused(String),
}

/// Carries out an order, and answers it.
pub(crate) fn answer(program: &'static str, config: &Path, order: &str) -> String {
    let answer = carry_out(program, config, order).unwrap_or_else(Answer::Refused);
    serde_json::to_string(&answer).unwrap_or_default()
}

fn carry_out(program: &'static str, path: &Path, order: &str) -> Result<Answer, String> {
    let order: Order =
        triage_core::json::from_text(order).map_err(|error| format!("an order that is none: {error}"))?;
    let Read { config, usable, .. } = start::read_config(path);
    let node = start::node_name().ok_or("SLURMD_NODENAME is not set: the node is not known")?;
    let seams = (&SystemClock as &dyn Clock, &SystemRunner as _);
    let mut ctx = Ctx::new(program, (path.to_owned(), &config), node, Root::default(), seams, LIMIT)
        .map_err(|error| error.to_string())?;
    if !usable {
        ctx.policy = Policy::default();
    }
    let Some(line) = &order.line else {
        return super::end(&ctx, &mut ledger(&ctx, &order)?, &order.actor).map(Answer::Ended).map_err(words);
    };
    if super::site_acts(&ctx.policy) && !order.act {
        return Ok(Answer::Acts);
    }
    let mut ledger = ledger(&ctx, &order)?;
    let drill = Drill { line, act: order.act, actor: &order.actor };
    let output = super::inject(&mut ctx, &mut ledger, &drill).map_err(words)?;
    Ok(Answer::Begun {
        actions: output.actions.iter().map(|action: &Action| action.kind().to_owned()).collect(),
        events: output.events,
        cases: output.cases,
        decisions: output.decisions,
    })
}

/// The ledger the order names. One that is not there is not begun: the node may be misspelt.
fn ledger(ctx: &Ctx<'_>, order: &Order) -> Result<Ledger, String> {
    if !order.ledger.exists() {
        return Err(format!("{}: there is no ledger yet", order.ledger.display()));
    }
    Ledger::open(&order.ledger, &open::options(&ctx.config, WAIT, ctx.now())).map_err(words)
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
