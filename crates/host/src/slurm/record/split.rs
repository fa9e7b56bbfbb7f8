//! `scontrol -o show` prints one record a line and `Key=Value` separated by blanks, but escapes nothing: a job's name or
//! comment may hold blanks, equal signs, line feeds, and so whole fields and records that Slurm never wrote.
//!
//! Nothing in the text tells the real ones from those. So both are taken, and where they contradict each other the
//! record is not believed. It is the job's own owner who wrote them, and it is that job which is then left alone.
use std::collections::BTreeMap;
use std::ops::Range;

/// The records of an answer: each begins with a line that begins with `key`; other lines belong to the one before.
pub(super) fn records<'a>(answer: &'a str, key: &str) -> Vec<&'a str> {
    let starts = std::iter::once(0).chain(answer.match_indices('\n').map(|(at, _)| at + 1));
    let starts: Vec<usize> =
        starts.filter(|at| answer.get(*at..).is_some_and(|line| line.starts_with(key))).collect();
    let ends = starts.iter().skip(1).copied().chain([answer.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| answer.get(*start..end)).collect()
}

/// The fields of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    /// Names and values in their order.
    all: Vec<(&'a str, &'a str)>,
}

impl<'a> Fields<'a> {
    /// Takes a record apart. A value ends where a blank and the next name begin.
    pub(super) fn of(record: &'a str) -> Self {
        let names = names(record);
        let ends = names.iter().skip(1).map(|name| name.start).chain([record.len()]);
        let all = names.iter().zip(ends).filter_map(|(name, end)| {
            let value = record.get(name.end + 1..end)?.trim_end();
            Some((record.get(name.clone())?, value))
        });
        Self { all: all.collect() }
    }

    /// The value of a name that is there once, or several times with one value; empty when it is not there.
    ///
    /// # Errors
    /// The name, when it has several values.
    pub(super) fn one(&self, name: &'static str) -> Result<&'a str, &'static str> {
        let mut values = self.all.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value);
        let first = values.next().unwrap_or_default();
        if values.any(|other| other != first) { Err(name) } else { Ok(first) }
    }

    /// The value of a name, the first one; empty when it is not there. For what nothing is decided on, and for node
    /// records, where an administrator's free text stands behind what Slurm writes.
    pub(super) fn first(&self, name: &str) -> &'a str {
        self.all.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| *value)
    }

    /// All of them, the first value of each.
    pub(super) fn to_map(&self) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        for (name, value) in &self.all {
            map.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        map
    }
}

/// Where names stand: behind a blank, letters, digits and a few signs, an upper case letter first.
fn names(record: &str) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    let mut word = 0;
    let mut in_name = true;
    for (at, byte) in record.bytes().enumerate() {
        match byte {
            b' ' | b'\t' | b'\n' => (word, in_name) = (at + 1, true),
            b'=' if in_name => {
                if at > word {
                    names.push(word..at);
                }
                in_name = false;
            }
            _ if word == at => in_name = byte.is_ascii_uppercase(),
            _ => {
                in_name = in_name
                    && (byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'/' | b'%' | b'-'))
            }
        }
    }
    names
}
