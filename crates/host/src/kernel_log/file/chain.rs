//! Which files hold what is new: the one under the log's name and, after a rotation, those it was before.
use std::path::Path;
use triage_core::arrange::Arrange as _;

use super::super::{FileCursor, KernelLogError, Lost};
use super::place::Opened;

/// Most neighbours of the log looked at; logrotate keeps a handful.
const NEIGHBOURS_MAX: usize = 256;

/// A file, and where in it the new part begins.
pub(super) struct Link {
    pub(super) opened: Opened,
    pub(super) offset: u64,
    /// Nobody knows whether a line begins at the offset.
    pub(super) cut: bool,
    /// Nothing will be added to it: its last line is whole, with or without a line feed.
    pub(super) closed: bool,
}

/// The files to read, oldest first, and what cannot be read any more.
pub(super) fn links(
    path: &Path,
    cursor: Option<&FileCursor>,
    max_bytes: usize,
) -> Result<(Vec<Link>, Option<Lost>), KernelLogError> {
    let current = Opened::open(path)?;
    let Some(cursor) = cursor else {
        let offset = current.size.saturating_sub(max_bytes as u64);
        return Ok((vec![Link { opened: current, offset, cut: offset > 0, closed: false }], None));
    };
    if current.continues(cursor) {
        return Ok((vec![Link { opened: current, offset: cursor.offset, cut: false, closed: false }], None));
    }
    let truncated = current.is_inode_of(cursor);
    let (mut links, lost) = match before(path, cursor, &current) {
        links if !links.is_empty() => (links, None),
        _ => {
            let what = if truncated { "truncated" } else { "rotated" };
            let why = format!("{} was {what}; the rest of what it held is not found beside it", cursor.path);
            (Vec::new(), Some(Lost::Unknown(why)))
        }
    };
    links.push(Link { opened: current, offset: 0, cut: false, closed: false });
    Ok((links, lost))
}

/// The file of the cursor under its new name, and those that were rotated after it.
fn before(path: &Path, cursor: &FileCursor, current: &Opened) -> Vec<Link> {
    let mut others = neighbours(path);
    others.retain(|other| (other.device, other.inode) != (current.device, current.inode));
    others.arrange_by_key(|other| other.modified);
    let found = others
        .iter()
        .position(|other| other.continues(cursor))
        .or_else(|| others.iter().position(|other| other.is_copy_of(cursor)));
    let Some(found) = found else { return Vec::new() };
    let rest = others.into_iter().skip(found).enumerate();
    rest.map(|(at, opened)| {
        let offset = if at == 0 { cursor.offset } else { 0 };
        Link { opened, offset, cut: false, closed: true }
    })
    .collect()
}

/// Files beside the log that begin with its name: `kern.log.1`, `kern.log-20260301`. Compressed ones are no text.
fn neighbours(path: &Path) -> Vec<Opened> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let is_rotated = |other: &str| {
        let rest = other.strip_prefix(name).filter(|rest| rest.starts_with(['.', '-']));
        rest.is_some_and(|rest| ![".gz", ".xz", ".zst", ".bz2"].iter().any(|end| rest.ends_with(end)))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let rotated = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_rotated));
    rotated.take(NEIGHBOURS_MAX).filter_map(|entry| Opened::open(&entry.path()).ok()).collect()
}
