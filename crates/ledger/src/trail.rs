//! The trail: one append-only row for every change of a case, every decision, every outcome, every word of a person.
//! It says who, what, when, why, on what evidence, past which gates, and with which outcome.
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use triage_core::{Action, Case, CaseId, CaseState, Decision, Gate, Mode, NodeName, Stamp, Subject};

use crate::batch::{AuditNote, Batch, Level};
use crate::error::Result;
use crate::intents::IntentState;
use crate::query::AuditRow;
use crate::rows::{self, audit, case, meta};

/// Most ids of evidence one row names; the case has all.
const EVIDENCE: usize = 16;

/// On what a row of the trail rests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrailFacts {
    /// Ids of events, the latest ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Every gate that was asked, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// The mode the rule ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The decision's, verdict's or action's id or key, for looking it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refers: Option<String>,
    /// What came of it: a decision's `wanted` or `held`, an action's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What stood before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What stands now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Until when it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// Real uid of the person's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Uid the person logged in with, where the kernel knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_uid: Option<u32>,
    /// What `SUDO_USER` said: a hint, anybody can set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo_user: Option<String>,
}

/// The target under which rows of the trail go to the log, one line of JSON each, once they are committed.
pub const LOG_TARGET: &str = "triage_trail";

/// Longest text in such a line, characters. With names and gates a line stays below 2 KiB, which every syslog takes.
const LINE_TEXT: usize = 400;
/// Most gates and ids named in such a line.
const LINE_NAMES: usize = 8;

/// What a transaction adds to the trail, where somebody listens.
pub(crate) struct Tail(Option<i64>);

impl Tail {
    /// Remembers where the trail ends.
    pub(crate) fn begin(conn: &Connection) -> Result<Self> {
        if !log::logger().enabled(&metadata()) {
            return Ok(Self(None));
        }
        let last = conn.query_row("SELECT ifnull(max(id), 0) FROM audit", [], |row| row.get(0))?;
        Ok(Self(Some(last)))
    }

    /// What came behind that.
    pub(crate) fn end(self, conn: &Connection) -> Result<Vec<AuditRow>> {
        let Some(last) = self.0 else { return Ok(Vec::new()) };
        let sql = format!("SELECT {} FROM audit a WHERE a.id > ?1 ORDER BY a.id", audit::COLUMNS);
        rows::collect(&mut conn.prepare(&sql)?, [last], audit::read)
    }
}

fn metadata() -> log::Metadata<'static> {
    log::Metadata::builder().level(log::Level::Info).target(LOG_TARGET).build()
}

/// Hands a row to the log. Past the macros, which would ask for the level of the suite's own messages.
pub(crate) fn tell(row: &AuditRow) {
    let line = line(row);
    let args = format_args!("{line}");
    log::logger().log(&log::Record::builder().metadata(metadata()).args(args).build());
}

/// A row as one bounded line of JSON.
fn line(row: &AuditRow) -> String {
    let AuditNote { level, kind, subject, actor, text, synthetic, node, case, job, rule, facts } = &row.note;
    let cut = |text: &str| text.chars().take(LINE_TEXT).collect::<String>();
    let name = |text: &str| text.chars().take(64).collect::<String>();
    let held = facts.gates.iter().filter(|gate| !gate.passed).map(|gate| name(&gate.name));
    let passed = facts.gates.iter().filter(|gate| gate.passed).map(|gate| name(&gate.name));
    serde_json::json!({
        "v": 1,
        "id": row.id,
        "at": row.at,
        "program": name(&row.program),
        "who": name(if !actor.is_empty() { actor } else if !rule.is_empty() { rule } else { &row.program }),
        "person": !actor.is_empty(),
        "level": level.word(),
        "what": name(kind),
        "subject": name(subject),
        "node": name(node),
        "case": case,
        "job": job.as_deref().map(name),
        "why": cut(text),
        "passed": passed.take(LINE_NAMES).collect::<Vec<_>>(),
        "held": held.take(LINE_NAMES).collect::<Vec<_>>(),
        "outcome": facts.outcome.as_deref().map(name),
        "evidence": facts.evidence.iter().rev().take(LINE_NAMES).map(|id| name(id)).collect::<Vec<_>>(),
        "synthetic": synthetic,
    })
    .to_string()
}

/// The kind of row for a closed case whose drain is not ours to lift any more, and its text.
const LET_GO: &str = "case.let_go";
const GONE: &str = "the drain for it is gone, or carries somebody else's word: it is left to people";

/// What of a case matters to the trail.
pub(crate) struct Before {
    state: String,
    confidence: String,
    stood_down: bool,
    events: i64,
}

