//! A file that a log daemon writes: it grows, and is rotated or truncated behind our back.
mod chain;
mod dating;
mod place;

use std::path::Path;

use triage_core::{BootId, Stamp};

pub(super) use dating::Dating;

use super::read::{Entry, Origin};
use super::{Cursor, FileCursor, KernelLogError, KernelRead, Limits};
use crate::clock::Clock;
use chain::Link;
use place::Opened;

/// A line longer than this is cut into pieces that are lines of their own, so that one without end cannot fill memory
/// or stand still for ever.
const LINE_MAX: usize = 64 * 1024;

/// What came into the file since `cursor`.
pub(super) fn read_new(
    path: &Path,
    boot: &BootId,
    boot_time: Option<Stamp>,
    cursor: Option<&FileCursor>,
    limits: Limits,
    clock: &dyn Clock,
) -> Result<KernelRead, KernelLogError> {
    let now = clock.now();
    let name = path.display().to_string();
    let cursor = cursor.filter(|cursor| cursor.path == name);
    let (links, lost) = chain::links(path, cursor, limits.max_bytes)?;
    let taken =
        take(links, limits).map_err(|source| KernelLogError::Read { path: path.to_owned(), source })?;
    let earlier = cursor.map(|cursor| cursor.boot.clone()).filter(|earlier| *earlier != *boot);
    let since = cursor.map(|cursor| cursor.read_at);
    // Until the last line before this boot has been read, lines are dated as those of the boot they are from.
    let followed = if taken.more { earlier.clone().unwrap_or_else(|| boot.clone()) } else { boot.clone() };
    Ok(KernelRead {
        origin: Origin::File { path: name.clone(), dating: Dating::new(boot_time, since, earlier) },
        boot: boot.clone(),
        buffer: taken.buffer,
        lines: taken.lines,
        read_at: now,
        cursor: Cursor::File(FileCursor {
            boot: followed,
            path: name,
            device: taken.last.device,
            inode: taken.last.inode,
            offset: taken.offset,
            generation: taken.last.generation,
            read_at: if taken.more { since.unwrap_or(now) } else { now },
        }),
        lost: lost.into_iter().collect(),
        dropped_user_lines: 0,
        more: taken.more,
    })
}

/// What has been read.
struct Taken {
    buffer: Vec<u8>,
    lines: Vec<Entry>,
    /// The file in which reading stopped, and where.
    last: Opened,
    offset: u64,
    more: bool,
}

/// Reads the files one after the other until a bound is met.
fn take(links: Vec<Link>, limits: Limits) -> std::io::Result<Taken> {
    let (mut buffer, mut lines) = (Vec::new(), Vec::new());
    let mut left = links.len();
    for mut link in links {
        left -= 1;
        let room = limits.max_bytes.saturating_sub(buffer.len());
        let bytes = link.opened.bytes(link.offset, room)?;
        let rest = link.opened.size.saturating_sub(link.offset.saturating_add(bytes.len() as u64));
        let whole = link.closed && rest == 0;
        let offset = split(&bytes, &link, whole, &mut buffer, &mut lines);
        if left == 0 || rest > 0 {
            return Ok(Taken { buffer, lines, last: link.opened, offset, more: rest > 0 });
        }
    }
    // There is always the file under the log's own name.
    Err(std::io::Error::from(std::io::ErrorKind::NotFound))
}

/// Appends the whole lines of `bytes`; returns where the next pass begins. A torn last line is left for it, unless the
/// file is `whole` and nothing will follow.
fn split(bytes: &[u8], link: &Link, whole: bool, buffer: &mut Vec<u8>, lines: &mut Vec<Entry>) -> u64 {
    let generation = link.opened.generation.unwrap_or(0);
    let skipped = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1);
    let mut start = if link.cut { skipped } else { 0 };
    while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
        let (length, next) = match rest.iter().take(LINE_MAX).position(|b| *b == b'\n') {
            Some(at) => (at, at + 1),
            None if rest.len() >= LINE_MAX => (LINE_MAX, LINE_MAX),
            None if whole => (rest.len(), rest.len()),
            None => break,
        };
        let begin = buffer.len();
        // A NUL would end the line for some reader further on.
        buffer.extend(rest.iter().take(length).map(|b| if *b == 0 { b' ' } else { *b }));
        let range = begin..buffer.len();
        buffer.push(b'\n');
        let cursor = link.offset.saturating_add(start as u64);
        lines.push(Entry { range, cursor, at: Stamp::default(), generation, synthetic: false });
        start += next;
    }
    link.offset.saturating_add(start as u64)
}

#[cfg(test)]
mod tests;
