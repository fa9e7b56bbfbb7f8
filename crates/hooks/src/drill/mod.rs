//! Drills for `slurm-triage inject`: a synthetic line of the kernel log, put through the pass of a health check. What
//! is decided is in the ledger afterwards; nothing is carried out here.
//!
//! It is `triage-healthcheck` that makes the pass, so a drill tries the very program that slurmd runs. `inject` sends
//! it an [`order`] and tells the answer.
pub mod order;

use serde::{Deserialize, Serialize};
use triage_core::drill as mark;
use triage_core::pipeline::{Output, Trigger};
use triage_core::policy::Policy;
use triage_core::{
    Action, Case, CaseId, CaseState, DecisionId, Event, Intent, Mode, Observation, Outcome, Payload,
    Provenance, Role, SourceKind, Stamp,
};
use triage_ledger::{AuditNote, Batch, Claim, ClaimRequest, Ledger, Load, NewIntent, Recorded};

use crate::ctx::Ctx;
use crate::look::Look;
use crate::pass::{self, PassError, Task};

/// How often ending a drill is begun anew because another program wrote meanwhile.
const ROUNDS: u32 = 8;

/// How long the word that a drill is over may wait for the controller, seconds.
const UNPUBLISH_S: i64 = 600;

/// What the claim on a drill's own intents is worth, seconds: settling follows at once.
const CLAIM_S: i64 = 10;

/// A drill to be put into the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drill<'a> {
    /// The kernel's line, without the prefix of its transport.
    pub line: &'a str,
    /// What is decided may be carried out, where policy acts.
    pub act: bool,
    /// The person, for the audit.
    pub actor: &'a str,
}

/// Why there is no drill.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// The line means nothing.
    #[error("the line has no meaning for the catalogue, so nothing would come of it: nothing was recorded")]
    NoMeaning,
    /// Something is really broken there; a drill would be taken for evidence of it.
    #[error(
        "{resource} has a real open case, {case}: take another device for the drill; nothing was recorded"
    )]
    RealCase {
        /// What the drill would be about.
        resource: String,
        /// The case.
        case: CaseId,
    },
    /// The pass did not come to its end.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] triage_ledger::Error),
}

/// Puts the drill into the ledger. The actions in the answer are intents there, for the next health check.
///
/// # Errors
/// See [`DrillError`].
pub fn inject(ctx: &mut Ctx<'_>, ledger: &mut Ledger, drill: &Drill<'_>) -> Result<Output, DrillError> {
    let said = observation(ctx, drill);
    // Noise is no event: nothing would come of it either.
    let event = ctx.catalog().classify(&said).filter(|event| event.role != Role::Noise);
    let event = event.ok_or(DrillError::NoMeaning)?;
    refuse_real_case(ctx, ledger, &event)?;
    ctx.notes.push(AuditNote {
        actor: drill.actor.to_owned(),
        text: format!("{} on {}: {}", event.code, event.resource, drill.line),
        synthetic: true,
        ..AuditNote::info("drill.begun", event.id.as_str())
    });
    let look =
        &mut |_: &Ctx<'_>, _: &_| Look { observations: vec![said.clone()], drill: true, ..Look::default() };
    Ok(pass::run(ctx, ledger, Task { trigger: Trigger::HealthCheck, span: None, look })?)
}

fn observation(ctx: &Ctx<'_>, drill: &Drill<'_>) -> Observation {
    let at = ctx.now();
    Observation {
        node: ctx.node.clone(),
        boot: ctx.boot.clone(),
        source: SourceKind::Kmsg,
        stream: mark::stream(drill.act).to_owned(),
        cursor: at.micros().unsigned_abs(),
        at,
        provenance: Provenance::Trusted,
        synthetic: true,
        payload: Payload::Line(drill.line.to_owned()),
    }
}

fn refuse_real_case(ctx: &Ctx<'_>, ledger: &Ledger, event: &Event) -> Result<(), DrillError> {
    let loaded = ledger.load(&Load { spans_since: ctx.now(), run: None })?;
    let real = loaded.cases.iter().find(|case| !case.synthetic && case.resource == event.resource);
    match real {
        Some(case) => {
            Err(DrillError::RealCase { resource: event.resource.to_string(), case: case.id.clone() })
        }
        None => Ok(()),
    }
}

