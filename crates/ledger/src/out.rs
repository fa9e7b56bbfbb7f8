//! Cases for which this node was taken out, and what was done about them since.
use rusqlite::{Connection, params};
use triage_core::{Case, OutCase, Stamp, Try};

use crate::Ledger;
use crate::error::Result;
use crate::intents::{IntentRow, IntentState};
use crate::rows::{self, case, intent};

/// Repairs and tests of one case that a pass is given at most, the latest ones.
const TRIES: u32 = 32;
/// Returns into service that a pass is given at most, the latest ones. A site that lets a node come and go more often
/// within its window has no brake at all.
const RETURNS: u32 = 64;

impl Ledger {
    /// Cases for which our drain of this node stands, as far as the last health check saw: oldest drain first, closed
    /// cases among them.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn out(&self) -> Result<Vec<OutCase>> {
        self.read(cases)
    }
}

/// Cases whose drain was carried out, that are not let go, and whose drain was not lifted since.
pub(crate) fn cases(conn: &Connection) -> Result<Vec<OutCase>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {}, d.settled_at AS drained FROM {} JOIN (
             SELECT case_id, max(settled_at) AS settled_at FROM actions
             WHERE state = 'done' AND kind = 'drain' AND case_id IS NOT NULL GROUP BY case_id) d ON d.case_id = c.id
         WHERE c.stood_down = 0 AND NOT EXISTS (
             SELECT 1 FROM actions a WHERE a.state = 'done' AND a.kind = 'resume' AND a.case_id = c.id)
         ORDER BY drained, c.id",
        case::COLUMNS,
        case::FROM
    ))?;
    let found: Vec<(Case, Stamp)> =
        rows::collect(&mut statement, [], |row| Ok((case::read(row)?, rows::stamp(row, "drained")?)))?;
    found
        .into_iter()
        .map(|(case, drained_at)| Ok(OutCase { tries: tries(conn, &case)?, case, drained_at }))
        .collect()
}

fn tries(conn: &Connection, case: &Case) -> Result<Vec<Try>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {} FROM actions a WHERE a.case_id = ?1 AND a.kind IN ('reset', 'reboot', 'verify', 'down')
         ORDER BY a.id DESC LIMIT ?2",
        intent::COLUMNS
    ))?;
    let mut found = rows::collect(&mut statement, params![case.id.as_str(), TRIES], intent::read)?;
    found.reverse();
    Ok(found.into_iter().filter(|row| row.state != IntentState::Expired).map(tried).collect())
}

fn tried(row: IntentRow) -> Try {
    let went_well = match row.state {
        IntentState::Done => Some(true),
        IntentState::Failed => Some(false),
        _ => None,
    };
    Try { action: row.action, went_well, at: row.settled_at.unwrap_or(row.created), answer: row.answer }
}

/// When our drains were lifted by us, the last times, oldest first.
pub(crate) fn returns(conn: &Connection) -> Result<Vec<Stamp>> {
    let mut statement = conn.prepare(
        "SELECT settled_at FROM actions WHERE state = 'done' AND kind = 'resume' ORDER BY settled_at DESC LIMIT ?1",
    )?;
    let mut times = rows::collect(&mut statement, [RETURNS], |row| rows::stamp(row, "settled_at"))?;
    times.reverse();
    Ok(times)
}
