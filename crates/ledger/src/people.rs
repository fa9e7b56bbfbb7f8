//! What people say: a repair is done, there was no fault, hands off. Each is one immediate transaction on the state as
//! it is then, so that neither a person's word nor a pass that runs meanwhile is lost: the pass finds that the
//! ledger's generation has moved on, loads anew and judges by what the person said.
use rusqlite::{OptionalExtension, Transaction, params};
use triage_core::{Action, Case, CaseId, CaseState, Hold, HoldOn, Stamp};

use crate::batch::{AuditNote, NewIntent};
use crate::error::Result;
use crate::intents::IntentState;
use crate::open::Ledger;
use crate::rows::{audit, case, clip, hold, intent};
use crate::store;
use crate::trail::{self, TrailFacts};

/// Who says it, when and why.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    /// The moment.
    pub now: Stamp,
    /// The program it is said with.
    pub program: &'a str,
    /// The person, by name.
    pub actor: &'a str,
    /// Why; never empty.
    pub reason: &'a str,
    /// What the system knows of the person.
    pub person: &'a TrailFacts,
}

/// How a person closes a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// It was repaired.
    Acknowledged,
    /// It was no fault.
    Acquitted,
}

impl Closing {
    const fn state(self) -> CaseState {
        match self {
            Self::Acknowledged => CaseState::Resolved,
            Self::Acquitted => CaseState::Acquitted,
        }
    }

    /// How the case's sentence begins then.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged by",
            Self::Acquitted => "acquitted by",
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Acknowledged => "case.acknowledged",
            Self::Acquitted => "case.acquitted",
        }
    }
}

/// What became of a person's word about a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The case is closed by it.
    Now {
        /// As it is now.
        case: Box<Case>,
        /// Where it stood; [`CaseState::Acted`]: the node was drained for it.
        before: CaseState,
        /// Keys of intents that nobody had begun, and that were given up.
        given_up: Vec<String>,
    },
    /// It was closed so already; nothing was changed.
    Already(Box<Case>),
    /// It was closed in another way; nothing was changed.
    Otherwise(Box<Case>),
    /// There is no such case.
    Unknown,
}

/// What became of a hold or of its release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The hold stands, or stands no longer, by this word. With it: what stood before.
    Now(Option<Hold>),
    /// It was so already; nothing was changed. With it: what stands.
    Already(Option<Hold>),
}

impl Ledger {
    /// Closes a case by a person's word, gives up what was still to be done for it, and writes `intents`, such as the
    /// one that takes our word back from the node's record.
    ///
    /// # Errors
    /// See [`crate::Error`]; nothing was written then.
    pub fn close_case(
        &mut self,
        id: &CaseId,
        closing: Closing,
        word: &Word<'_>,
        intents: &[NewIntent],
    ) -> Result<Closed> {
        self.write(|tx| close_case(tx, id, closing, word, intents))
    }

    /// Puts something on hold. A hold that stands with another reason or another end is replaced.
    ///
    /// # Errors
    /// See [`crate::Error`]; nothing was written then.
    pub fn hold(&mut self, on: &HoldOn, until: Option<Stamp>, word: &Word<'_>) -> Result<Held> {
        self.write(|tx| place(tx, on, until, word))
    }

    /// Releases what is on hold.
    ///
    /// # Errors
    /// See [`crate::Error`]; nothing was written then.
    pub fn release(&mut self, on: &HoldOn, word: &Word<'_>) -> Result<Held> {
        self.write(|tx| release(tx, on, word))
    }

    /// The holds that stand at `now`, oldest first.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn holds(&self, now: Stamp) -> Result<Vec<Hold>> {
        self.read(|conn| hold::standing(conn, now))
    }
}

fn close_case(
    tx: &Transaction<'_>,
    id: &CaseId,
    closing: Closing,
    word: &Word<'_>,
    intents: &[NewIntent],
) -> Result<Closed> {
    let sql = format!("SELECT {} FROM {} WHERE c.id = ?1", case::COLUMNS, case::FROM);
    let Some(found) = tx.query_row(&sql, [id.as_str()], case::read).optional()? else {
        return Ok(Closed::Unknown);
    };
    let before = case::with_evidence(tx, vec![found])?.pop();
    let Some(before) = before else { return Ok(Closed::Unknown) };
    if !before.is_open() {
        let same = before.state == closing.state()
            && (closing == Closing::Acquitted || before.why.starts_with(closing.words()));
        return Ok(if same { Closed::Already(before.into()) } else { Closed::Otherwise(before.into()) });
    }
    let closed = Case {
        state: closing.state(),
        closed_at: Some(word.now),
        why: clip(&format!("{} {}: {}", closing.words(), word.actor, word.reason)).into_owned(),
        ..before.clone()
    };
    case::put(tx, &closed)?;
    let given_up = give_up(tx, id, closing, word)?;
    for wanted in intents {
        intent::put(tx, wanted, word.now)?;
    }
    store::bump_generation(tx)?;
    let facts = TrailFacts {
        evidence: closed.events.iter().rev().take(16).rev().map(ToString::to_string).collect(),
        before: Some(format!("{} {}", before.state, before.confidence)),
        after: Some(format!("{} {}", closed.state, closed.confidence)),
        ..word.person.clone()
    };
    let note = AuditNote { synthetic: closed.synthetic, ..trail::about_case(closing.kind(), &closed) };
    say(tx, word, note, facts)?;
    Ok(Closed::Now { before: before.state, case: closed.into(), given_up })
}