/// A drill's case that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The case as it is now.
    pub case: Case,
    /// Where it stood before; [`CaseState::Acted`]: the node was drained for it.
    pub before: CaseState,
}

/// Ends this node's drills: acquits their cases and gives up what was still to be done for them. What was done stays
/// done: a drain is lifted by a person.
///
/// # Errors
/// See [`DrillError`].
pub fn end(ctx: &Ctx<'_>, ledger: &mut Ledger, actor: &str) -> Result<Vec<Ended>, DrillError> {
    for _ in 0..ROUNDS {
        let now = ctx.now();
        // Before the cases: once they are closed no pass is to find something left over for them.
        give_up(ctx, ledger)?;
        let loaded = ledger.load(&Load { spans_since: now, run: None })?;
        let drills: Vec<&Case> = loaded.cases.iter().filter(|case| case.synthetic).collect();
        if drills.is_empty() {
            return Ok(Vec::new());
        }
        let ended: Vec<Case> = drills.iter().map(|case| acquitted(case, now, actor)).collect();
        let notes: Vec<AuditNote> = ended.iter().map(|case| note(case, actor)).collect();
        let batch = Batch {
            based_on: Some(loaded.generation),
            cases: &ended,
            intents: &unpublish(ctx, &ended),
            audit: &notes,
            ..Batch::new(now, &ctx.node, &ctx.boot, ctx.program)
        };
        if let Recorded::Committed { .. } = ledger.record(&batch)? {
            let before = drills.iter().map(|case| case.state);
            return Ok(ended.into_iter().zip(before).map(|(case, before)| Ended { case, before }).collect());
        }
    }
    Err(PassError::Contended.into())
}

fn acquitted(case: &Case, now: Stamp, actor: &str) -> Case {
    Case {
        state: CaseState::Acquitted,
        closed_at: Some(now),
        why: format!("the drill was ended by {actor}"),
        ..case.clone()
    }
}

fn note(case: &Case, actor: &str) -> AuditNote {
    AuditNote {
        actor: actor.to_owned(),
        text: case.why.clone(),
        synthetic: true,
        ..AuditNote::info("case.acquitted", case.id.as_str())
    }
}

/// A drill that could act may have been told to the batch hosts of jobs, in the node's own record.
fn unpublish(ctx: &Ctx<'_>, ended: &[Case]) -> Vec<NewIntent> {
    let told = acts(&ctx.policy, Intent::Drain) && ended.iter().any(|case| !case.stood_down);
    let now = ctx.now();
    let decision = DecisionId::of(&ctx.node.to_string(), "unpublish", "", now);
    let action = Action::Publish { node: ctx.node.clone(), body: String::new(), decision };
    told.then(|| NewIntent { action, expires: now.plus_secs(UNPUBLISH_S), synthetic: true })
        .into_iter()
        .collect()
}

fn acts(policy: &Policy, intent: Intent) -> bool {
    policy.mode.of(intent) == Mode::Act
}

/// Settles the drills' intents that nobody has carried out yet. What another process is at is left to it.
fn give_up(ctx: &Ctx<'_>, ledger: &mut Ledger) -> Result<(), DrillError> {
    let me = ctx.me();
    for intent in ledger.waiting_intents(ctx.now())?.iter().filter(|intent| intent.synthetic) {
        let now = ctx.now();
        let key = intent.action.key();
        let alive = |process: &_| ctx.is_alive(process);
        let request =
            ClaimRequest { key: &key, now, me: &me, lease_until: now.plus_secs(CLAIM_S), alive: &alive };
        if let Claim::Yours(claimed) = ledger.claim(&request)? {
            let answer = "given up: the drill was ended".to_owned();
            let _ = ledger.settle(
                &claimed,
                &Outcome { at: now, done: false, retry: false, answer },
                ctx.program,
            )?;
        }
    }
    Ok(())
}

/// Whether some kind of action is carried out here, so that a drill has to say that it may act.
pub fn site_acts(policy: &Policy) -> bool {
    [Intent::Drain, Intent::Requeue, Intent::RefuseJob].into_iter().any(|intent| acts(policy, intent))
}
