//! `decisions`, also those that were held back.
use rusqlite::{Connection, Row, params};
use triage_core::{Decision, NodeName, Subject};

use super::{SqlResult, json, optional_text, run, stamp, text, to_json, word};
use crate::error::Result;

/// For a query over [`FROM`].
pub(crate) const COLUMNS: &str = "d.id, d.at, d.node, d.intent, d.rule, d.mode, d.gates, d.case_id, d.verdict_id, \
     d.synthetic, d.why, r.cluster, r.job, r.array_job, r.array_task, r.het, r.restart, r.start";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "decisions d LEFT JOIN runs r ON r.id = d.run";

/// Writes the decision; `false` when it is there already.
pub(crate) fn put(conn: &Connection, decision: &Decision) -> Result<bool> {
    let (node, run) = match &decision.subject {
        Subject::Node(node) => (Some(node.as_str()), None),
        Subject::Run(run) => (None, Some(run::number(conn, run)?)),
    };
    let new = conn.execute(
        "INSERT INTO decisions (id, at, node, run, intent, rule, mode, gates, case_id, verdict_id, synthetic, why)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING",
        params![
            decision.id.as_str(),
            decision.at.micros(),
            node,
            run,
            decision.intent.word(),
            decision.rule,
            decision.mode.word(),
            to_json("gates", &decision.gates)?,
            decision.case.as_ref().map(|id| id.as_str()),
            decision.verdict.as_ref().map(|id| id.as_str()),
            decision.synthetic,
            decision.why,
        ],
    )?;
    Ok(new > 0)
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<Decision> {
    let node: Option<NodeName> = optional_text(row, "node")?;
    Ok(Decision {
        id: text(row, "id")?,
        at: stamp(row, "at")?,
        subject: match node {
            Some(node) => Subject::Node(node),
            None => Subject::Run(run::read(row)?),
        },
        intent: word(row, "intent")?,
        rule: row.get("rule")?,
        mode: word(row, "mode")?,
        gates: json(row, "gates")?,
        case: optional_text(row, "case_id")?,
        verdict: optional_text(row, "verdict_id")?,
        synthetic: row.get("synthetic")?,
        why: row.get("why")?,
    })
}
