//! `actions`: intents and what became of them.
use rusqlite::{Connection, OptionalExtension, Row, params};
use triage_core::{Action, Stamp};

use super::source::process;
use super::{SqlResult, json, optional_stamp, run, stamp, to_json, word};
use crate::batch::NewIntent;
use crate::error::Result;
use crate::intents::{IntentRow, IntentState};
use crate::trail;

/// For a query over `actions a`.
pub(crate) const COLUMNS: &str = "a.id, a.state, a.action, a.synthetic, a.created, a.expires, a.attempts, \
     a.owner_pid, a.owner_start, a.owner_boot, a.claimed_at, a.lease_until, a.settled_at, a.answer";

/// Writes the intent; `false` when it stands already, or failed for good under the same decision.
pub(crate) fn put(conn: &Connection, intent: &NewIntent, now: Stamp) -> Result<bool> {
    let key = intent.action.key();
    expire_pending(conn, &key, now)?;
    let decision = intent.action.decision().as_str();
    let blocked = conn
        .query_row(
            "SELECT 1 FROM actions WHERE key = ?1
             AND (state IN ('pending', 'running', 'done') OR (state = 'failed' AND decision_id = ?2))",
            params![key, decision],
            |_| Ok(()),
        )
        .optional()?;
    if blocked.is_some() {
        return Ok(false);
    }
    let (case, run, node) = about(&intent.action);
    conn.execute(
        "INSERT INTO actions (key, kind, state, decision_id, case_id, run, node, action, synthetic, created, expires)
         VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7,
                 max(?8, ifnull((SELECT synthetic FROM decisions WHERE id = ?3), 0)), ?9, ?10)",
        params![
            key,
            intent.action.kind(),
            decision,
            case,
            run::optional_number(conn, run)?,
            node,
            to_json("an action", &intent.action)?,
            intent.synthetic,
            now.micros(),
            intent.expires.micros(),
        ],
    )?;
    Ok(true)
}

fn expire_pending(conn: &Connection, key: &str, now: Stamp) -> Result<()> {
    let changed = conn.execute(
        "UPDATE actions SET state = 'expired', settled_at = ?2
         WHERE key = ?1 AND state = 'pending' AND expires < ?2",
        params![key, now.micros()],
    )?;
    if changed > 0 { trail::expired(conn, &[key.to_owned()], now) } else { Ok(()) }
}

/// Case, run and node of an action, for the columns people filter by.
pub(crate) fn about(action: &Action) -> (Option<&str>, Option<&triage_core::RunId>, Option<&str>) {
    match action {
        Action::Drain { node, case, .. }
        | Action::ConfirmDrain { node, case, .. }
        | Action::Reset { node, case, .. }
        | Action::Reboot { node, case, .. }
        | Action::Verify { node, case, .. }
        | Action::Down { node, case, .. }
        | Action::Resume { node, case, .. } => (Some(case.as_str()), None, Some(node.as_str())),
        Action::Requeue { run, .. }
        | Action::KillSteps { run, .. }
        | Action::LastLine { run, .. }
        | Action::ClearBeginTime { run, .. }
        | Action::Explain { run, .. } => (None, Some(run), None),
        Action::Publish { node, .. } => (None, None, Some(node.as_str())),
        Action::RefuseJob { run, case, .. } => (Some(case.as_str()), Some(run), None),
    }
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<IntentRow> {
    Ok(IntentRow {
        id: row.get("id")?,
        action: json(row, "action")?,
        state: word::<IntentState>(row, "state")?,
        synthetic: row.get("synthetic")?,
        created: stamp(row, "created")?,
        expires: stamp(row, "expires")?,
        attempts: row.get("attempts")?,
        owner: process(row, ["owner_pid", "owner_start", "owner_boot"])?,
        claimed_at: optional_stamp(row, "claimed_at")?,
        lease_until: optional_stamp(row, "lease_until")?,
        settled_at: optional_stamp(row, "settled_at")?,
        answer: row.get("answer")?,
    })
}
