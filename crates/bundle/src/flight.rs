//! Dumps of PyTorch's flight recorder: in `flight/`, or beside the job's output under the names PyTorch gives them.
use std::path::{Path, PathBuf};

use triage_core::flight::{Dump, Summary, summarise};

use crate::files;

/// Largest dump, bytes: two thousand collectives with their stacks are some megabytes.
const LARGEST: u64 = 64 << 20;

/// Most dumps of one job that are read.
const MOST: usize = 4096;

/// Whether a file is a dump by its name: `nccl_trace_rank_3`, `comm_lib_trace_rank_3`, `fr_trace.3.json`.
pub(crate) fn is_dump(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.contains("trace_rank") || name.starts_with("fr_trace")
}

pub(crate) fn read(folder: &Path, blind: &mut Vec<String>) -> Option<Summary> {
    let own = files::list(&folder.join("flight")).unwrap_or_default();
    let beside = files::list(&folder.join("output")).unwrap_or_default();
    let paths: Vec<PathBuf> =
        own.into_iter().chain(beside.into_iter().filter(|path| is_dump(path))).take(MOST).collect();
    let mut dumps = Vec::new();
    for path in &paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let dump = files::read(path, LARGEST)
            .map_err(|error| error.to_string())
            .and_then(|bytes| Dump::read(&bytes, rank_of(&name)).map_err(|error| error.to_string()));
        match dump {
            Ok(dump) => dumps.push(dump),
            Err(error) => blind.push(format!("flight recorder dump {name}: {error}")),
        }
    }
    (!dumps.is_empty()).then(|| summarise(&dumps))
}

/// The last number in the name: PyTorch puts the rank there.
fn rank_of(name: &str) -> Option<u32> {
    let stem = name.trim_end_matches(".json").trim_end_matches(".pkl").trim_end_matches(".pickle");
    let digits = stem.chars().rev().take_while(char::is_ascii_digit).count();
    stem.get(stem.len() - digits..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_the_last_number_of_the_name() {
        assert_eq!(rank_of("nccl_trace_rank_13"), Some(13));
        assert_eq!(rank_of("fr_trace.7.json"), Some(7));
        assert_eq!(rank_of("trace"), None);
    }
}
