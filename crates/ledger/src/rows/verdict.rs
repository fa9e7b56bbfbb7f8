//! `verdicts`.
use rusqlite::{Connection, Row, params};
use triage_core::Verdict;

use super::{SqlResult, json, run, stamp, text, to_json, word};
use crate::error::Result;

/// For a query over [`FROM`].
pub(crate) const COLUMNS: &str = "v.id, v.at, v.class, v.confidence, v.culprits, v.victims, v.cases, v.evidence, \
     v.synthetic, v.story, r.cluster, r.job, r.array_job, r.array_task, r.het, r.restart, r.start";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "verdicts v JOIN runs r ON r.id = v.run";

/// Writes the verdict unless it is there already: what was judged once stays as it was judged.
pub(crate) fn put(conn: &Connection, verdict: &Verdict) -> Result<()> {
    let run = run::number(conn, &verdict.run)?;
    conn.execute(
        "INSERT INTO verdicts (id, run, at, class, confidence, culprits, victims, cases, evidence, synthetic, story)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING",
        params![
            verdict.id.as_str(),
            run,
            verdict.at.micros(),
            verdict.class.word(),
            verdict.confidence.word(),
            to_json("culprits", &verdict.culprits)?,
            to_json("victims", &verdict.victims)?,
            to_json("case ids", &verdict.cases)?,
            to_json("event ids", &verdict.evidence)?,
            verdict.synthetic,
            to_json("a story", &verdict.story)?,
        ],
    )?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> SqlResult<Verdict> {
    Ok(Verdict {
        id: text(row, "id")?,
        run: run::read(row)?,
        at: stamp(row, "at")?,
        class: word(row, "class")?,
        confidence: word(row, "confidence")?,
        culprits: json(row, "culprits")?,
        victims: json(row, "victims")?,
        cases: json(row, "cases")?,
        evidence: json(row, "evidence")?,
        synthetic: row.get("synthetic")?,
        story: json(row, "story")?,
    })
}
