//! A file that a log daemon writes: it grows, and is rotated or truncated behind our back.
mod dating;
mod place;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use triage_core::{BootId, Stamp};

pub(super) use dating::Dating;

use super::read::{Entry, Origin};
use super::{Cursor, FileCursor, KernelLogError, KernelRead, Limits, Lost};
use crate::clock::Clock;
use place::{Opened, Place};

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
    let mut opened = Opened::open(path)?;
    let mut taken = Taken::default();
    let unreadable = |source| KernelLogError::Read { path: path.to_owned(), source };
    let from = match opened.place(cursor) {
        Place::Same(offset) => offset,
        Place::First => opened.size.saturating_sub(limits.max_bytes as u64),
        Place::Rotated(old) => {
            taken.lost.extend(rest_of_rotated(path, old, limits, &mut taken.buffer, &mut taken.lines));
            0
        }
        Place::Truncated => {
            taken.lost.push(Lost::Unknown(format!(
                "{name} was truncated; what it held after the last look is lost"
            )));
            0
        }
    };
    // In the middle of a file nobody knows whether a line begins there.
    let cut = from > 0 && cursor.is_none();
    let offset = taken.append(&mut opened, from, cut, limits).map_err(unreadable)?;
    let more = offset < opened.size && taken.buffer.len() >= limits.max_bytes;
    let earlier = cursor.map(|cursor| cursor.boot.clone()).filter(|earlier| *earlier != *boot);
    let since = cursor.map(|cursor| cursor.read_at);
    Ok(KernelRead {
        origin: Origin::File { path: name.clone(), dating: Dating::new(boot_time, since, earlier) },
        boot: boot.clone(),
        buffer: taken.buffer,
        lines: taken.lines,
        read_at: now,
        cursor: Cursor::File(FileCursor {
            boot: boot.clone(),
            path: name,
            device: opened.device,
            inode: opened.inode,
            offset,
            generation: opened.generation,
            read_at: if more { since.unwrap_or(now) } else { now },
        }),
        lost: taken.lost,
        dropped_user_lines: 0,
        more,
    })
}

/// The end of the file that was followed, where rotation only gave it the name `<path>.1`. What is left of it comes
/// before the new file; where it cannot be found, that is said.
fn rest_of_rotated(
    path: &Path,
    old: &FileCursor,
    limits: Limits,
    buffer: &mut Vec<u8>,
    lines: &mut Vec<Entry>,
) -> Option<Lost> {
    let gone =
        || Some(Lost::Unknown(format!("{} was rotated; the end of the old file was not found", old.path)));
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    let Ok(mut rotated) = Opened::open(Path::new(&name)) else { return gone() };
    if (rotated.device, rotated.inode) != (old.device, old.inode) || rotated.size < old.offset {
        return gone();
    }
    let mut taken = Taken::default();
    if taken.append(&mut rotated, old.offset, false, limits).is_err() {
        return gone();
    }
    buffer.append(&mut taken.buffer);
    lines.append(&mut taken.lines);
    None
}

/// What has been read so far.
#[derive(Default)]
struct Taken {
    buffer: Vec<u8>,
    lines: Vec<Entry>,
    lost: Vec<Lost>,
}

impl Taken {
    /// Appends whole lines from `from` on; returns where the next pass begins. A torn last line is left for it.
    fn append(&mut self, opened: &mut Opened, from: u64, cut: bool, limits: Limits) -> std::io::Result<u64> {
        let room = limits.max_bytes.saturating_sub(self.buffer.len());
        let mut bytes = Vec::new();
        opened.file.seek(SeekFrom::Start(from))?;
        Read::by_ref(&mut opened.file).take(room as u64).read_to_end(&mut bytes)?;
        let generation = opened.generation.unwrap_or(0);
        let mut start =
            if cut { bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1) } else { 0 };
        while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let (length, next) = match rest.iter().take(LINE_MAX).position(|b| *b == b'\n') {
                Some(at) => (at, at + 1),
                None if rest.len() >= LINE_MAX => (LINE_MAX, LINE_MAX),
                None => break,
            };
            self.line(&rest[..length], from.saturating_add(start as u64), generation);
            start += next;
        }
        Ok(from.saturating_add(start as u64))
    }

    fn line(&mut self, text: &[u8], cursor: u64, generation: u64) {
        let start = self.buffer.len();
        // A NUL would end the line for some reader further on.
        self.buffer.extend(text.iter().map(|b| if *b == 0 { b' ' } else { *b }));
        let range = start..self.buffer.len();
        self.buffer.push(b'\n');
        self.lines.push(Entry { range, cursor, at: Stamp::default(), generation, synthetic: false });
    }
}

fn first_line(file: &mut File) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    Read::by_ref(file).take(4096).read_to_end(&mut head)?;
    let end = head.iter().position(|b| *b == b'\n');
    Ok(match end {
        Some(end) => Some(head[..end].to_vec()),
        None if head.len() == 4096 => Some(head),
        None => None,
    })
}

#[cfg(test)]
mod tests;
