//! Acting once. An intent is written before anything is done, claimed by the one process that does it, and settled
//! with what came of it.
//!
//! ```text
//!                claim                 settle: done
//!  ┌─────────┐ ─────────► ┌─────────┐ ──────────────► ┌──────┐
//!  │ pending │            │ running │                 │ done │      final; the key is used up
//!  └─────────┘ ◄───────── └─────────┘ ──────────────► ┌────────┐
//!       │      settle: try      │      settle: no     │ failed │    final for this decision
//!       │      again later      │                     └────────┘
//!       │                       └ owner gone: claimed by the next pass, which looks before it acts
//!       └─ past `expires` ─► expired ◄─ owner gone, and past `expires`; a later pass may want it again
//! ```
use std::fmt;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use triage_core::fleet::BRAKE;
use triage_core::{
    Action, ActionKey, CaseId, CaseState, Decision, DecisionId, Gate, Hold, Intent, NodeName, Outcome, Stamp,
    Subject, UnknownWord,
};

use crate::batch::{AuditNote, ProcessId};
use crate::error::Result;
use crate::open::Ledger;
use crate::rows::{self, audit, clip, decision, intent};
use crate::store;
use crate::{people, trail};

/// Where an intent stands; the drawing is at the head of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntentState {
    /// Nobody has begun it.
    Pending,
    /// A process has claimed it.
    Running,
    /// The wanted state was reached.
    Done,
    /// It cannot be reached.
    Failed,
    /// Nobody began it in time.
    Expired,
}

impl IntentState {
    /// The word in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

impl fmt::Display for IntentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for IntentState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::Pending, Self::Running, Self::Done, Self::Failed, Self::Expired]
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| UnknownWord {
                kind: "intent state",
                word: word.to_owned(),
                expected: "pending, running, done, failed, expired".to_owned(),
            })
    }
}

/// An intent with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentRow {
    /// Its row.
    pub id: i64,
    /// What is to be done.
    pub action: Action,
    /// Where it stands.
    pub state: IntentState,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// When it was wanted.
    pub created: Stamp,
    /// After this moment it is not begun any more.
    pub expires: Stamp,
    /// How often it was claimed.
    pub attempts: u32,
    /// Who has it, or had it last.
    pub owner: Option<ProcessId>,
    /// When it was last claimed.
    pub claimed_at: Option<Stamp>,
    /// Until when the owner is believed to be at work.
    pub lease_until: Option<Stamp>,
    /// When it reached its state.
    pub settled_at: Option<Stamp>,
    /// What the last attempt brought.
    pub answer: String,
}

impl IntentRow {
    /// The owner, as long as it may still be working: another process than `me`, of this boot, within its lease, and `alive`.
    pub fn still_at_it(
        &self,
        now: Stamp,
        me: &ProcessId,
        alive: &dyn Fn(&ProcessId) -> bool,
    ) -> Option<&ProcessId> {
        let in_time = self.lease_until.is_none_or(|until| now <= until);
        let lives = |owner: &&ProcessId| owner.boot == me.boot && *owner != me && alive(owner);
        self.owner.as_ref().filter(|_| in_time).filter(lives)
    }
}

/// Who asks for an intent, and how it can be told whether another owner still lives.
pub struct ClaimRequest<'a> {
    /// The action's key.
    pub key: &'a ActionKey,
    /// The moment.
    pub now: Stamp,
    /// The caller.
    pub me: &'a ProcessId,
    /// Until when the caller will have settled it: its own deadline and a little more. After that another may take
    /// over even from a process that still exists, as one that sleeps in the kernel over a dead disk does.
    pub lease_until: Stamp,
    /// Whether a process of this boot still runs.
    pub alive: &'a dyn Fn(&ProcessId) -> bool,
}

impl fmt::Debug for ClaimRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimRequest").field("key", self.key).field("me", self.me).finish_non_exhaustive()
    }
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The caller carries it out and settles it.
    Yours(Box<Claimed>),
    /// It was done before: when, and what the answer was.
    AlreadyDone {
        /// When it was settled.
        at: Option<Stamp>,
        /// What came of it.
        answer: String,
    },
    /// Another process is at it.
    Held(ProcessId),
    /// A person holds it; it waits until that is released or it expires.
    OnHold(Box<Hold>),
    /// There is nothing to carry out: no such intent, or it failed or expired.
    Gone,
}

/// A claimed intent. Settle it with [`Ledger::settle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The intent as claimed.
    pub intent: IntentRow,
    /// An earlier owner vanished: perhaps it acted and could not say so. Look at the state it is about before acting.
    pub after_crash: bool,
    /// It is too late to carry it out, and the earlier owner did not say whether it did. Only settle it, as expired: whoever
    /// still wants it wants it anew, and looks before it acts.
    pub too_late: bool,
}