/// The case as the ledger has it; `None`: it is new.
pub(crate) fn before(conn: &Connection, case: &Case) -> Result<Option<Before>> {
    Ok(conn
        .query_row(
            "SELECT state, confidence, stood_down,
                    (SELECT count(*) FROM case_events x WHERE x.case_id = c.id)
             FROM cases c WHERE c.id = ?1",
            [case.id.as_str()],
            |row| {
                Ok(Before {
                    state: row.get(0)?,
                    confidence: row.get(1)?,
                    stood_down: row.get(2)?,
                    events: row.get(3)?,
                })
            },
        )
        .optional()?)
}

/// Writes what changed of the case, unless the batch brings its own word about that.
pub(crate) fn case_changed(
    conn: &Connection,
    batch: &Batch<'_>,
    case: &Case,
    before: Option<&Before>,
) -> Result<()> {
    let Some((kind, from)) = change(case, before) else { return Ok(()) };
    let told = |note: &AuditNote| note.kind == kind && note.subject == case.id.as_str();
    if batch.audit.iter().any(told) {
        return Ok(());
    }
    let evidence = case.events.iter().rev().take(EVIDENCE).rev();
    let note = AuditNote {
        text: if kind == LET_GO { GONE.to_owned() } else { case.why.clone() },
        synthetic: case.synthetic,
        facts: TrailFacts {
            evidence: evidence.map(ToString::to_string).collect(),
            before: from,
            after: Some(format!("{} {}", case.state, case.confidence)),
            ..TrailFacts::default()
        },
        ..about_case(kind, case)
    };
    audit::put(conn, batch.now, batch.program, &note)
}

/// A note about a case, its text still to be filled in.
pub(crate) fn about_case(kind: impl Into<String>, case: &Case) -> AuditNote {
    AuditNote {
        node: case.node.to_string(),
        case: Some(case.id.clone()),
        job: case.run.as_ref().map(triage_core::RunId::scontrol_name),
        ..AuditNote::info(kind, case.id.as_str())
    }
}

/// A case that an action moved on.
pub(crate) struct Moved<'a> {
    /// Where it stands now.
    pub(crate) to: CaseState,
    pub(crate) at: Stamp,
    pub(crate) program: &'a str,
    pub(crate) why: &'a str,
}

/// Writes that an action moved a case on.
pub(crate) fn moved(conn: &Connection, id: &CaseId, moved: &Moved<'_>) -> Result<()> {
    let sql = format!("SELECT {} FROM {} WHERE c.id = ?1", case::COLUMNS, case::FROM);
    let Some(case) = conn.query_row(&sql, [id.as_str()], case::read).optional()? else { return Ok(()) };
    let before = match moved.to {
        CaseState::Acted => CaseState::Open,
        _ => CaseState::Acted,
    };
    let note = AuditNote {
        text: moved.why.to_owned(),
        synthetic: case.synthetic,
        facts: TrailFacts {
            before: Some(format!("{before} {}", case.confidence)),
            after: Some(format!("{} {}", moved.to, case.confidence)),
            ..TrailFacts::default()
        },
        ..about_case(format!("case.{}", moved.to), &case)
    };
    audit::put(conn, moved.at, moved.program, &note)
}

fn change(case: &Case, before: Option<&Before>) -> Option<(String, Option<String>)> {
    let Some(before) = before else { return Some(("case.opened".to_owned(), None)) };
    let was = Some(format!("{} {}", before.state, before.confidence));
    // A closed case is never opened again: what the batch says of it was not written, but that it is let go.
    if !matches!(before.state.parse(), Ok(CaseState::Open | CaseState::Acted)) {
        return (case.stood_down && !before.stood_down).then(|| (LET_GO.to_owned(), was));
    }
    let kind = if case.stood_down && !before.stood_down {
        "case.stood_down".to_owned()
    } else if case.state.word() != before.state {
        format!("case.{}", case.state)
    } else if case.confidence.word() != before.confidence {
        "case.confidence".to_owned()
    } else if i64::try_from(case.events.len()).unwrap_or(i64::MAX) != before.events {
        "case.evidence".to_owned()
    } else {
        return None;
    };
    Some((kind, was))
}

