//! What the node had when it was admitted, learned by a person's word or by the health check.
use rusqlite::Transaction;
use triage_core::Stamp;
use triage_core::baseline::Learned;

use crate::batch::{AuditNote, Reading};
use crate::error::Result;
use crate::load;
use crate::open::Ledger;
use crate::people::Word;
use crate::rows::{audit, baseline};
use crate::trail::TrailFacts;

impl Ledger {
    /// The baseline that holds.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn baseline(&self) -> Result<Option<Learned>> {
        self.read(baseline::last)
    }

    /// The last sweep over NVML.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn last_reading(&self) -> Result<Option<Reading>> {
        self.read(load::last_reading)
    }

    /// Takes a baseline by a person's word.
    ///
    /// # Errors
    /// See [`crate::Error`]; nothing was written then.
    pub fn learn(&mut self, learned: &Learned, word: &Word<'_>) -> Result<()> {
        self.write(|tx| put(tx, learned, word.now, word.program, word.person.clone()))
    }
}

/// Writes the baseline and who took it.
pub(crate) fn put(
    tx: &Transaction<'_>,
    learned: &Learned,
    now: Stamp,
    program: &str,
    facts: TrailFacts,
) -> Result<()> {
    baseline::put(tx, learned, now)?;
    let note = AuditNote {
        actor: learned.by.clone(),
        text: format!("baseline learned: {}", learned.why),
        facts: TrailFacts { after: Some("baseline".to_owned()), ..facts },
        ..AuditNote::info("baseline.learned", "")
    };
    audit::put(tx, now, program, &note)
}