/// Gives up what nobody has begun. What another process is at is left to it, and so is the way back into service.
fn give_up(tx: &Transaction<'_>, id: &CaseId, closing: Closing, word: &Word<'_>) -> Result<Vec<String>> {
    let answer = format!("given up: the case was {} {}", closing.words(), word.actor);
    let mut statement = tx.prepare(
        "UPDATE actions SET state = 'failed', settled_at = ?2, answer = ?3
         WHERE case_id = ?1 AND state = 'pending' AND kind <> 'resume' RETURNING key, action, synthetic",
    )?;
    let rows: Vec<(String, String, bool)> = statement
        .query_map(params![id.as_str(), word.now.micros(), clip(&answer)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    for (_, json, synthetic) in &rows {
        let Ok(action) = triage_core::json::from_text::<Action>(json) else { continue };
        let note = AuditNote {
            level: crate::batch::Level::Info,
            actor: word.actor.to_owned(),
            text: answer.clone(),
            synthetic: *synthetic,
            ..trail::about_action(tx, &action, IntentState::Failed)?
        };
        audit::put(tx, word.now, word.program, &note)?;
    }
    Ok(rows.into_iter().map(|(key, _, _)| key).collect())
}

fn place(tx: &Transaction<'_>, on: &HoldOn, until: Option<Stamp>, word: &Word<'_>) -> Result<Held> {
    let before = hold::unended(tx, on)?;
    if let Some(standing) = before.as_ref().filter(|hold| hold.stands(word.now))
        && standing.until == until
        && standing.reason == word.reason
    {
        return Ok(Held::Already(before));
    }
    if let Some(before) = &before {
        let (by, why) =
            if before.stands(word.now) { (word.actor, "replaced") } else { ("", "it had run out") };
        hold::end(tx, on, word.now, by, why)?;
    }
    let new = Hold {
        on: on.clone(),
        at: word.now,
        until,
        by: word.actor.to_owned(),
        reason: word.reason.to_owned(),
    };
    hold::put(tx, &new)?;
    store::bump_generation(tx)?;
    let before = before.filter(|hold| hold.stands(word.now));
    let facts = TrailFacts {
        before: before.as_ref().map(Hold::sentence),
        after: Some("on hold".to_owned()),
        until,
        ..word.person.clone()
    };
    say(tx, word, about_hold("hold.placed", on), facts)?;
    Ok(Held::Now(before))
}

fn release(tx: &Transaction<'_>, on: &HoldOn, word: &Word<'_>) -> Result<Held> {
    let Some(before) = hold::unended(tx, on)?.filter(|hold| hold.stands(word.now)) else {
        return Ok(Held::Already(None));
    };
    hold::end(tx, on, word.now, word.actor, word.reason)?;
    store::bump_generation(tx)?;
    let facts = TrailFacts {
        before: Some(before.sentence()),
        after: Some("released".to_owned()),
        ..word.person.clone()
    };
    say(tx, word, about_hold("hold.released", on), facts)?;
    Ok(Held::Now(Some(before)))
}

fn about_hold(kind: &str, on: &HoldOn) -> AuditNote {
    let note = AuditNote::info(kind, on.to_string());
    match on {
        HoldOn::Node(node) => AuditNote { node: node.to_string(), ..note },
        HoldOn::Case(case) => AuditNote { case: Some(case.clone()), ..note },
        HoldOn::Job(job) => AuditNote { job: Some(job.to_string()), ..note },
    }
}

fn say(tx: &Transaction<'_>, word: &Word<'_>, note: AuditNote, facts: TrailFacts) -> Result<()> {
    let note = AuditNote { actor: word.actor.to_owned(), text: word.reason.to_owned(), facts, ..note };
    audit::put(tx, word.now, word.program, &note)
}

/// The hold that keeps this action from being carried out at `now`, if one does. A node on hold carries out nothing at
/// all: neither for itself nor for the jobs it decides about.
pub(crate) fn held(tx: &Transaction<'_>, action: &Action, now: Stamp) -> Result<Option<Hold>> {
    for hold in hold::standing(tx, now)? {
        let touches = match &hold.on {
            HoldOn::Node(node) => node_of(action).is_none_or(|of| of == node.as_str()),
            HoldOn::Job(job) => run_of(action).is_some_and(|run| job.covers(run)),
            HoldOn::Case(case) => rests_on(tx, action, case)?,
        };
        if touches {
            return Ok(Some(hold));
        }
    }
    Ok(None)
}

fn rests_on(tx: &Transaction<'_>, action: &Action, case: &CaseId) -> Result<bool> {
    Ok(tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM actions a WHERE a.key = ?3 AND a.case_id = ?2)
             OR EXISTS (SELECT 1 FROM decisions d WHERE d.id = ?1 AND d.case_id = ?2)
             OR EXISTS (SELECT 1 FROM decisions d JOIN verdicts v ON v.id = d.verdict_id
                        JOIN json_each(v.cases) named WHERE d.id = ?1 AND named.value = ?2)",
        params![action.decision().as_str(), case.as_str(), action.key()],
        |row| row.get(0),
    )?)
}

fn node_of(action: &Action) -> Option<&str> {
    intent::about(action).2
}

fn run_of(action: &Action) -> Option<&triage_core::RunId> {
    intent::about(action).1
}
