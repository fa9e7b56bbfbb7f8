//! When a fault lasts: from a time or a file's appearance, for so long or until another file.
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::file::FaultTable;
use super::place::Place;

/// Beginning and end of a fault.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    begin: Begin,
    after: Duration,
    lasts: Option<Duration>,
    until: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
enum Begin {
    At(SystemTime),
    /// When that file was last modified.
    File(PathBuf),
}

impl Window {
    /// Reads the timing keys of a fault; `start` is the scenario's.
    pub(crate) fn read(table: &FaultTable, start: SystemTime, place: &Place) -> Result<Self, String> {
        let begin = match (&table.at, &table.when_file) {
            (Some(_), Some(_)) => return Err("at and when_file exclude each other".to_owned()),
            (Some(at), None) => Begin::At(at.0),
            (None, Some(file)) => Begin::File(place.resolve(file)),
            (None, None) => Begin::At(start),
        };
        let after = table.after_s.map(|given| seconds("after_s", given)).transpose()?;
        let lasts = table.for_s.map(|given| seconds("for_s", given)).transpose()?;
        let until = table.until_file.as_deref().map(|file| place.resolve(file));
        Ok(Self { begin, after: after.unwrap_or_default(), lasts, until })
    }

    /// Whether the fault is on at `now`. Looks at the files it names.
    pub(crate) fn contains(&self, now: SystemTime) -> bool {
        let begin = match &self.begin {
            Begin::At(time) => Some(*time),
            Begin::File(path) => path.metadata().and_then(|file| file.modified()).ok(),
        };
        let Some(begin) = begin.and_then(|begin| begin.checked_add(self.after)) else { return false };
        let over = self.lasts.and_then(|lasts| begin.checked_add(lasts)).is_some_and(|end| now >= end);
        now >= begin && !over && !self.until.as_ref().is_some_and(|file| file.exists())
    }
}

/// A length of time in seconds, which must be finite and not negative.
pub(crate) fn seconds(key: &str, given: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(given).map_err(|_| format!("{key} = {given} is no length of time in seconds"))
}