/// Writes that a decision was made.
pub(crate) fn decided(
    conn: &Connection,
    (here, now, program): (&NodeName, Stamp, &str),
    decision: &Decision,
) -> Result<()> {
    let (node, job) = match &decision.subject {
        Subject::Node(node) => (node.to_string(), None),
        Subject::Run(run) => (here.to_string(), Some(run.scontrol_name())),
    };
    let held = decision.held_by().map(|gate| format!("held by {}", gate.name));
    let outcome = match (held, decision.gates.is_empty()) {
        (Some(held), _) => held,
        (None, true) => "noted".to_owned(),
        (None, false) => "wanted".to_owned(),
    };
    let note = AuditNote {
        node,
        job,
        case: decision.case.clone(),
        rule: decision.rule.clone(),
        text: decision.why.clone(),
        synthetic: decision.synthetic,
        facts: TrailFacts {
            gates: decision.gates.clone(),
            mode: Some(decision.mode),
            refers: Some(decision.id.to_string()),
            outcome: Some(outcome),
            ..TrailFacts::default()
        },
        ..AuditNote::info(format!("decision.{}", decision.intent), decision.subject.to_string())
    };
    audit::put(conn, now, program, &note)
}

/// A note about what came of an action, its text still to be filled in.
pub(crate) fn about_action(conn: &Connection, action: &Action, state: IntentState) -> Result<AuditNote> {
    let decision = action.decision().as_str();
    let known = conn
        .query_row(
            "SELECT d.rule, d.case_id, d.node,
                    (SELECT CASE WHEN r.array_job IS NULL THEN CAST(ifnull(r.het, r.job) AS TEXT)
                                 ELSE r.array_job || '_' || r.array_task END FROM runs r WHERE r.id = d.run)
             FROM decisions d WHERE d.id = ?1",
            [decision],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<String>>(1)?,
                    row.get::<_, Option<String>>(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            },
        )
        .optional()?;
    let (rule, case, node, job) = known.unwrap_or_default();
    Ok(AuditNote {
        level: if state == IntentState::Failed { Level::Warning } else { Level::Info },
        rule,
        case: case.as_deref().map(CaseId::from),
        node: node.unwrap_or_default(),
        job,
        facts: TrailFacts {
            refers: Some(decision.to_owned()),
            outcome: Some(state.to_string()),
            ..TrailFacts::default()
        },
        ..AuditNote::info(format!("action.{}", action.kind()), action.key())
    })
}

/// Writes that another policy holds than at the last pass, where one does.
pub(crate) fn policy(conn: &Connection, batch: &Batch<'_>) -> Result<()> {
    const KEY: &str = "policy_digest";
    let Some(digest) = batch.policy else { return Ok(()) };
    let last: Option<String> = meta::get(conn, KEY)?;
    if last.as_deref() == Some(digest) {
        return Ok(());
    }
    meta::set(conn, KEY, &digest)?;
    let text = match &last {
        Some(last) => format!("the policy in force changed from {last} to {digest}"),
        None => format!("the policy in force is {digest}"),
    };
    let note = AuditNote {
        text,
        node: batch.node.to_string(),
        facts: TrailFacts { before: last, after: Some(digest.to_owned()), ..TrailFacts::default() },
        ..AuditNote::info("policy.changed", digest)
    };
    audit::put(conn, batch.now, batch.program, &note)
}

/// Writes that nobody began these intents in time.
pub(crate) fn expired(conn: &Connection, keys: &[String], now: Stamp) -> Result<()> {
    let mut statement = conn.prepare(
        "SELECT a.action FROM actions a WHERE a.key = ?1 AND a.state = 'expired' ORDER BY a.id DESC LIMIT 1",
    )?;
    for key in keys {
        let json: Option<String> = statement.query_row(params![key], |row| row.get(0)).optional()?;
        let Some(action) = json.and_then(|json| triage_core::json::from_text::<Action>(&json).ok()) else {
            continue;
        };
        let note = AuditNote {
            text: "expired: nobody began it in time".to_owned(),
            ..about_action(conn, &action, IntentState::Expired)?
        };
        audit::put(conn, now, "ledger", &note)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_syslog_is_bounded_and_json_whatever_the_row_holds() {
        let long = "\u{1b}[2J\n\"é".repeat(20_000);
        let gate = Gate { name: long.clone(), passed: false, why: long.clone() };
        let facts = TrailFacts {
            gates: vec![gate; 100],
            evidence: vec![long.clone(); 100],
            outcome: Some(long.clone()),
            ..TrailFacts::default()
        };
        let note = AuditNote {
            actor: long.clone(),
            text: long.clone(),
            node: long.clone(),
            rule: long.clone(),
            job: Some(long.clone()),
            facts,
            ..AuditNote::info(long.clone(), long.clone())
        };
        let line = line(&AuditRow { id: 1, at: Stamp::from_secs(0), program: long, note });
        assert!(line.len() < 16 * 1024 && !line.contains(['\n', '\u{1b}']), "{}", line.len());
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    }
}