/// What settling did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The outcome is written; the intent is now in this state.
    As(IntentState),
    /// The claim was lost to another process meanwhile, whose word counts; nothing was written.
    NotYours,
}

impl Ledger {
    /// Claims the intent under `request.key` for the caller.
    ///
    /// # Errors
    /// See [`crate::Error`]; without an answer nothing may be done.
    pub fn claim(&mut self, request: &ClaimRequest<'_>) -> Result<Claim> {
        self.write(|tx| claim(tx, request))
    }

    /// Writes what came of a claimed intent. A drain that was carried out moves its open case to `acted` in the same
    /// transaction.
    ///
    /// # Errors
    /// See [`crate::Error`]. The intent stays claimed then, and the next pass settles it.
    pub fn settle(&mut self, claimed: &Claimed, outcome: &Outcome, program: &str) -> Result<Settled> {
        self.write(|tx| settle(tx, claimed, outcome, program))
    }

    /// Intents that wait to be begun, and those whose owner has not settled them yet, in the order they were wanted.
    /// Of the latter a claim tells whether somebody is still at it.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn waiting_intents(&self, now: Stamp) -> Result<Vec<IntentRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare(&format!(
                "SELECT {} FROM actions a WHERE a.state = 'running' OR (a.state = 'pending' AND a.expires >= ?1)
                 ORDER BY a.id",
                intent::COLUMNS
            ))?;
            rows::collect(&mut statement, [now.micros()], intent::read)
        })
    }
}

fn newest(conn: &Connection, key: &str) -> Result<Option<IntentRow>> {
    let sql =
        format!("SELECT {} FROM actions a WHERE a.key = ?1 ORDER BY a.id DESC LIMIT 1", intent::COLUMNS);
    Ok(conn.query_row(&sql, [key], intent::read).optional()?)
}

fn claim(tx: &Transaction<'_>, request: &ClaimRequest<'_>) -> Result<Claim> {
    let Some(found) = newest(tx, request.key)? else { return Ok(Claim::Gone) };
    let late = request.now > found.expires;
    match found.state {
        IntentState::Done => Ok(Claim::AlreadyDone { at: found.settled_at, answer: found.answer }),
        IntentState::Failed | IntentState::Expired => Ok(Claim::Gone),
        IntentState::Pending if late => {
            expire(tx, request.now)?;
            Ok(Claim::Gone)
        }
        IntentState::Pending => unless_held(tx, found, request, false, false),
        IntentState::Running => match found.still_at_it(request.now, request.me, request.alive) {
            Some(owner) => Ok(Claim::Held(owner.clone())),
            // What is only looked at changes nothing that a person could want to keep.
            None if late => take(tx, found, request, true, true),
            None => unless_held(tx, found, request, true, false),
        },
    }
}

fn unless_held(
    tx: &Transaction<'_>,
    found: IntentRow,
    request: &ClaimRequest<'_>,
    after_crash: bool,
    too_late: bool,
) -> Result<Claim> {
    match people::held(tx, &found.action, request.now)? {
        Some(hold) => Ok(Claim::OnHold(hold.into())),
        None => take(tx, found, request, after_crash, too_late),
    }
}

fn take(
    tx: &Transaction<'_>,
    found: IntentRow,
    request: &ClaimRequest<'_>,
    after_crash: bool,
    too_late: bool,
) -> Result<Claim> {
    tx.execute(
        "UPDATE actions SET state = 'running', attempts = attempts + 1, owner_pid = ?2, owner_start = ?3,
                            owner_boot = ?4, claimed_at = ?5, lease_until = ?6
         WHERE id = ?1",
        params![
            found.id,
            request.me.pid,
            rows::to_sql_u64(request.me.start),
            request.me.boot.as_str(),
            request.now.micros(),
            request.lease_until.micros(),
        ],
    )?;
    let intent = IntentRow {
        state: IntentState::Running,
        attempts: found.attempts.saturating_add(1),
        owner: Some(request.me.clone()),
        claimed_at: Some(request.now),
        lease_until: Some(request.lease_until),
        ..found
    };
    Ok(Claim::Yours(Box::new(Claimed { intent, after_crash, too_late })))
}

