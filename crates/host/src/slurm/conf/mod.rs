//! Slurm's configuration files as lines of `Key=value` pairs: comments, continued lines, quoted values and `Include` as
//! slurm.conf(5) has them. What a key means is for whoever asks.
mod node;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub use node::{applies_to, node_pairs};

/// Largest file, bytes, and most files of one configuration. A `slurm.conf` of 10 000 nodes is below 1 MiB.
const MAX_FILE: u64 = 8 * 1024 * 1024;
const MAX_FILES: usize = 64;

/// Deepest chain of `Include`.
const MAX_DEPTH: usize = 8;

/// One line that is none of `Include`: its pairs in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pairs: Vec<(String, String)>,
}

impl Line {
    /// The value of a key; Slurm's keys know no case.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    /// The pairs.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

/// A configuration that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfError {
    /// A file is not there or cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Files that include each other, or too many of them.
    #[error("{}: more than {MAX_FILES} included files, or {MAX_DEPTH} inside each other", path.display())]
    TooMany {
        /// The file that would have been one too many.
        path: PathBuf,
    },
}

impl ConfError {
    /// Whether the file just is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The lines of a file and of those it includes, in the order Slurm reads them.
///
/// # Errors
/// See [`ConfError`].
pub fn read(path: &Path) -> Result<Vec<Line>, ConfError> {
    let (mut lines, mut files) = (Vec::new(), 0);
    read_into(path, 0, &mut files, &mut lines)?;
    Ok(lines)
}

fn read_into(path: &Path, depth: usize, files: &mut usize, lines: &mut Vec<Line>) -> Result<(), ConfError> {
    *files += 1;
    if depth > MAX_DEPTH || *files > MAX_FILES {
        return Err(ConfError::TooMany { path: path.to_owned() });
    }
    let text = text(path).map_err(|source| ConfError::Unreadable { path: path.to_owned(), source })?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    for line in logical_lines(&text) {
        match included(&line) {
            Some(name) => read_into(&folder.join(name), depth + 1, files, lines)?,
            None => lines.extend(parse(&line)),
        }
    }
    Ok(())
}

fn text(path: &Path) -> io::Result<String> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file of at most 8 MiB"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lines with their continuations joined and their comments gone. `\#` is a number sign.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for raw in text.lines() {
        let line = without_comment(raw);
        match line.strip_suffix('\\') {
            Some(begun) if line.len() == raw.len() => open.push_str(begun),
            _ => {
                open.push_str(&line);
                lines.push(std::mem::take(&mut open));
            }
        }
    }
    lines.push(open);
    lines.retain(|line| !line.trim().is_empty());
    lines
}

fn without_comment(raw: &str) -> String {
    let mut line = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '#' => break,
            '\\' if chars.peek() == Some(&'#') => line.extend(chars.next()),
            c => line.push(c),
        }
    }
    line
}

/// The name after `Include`.
fn included(line: &str) -> Option<&str> {
    let (word, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let name = rest.trim();
    (word.eq_ignore_ascii_case("include") && !name.is_empty()).then_some(name)
}

fn parse(line: &str) -> Option<Line> {
    let mut pairs = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let Some((key, after)) = rest.split_once('=') else { break };
        // A word without a value stands before the key: it is none of ours.
        let key = key.split_whitespace().next_back().unwrap_or_default();
        let (value, left) = value(after.trim_start());
        if !key.is_empty() {
            pairs.push((key.trim_end_matches(['+', '-', '*', '/']).to_owned(), value.to_owned()));
        }
        rest = left.trim_start();
    }
    (!pairs.is_empty()).then_some(Line { pairs })
}

/// A value, quoted or up to the next space, and what follows it.
fn value(text: &str) -> (&str, &str) {
    match text.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
        Some(parts) => parts,
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    }
}

#[cfg(test)]
mod tests;
