//! Which files there are, and which of them can be read.
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use triage_core::arrange::Arrange as _;

use triage_core::Stamp;
use triage_core::joblog::MOST_FILES;

use super::OutputRequest;
use super::file;
use super::pattern::Pattern;

/// Most names of a folder that are looked at. Sites keep a few thousand logs in one folder, some a hundred thousand.
const MOST_NAMES: usize = 200_000;

/// A file written last so long before the run began is none of it, seconds. A file server's clock may be off by less.
const STALE_S: i64 = 300;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Its name in the report, unique.
    pub(super) name: String,
    /// Its length when it was found.
    pub(super) length: u64,
}

/// The files of the job that can be read, by name, and a sentence for each that cannot.
pub(super) fn find(request: &OutputRequest) -> (Vec<Found>, Vec<String>) {
    let mut blind = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    let mut seen = HashSet::new();
    for path in paths(request, &mut blind) {
        match look(&path, request.start) {
            Ok((identity, length)) if seen.insert(identity) => {
                let name = name(&path);
                found.push(Found { path, name, length });
            }
            Ok(_) => {}
            Err(why) => blind.push(format!("output {}: {why}", path.display())),
        }
    }
    found.arrange_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    make_unique(&mut found);
    (found, blind)
}

fn paths(request: &OutputRequest, blind: &mut Vec<String>) -> Vec<PathBuf> {
    let mut texts: Vec<&str> = vec![&request.stdout, &request.stderr];
    texts.retain(|text| !text.is_empty() && *text != "(null)");
    texts.dedup();
    if texts.is_empty() {
        blind.push("the job has no output file: it was started by srun or salloc".to_owned());
    }
    let names = request.names();
    let mut paths = Vec::new();
    for text in texts {
        match Pattern::new(text, &request.work_dir, &names) {
            Ok(pattern) => match pattern.only() {
                Some(path) => paths.push(path),
                None => paths.extend(search(&pattern, text, blind)),
            },
            Err(why) => blind.push(format!("output {text}: {why}")),
        }
    }
    paths
}

/// The files of a folder that a pattern means.
fn search(pattern: &Pattern, text: &str, blind: &mut Vec<String>) -> Vec<PathBuf> {
    let entries = match fs::read_dir(&pattern.folder) {
        Ok(entries) => entries,
        Err(error) => {
            blind.push(format!("output {text}: its folder cannot be searched: {error}"));
            return Vec::new();
        }
    };
    let mut looked_at = 0;
    let names = entries.take(MOST_NAMES).filter_map(|entry| {
        looked_at += 1;
        entry.ok().map(|entry| entry.file_name())
    });
    let mut paths: Vec<PathBuf> =
        names.filter(|name| pattern.matches(name)).map(|name| pattern.folder.join(name)).collect();
    if looked_at == MOST_NAMES {
        blind.push(format!("output {text}: only {MOST_NAMES} names of its folder were looked at"));
    }
    if paths.is_empty() {
        blind.push(format!("output {text}: there is no such file"));
    }
    paths.arrange();
    if paths.len() > MOST_FILES {
        blind.push(format!("output {text}: {MOST_FILES} of its {} files were read", paths.len()));
        paths.truncate(MOST_FILES);
    }
    paths
}

fn look(path: &Path, start: Stamp) -> Result<((u64, u64), u64), String> {
    let (_, meta) = file::open(path)?;
    let written = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let written = written.map_or(0, |since: Duration| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    if written < start.plus_secs(-STALE_S).micros() / 1_000_000 {
        return Err("it was last written before the run began".to_owned());
    }
    if meta.len() == 0 {
        return Err("it is empty".to_owned());
    }
    Ok((file::identity(&meta), meta.len()))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Files of the same name in two folders.
fn make_unique(found: &mut [Found]) {
    let mut taken = HashSet::new();
    for index in 0..found.len() {
        let Some(file) = found.get_mut(index) else { return };
        let plain = file.name.clone();
        let mut number = 1;
        while !taken.insert(file.name.clone()) {
            number += 1;
            file.name = format!("{plain}.{number}");
        }
    }
}
