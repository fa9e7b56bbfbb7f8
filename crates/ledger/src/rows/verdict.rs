//! `verdicts`.
use rusqlite::{Connection, Row, params};
use triage_core::{Grounds, Verdict};

use super::{SqlResult, json, optional_text, run, stamp, text, to_json, word};
use crate::error::Result;

/// For a query over [`FROM`].
pub(crate) const COLUMNS: &str = "v.id, v.at, v.class, v.confidence, v.culprits, v.victims, v.cases, v.evidence, \
     v.synthetic, v.story, v.rule, v.code, v.resource, v.trusted, v.told, v.discounted, v.blind, r.cluster, r.job, r.array_job, r.array_task, r.het, r.restart, r.start";

/// Where [`COLUMNS`] come from.
pub(crate) const FROM: &str = "verdicts v JOIN runs r ON r.id = v.run";

/// Writes the verdict unless it is there already: what was judged once stays as it was judged.
pub(crate) fn put(conn: &Connection, verdict: &Verdict) -> Result<()> {
    let run = run::number(conn, &verdict.run)?;
    let grounds = &verdict.grounds;
    conn.execute(
        "INSERT INTO verdicts (id, run, at, class, confidence, culprits, victims, cases, evidence, synthetic, story,
             rule, code, resource, trusted, told, discounted, blind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) ON CONFLICT (id) DO NOTHING",
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
            grounds.rule,
            grounds.code.as_str(),
            grounds.resource.as_ref().map(ToString::to_string),
            grounds.trusted,
            to_json("evidence", &grounds.told)?,
            to_json("what was discounted", &grounds.discounted)?,
            to_json("what was not seen", &grounds.blind)?,
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
        grounds: Grounds {
            rule: row.get("rule")?,
            code: text(row, "code")?,
            resource: optional_text(row, "resource")?,
            trusted: row.get("trusted")?,
            told: json(row, "told")?,
            discounted: json(row, "discounted")?,
            blind: json(row, "blind")?,
        },
    })
}
