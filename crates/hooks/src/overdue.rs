//! A hook that did not finish in time leaves a note in the run folder; the next health check reads it. The ledger
//! cannot be written by a supervisor: the ledger may be what the worker hangs on.
use std::fs;
use std::path::Path;

use triage_core::{Observation, SourceKind};

use crate::ctx::Ctx;
use crate::look;

const FOLDER: &str = "overdue";

/// Longest note read back, bytes.
const MAX_NOTE: usize = 512;

/// Most notes read in one pass; there is one a program.
const MAX_NOTES: usize = 16;

/// Leaves the note. Failing to is no reason to do anything else.
pub fn leave(run: &Path, program: &str, text: &str) {
    let folder = run.join(FOLDER);
    let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(program), text));
}

/// Takes the notes that were left, as observations about ourselves.
pub fn take(ctx: &Ctx<'_>) -> Vec<Observation> {
    let Ok(entries) = fs::read_dir(ctx.config.paths.run.join(FOLDER)) else { return Vec::new() };
    let mut observations = Vec::new();
    for entry in entries.flatten().take(MAX_NOTES) {
        let program = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = fs::read(entry.path()) else { continue };
        let _ = fs::remove_file(entry.path());
        let text = String::from_utf8_lossy(&text[..text.len().min(MAX_NOTE)]).into_owned();
        let mut observation = look::blind(ctx, SourceKind::Suite, &text, true);
        observation.stream = program;
        observations.push(observation);
    }
    observations
}
