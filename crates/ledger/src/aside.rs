//! A damaged ledger is moved out of the way, never deleted and never mended in place, and a new one is begun.
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use triage_core::arrange::Arrange as _;

use rusqlite::Transaction;
use triage_core::Stamp;

use crate::batch::{AuditNote, Level};
use crate::error::{Error, Result};
use crate::open::{self, Ledger, OpenOptions};
use crate::place::{self, FileId, Found, Lock, SetAside};
use crate::rows::{audit, meta};

/// Damaged files that are kept. A disk that damages every ledger must not be filled by them.
const KEPT: usize = 4;

/// SQLite's companions of a database file.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Moves the file at `path` aside and begins a new ledger. `suspect` is the file found damaged, where the caller had
/// it open. Should another program have been here first, its new ledger is opened.
pub(crate) fn replace(
    path: &Path,
    options: &OpenOptions,
    suspect: Option<FileId>,
    why: &str,
) -> Result<Ledger> {
    refuse_foreign_names(path, why)?;
    let lock = Lock::make(path)?;
    let seen = place::look(path)?;
    if !lock.alone_unless(options.wait, || Ok(place::look(path)? != seen))? {
        // Another program put a new ledger in its place while we waited.
        return open::open_writer(path, options);
    }
    let is_suspect = matches!(place::look(path)?, Found::File { id, .. } if Some(id) == suspect);
    if !is_suspect {
        match open::open_alone(path, options, lock.again()?) {
            Err(Error::Corrupt { .. }) => {}
            outcome => return outcome,
        }
    }
    let file = move_away(path, options.now)?;
    let mut ledger = open::open_alone(path, options, lock)?;
    let set_aside = SetAside { file, why: why.to_owned() };
    log::error!("{}: damaged ({why}): kept as {}", path.display(), set_aside.file.display());
    ledger.write(|tx| note(tx, options.now, &set_aside))?;
    ledger.opened.set_aside = Some(set_aside);
    Ok(ledger)
}

fn note(tx: &Transaction<'_>, now: Stamp, set_aside: &SetAside) -> Result<()> {
    let file = set_aside.file.display().to_string();
    for (key, value) in [("replaced_file", &file), ("replaced_why", &set_aside.why)] {
        meta::set(tx, key, value)?;
    }
    meta::set(tx, "replaced_at", &now.micros())?;
    let text = format!(
        "the ledger was damaged ({}) and begun anew; what it held is in the file named here",
        set_aside.why
    );
    let note = AuditNote { level: Level::Error, text, ..AuditNote::info("ledger.replaced", &file) };
    audit::put(tx, now, "ledger", &note)
}

/// A mistyped path in the configuration must not make us rename `/etc/passwd`.
fn refuse_foreign_names(path: &Path, why: &str) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "db") {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: path.to_owned(),
        why: format!("{why}; not set aside: the name does not end in .db"),
    })
}

/// Renames the file and its companions; the file last, so that a crash in between leaves it to be found again.
fn move_away(path: &Path, now: Stamp) -> Result<PathBuf> {
    forget_oldest(path);
    let target = free_name(path, now);
    for suffix in COMPANIONS {
        let (from, to) = (place::beside(path, suffix), place::beside(&target, suffix));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io(&from, "set the damaged ledger aside", error));
            }
            _ => {}
        }
    }
    fs::rename(path, &target).map_err(|error| Error::io(path, "set the damaged ledger aside", error))?;
    Ok(target)
}

/// `ledger.db.corrupt-20260301T100005Z`; with a number behind it when two come in one second.
fn free_name(path: &Path, now: Stamp) -> PathBuf {
    let stamp: String = now.to_string().chars().take(19).filter(|c| c.is_ascii_alphanumeric()).collect();
    let first = place::beside(path, &format!(".corrupt-{stamp}Z"));
    let numbered = (2..).map(|n| place::beside(path, &format!(".corrupt-{stamp}Z-{n}")));
    std::iter::once(first.clone())
        .chain(numbered.take(99))
        .find(|name| fs::symlink_metadata(name).is_err())
        .unwrap_or(first)
}

/// Makes room for one more. What cannot be listed or removed stays: this is tidiness, not correctness.
fn forget_oldest(path: &Path) {
    let Some(prefix) = path.file_name().and_then(|name| name.to_str()).map(|name| format!("{name}.corrupt-"))
    else {
        return;
    };
    let Ok(entries) = fs::read_dir(place::folder(path)) else { return };
    let mut kept: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|file| {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(&prefix) && !COMPANIONS.iter().any(|suffix| name.ends_with(suffix))
        })
        .collect();
    kept.arrange();
    let surplus = (kept.len() + 1).saturating_sub(KEPT);
    for file in kept.iter().take(surplus) {
        for gone in COMPANIONS.iter().map(|suffix| place::beside(file, suffix)).chain([file.clone()]) {
            // An error here is a file that is gone already or will be met again next time.
            let _ = fs::remove_file(gone);
        }
    }
}