fn settle(tx: &Transaction<'_>, claimed: &Claimed, outcome: &Outcome, program: &str) -> Result<Settled> {
    let intent = &claimed.intent;
    let late = claimed.too_late || outcome.at > intent.expires;
    let state = match (outcome.done, outcome.retry) {
        (true, _) => IntentState::Done,
        (false, true) if late => IntentState::Expired,
        (false, true) => IntentState::Pending,
        (false, false) => IntentState::Failed,
    };
    // The number of attempts tells this claim from a later one.
    let changed = tx.execute(
        "UPDATE actions SET state = ?3, settled_at = ?4, answer = ?5
         WHERE id = ?1 AND state = 'running' AND attempts = ?2",
        params![intent.id, intent.attempts, state.word(), outcome.at.micros(), clip(&outcome.answer)],
    )?;
    if changed == 0 {
        return Ok(Settled::NotYours);
    }
    if let (Action::Drain { case, .. }, true) = (&intent.action, outcome.done) {
        let moved = tx.execute(
            "UPDATE cases SET state = ?2 WHERE id = ?1 AND state = ?3",
            params![case.as_str(), CaseState::Acted.word(), CaseState::Open.word()],
        )?;
        if moved > 0 {
            let moved = trail::Moved { to: CaseState::Acted, at: outcome.at, program, why: &outcome.answer };
            trail::moved(tx, case, &moved)?;
        }
    }
    if let (Action::ConfirmDrain { node, .. }, IntentState::Failed) = (&intent.action, state)
        && !claimed.too_late
    {
        take_back(tx, node, (outcome, program))?;
    }
    store::bump_generation(tx)?;
    let note = AuditNote {
        text: format!("{state}: {}", outcome.answer),
        synthetic: intent.synthetic,
        ..trail::about_action(tx, &intent.action, state)?
    };
    audit::put(tx, outcome.at, program, &note)?;
    Ok(Settled::As(state))
}

/// A drain of ours was one too many and is lifted. Every case it stood for is open as before, and a later decision may
/// want the drain again.
fn take_back(
    tx: &Transaction<'_>,
    node: &NodeName,
    (Outcome { answer, at, .. }, program): (&Outcome, &str),
) -> Result<()> {
    let mut acted = tx.prepare("SELECT id FROM cases WHERE node = ?1 AND state = 'acted' ORDER BY id")?;
    let acted = rows::collect(&mut acted, [node.as_str()], |row| rows::text::<CaseId>(row, "id"))?;
    for case in &acted {
        let moved = trail::Moved { to: CaseState::Open, at: *at, program, why: answer };
        trail::moved(tx, case, &moved)?;
        held_by_brake(tx, case, (answer, *at, program))?;
    }
    tx.execute(
        "UPDATE actions SET state = 'failed', answer = ?2 WHERE kind = 'drain' AND state = 'done'
         AND case_id IN (SELECT id FROM cases WHERE node = ?1 AND state = 'acted')",
        params![node.as_str(), clip(answer)],
    )?;
    tx.execute("UPDATE cases SET state = 'open' WHERE node = ?1 AND state = 'acted'", [node.as_str()])?;
    Ok(())
}

/// The brake was heard after the decision. It is written down as one of its own, so that the next pass does not take the old one
/// for what it would say, and a prolog refuses no job of a node that is kept in service.
fn held_by_brake(
    tx: &Transaction<'_>,
    case: &CaseId,
    (answer, at, program): (&str, Stamp, &str),
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM {} WHERE d.case_id = ?1 AND d.node IS NOT NULL AND d.intent = ?2 ORDER BY d.seq DESC LIMIT 1",
        decision::COLUMNS,
        decision::FROM
    );
    let last = tx.query_row(&sql, params![case.as_str(), Intent::Drain.word()], decision::read).optional()?;
    let Some(last) = last else { return Ok(()) };
    let Subject::Node(node) = &last.subject else { return Ok(()) };
    let brake = Gate { name: BRAKE.to_owned(), passed: false, why: clip(answer).into_owned() };
    let gates = last.gates.iter().filter(|gate| gate.name != BRAKE).cloned().chain([brake]).collect();
    let id = DecisionId::of(&last.subject.to_string(), last.intent.word(), case.as_str(), at);
    let held = Decision { id, at, gates, ..last.clone() };
    if decision::put(tx, &held)? {
        trail::decided(tx, (node, at, program), &held)?;
    }
    Ok(())
}

/// Lets go of what nobody began in time. How many there were.
pub(crate) fn expire(conn: &Connection, now: Stamp) -> Result<usize> {
    let mut statement = conn.prepare(
        "UPDATE actions SET state = 'expired', settled_at = ?1 WHERE state = 'pending' AND expires < ?1
         RETURNING key",
    )?;
    let keys: Vec<String> =
        statement.query_map([now.micros()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    trail::expired(conn, &keys, now)?;
    Ok(keys.len())
}
