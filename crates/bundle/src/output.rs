//! `output/*`: what the job printed, streamed; of a huge file its beginning and its end.
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use triage_core::attribute::OutputEvent;
use triage_core::catalog::Catalog;
use triage_core::joblog::{Calendar, Hints, Scanner};
use triage_core::{BootId, Stamp};

use crate::incident::Incident;
use crate::{files, flight};

/// Bytes of a file's beginning that are read: start-up, versions, addresses.
const HEAD: u64 = 1 << 20;

/// Bytes of a file's end that are read: how it ended, and the hour before.
const TAIL: u64 = 64 << 20;

/// Bytes of all files together, so that a thousand files of the greatest size end too.
const ALL: u64 = 4 << 30;

/// Bytes read at once: stays in the cache while it is looked at.
const PIECE: usize = 256 << 10;

/// A day covers every time zone a program may write its times in.
const ZONES_S: i64 = 86_400;

pub(crate) fn read(
    folder: &Path,
    incident: &Incident,
    catalog: &Catalog,
    blind: &mut Vec<String>,
) -> Vec<OutputEvent> {
    let run = &incident.run;
    let hints = Hints {
        calendar: Calendar { start: run.start, end: run.end.unwrap_or_else(|| run.start.plus_secs(ZONES_S)) },
        node: incident.nodes.first().map(|node| node.name.clone()).unwrap_or_default(),
        boot: BootId::default(),
    };
    let mut scanner = Scanner::new(catalog, hints);
    let paths = match files::list(&folder.join("output")) {
        Ok(paths) => paths,
        Err(error) => {
            blind.push(format!("output: {error}"));
            return Vec::new();
        }
    };
    let mut left = ALL;
    for path in paths.iter().filter(|path| !flight::is_dump(path)) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        scanner.begin(&name);
        let gaps = incident.gaps.get(&name).map(Vec::as_slice).unwrap_or_default();
        match scan(path, gaps, &mut scanner, &mut left) {
            Ok(0) => {}
            Ok(skipped) => blind.push(format!("output/{name}: {skipped} bytes in its middle were not read")),
            Err(error) => blind.push(format!("output/{name}: {error}")),
        }
    }
    scanner.finish()
}

/// Reads one file; how many bytes of it were left out.
fn scan(path: &Path, gaps: &[u64], scanner: &mut Scanner<'_>, left: &mut u64) -> io::Result<u64> {
    let mut file = files::open(path)?;
    let length = file.metadata()?.len();
    if !gaps.is_empty() && length <= HEAD + TAIL + MOST_GAPS && length <= *left {
        *left -= length;
        parts(&mut file, length, gaps, scanner)?;
        return Ok(0);
    }
    if length <= HEAD + TAIL && length <= *left {
        *left -= length;
        stream(&mut file, 0, length, scanner)?;
        return Ok(0);
    }
    let head = HEAD.min(*left).min(length);
    let tail = TAIL.min(*left - head).min(length - head);
    *left -= head + tail;
    stream(&mut file, 0, head, scanner)?;
    scanner.gap();
    stream(&mut file, length - tail, tail, scanner)?;
    Ok(length - head - tail)
}

/// Room for the ends of files that were left out in several places.
const MOST_GAPS: u64 = 8 << 20;

/// Reads a file whose writer said where something was left out.
fn parts(file: &mut File, length: u64, gaps: &[u64], scanner: &mut Scanner<'_>) -> io::Result<()> {
    let mut start = 0;
    for gap in gaps.iter().copied().filter(|gap| *gap <= length).take(16) {
        if gap >= start {
            stream(file, start, gap - start, scanner)?;
            scanner.gap();
            start = gap;
        }
    }
    stream(file, start, length - start, scanner)
}

/// Feeds `length` bytes from `start` on, cut at line ends.
fn stream(file: &mut File, start: u64, length: u64, scanner: &mut Scanner<'_>) -> io::Result<()> {
    file.seek(SeekFrom::Start(start))?;
    let mut input = file.take(length);
    let mut buffer = vec![0; PIECE];
    let (mut held, mut offset) = (0, start);
    loop {
        let read = match input.read(&mut buffer[held..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = held + read;
        if read == 0 {
            scanner.feed(&buffer[..filled], offset);
            return Ok(());
        }
        // A line longer than the buffer is cut: nothing of interest is that long.
        let end = buffer[..filled]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or_else(|| if filled == buffer.len() { filled } else { 0 }, |at| at + 1);
        scanner.feed(&buffer[..end], offset);
        offset += end as u64;
        buffer.copy_within(end..filled, 0);
        held = filled - end;
    }
}

/// Latest moment a line of the kernel log may have.
pub(crate) fn latest(incident: &Incident) -> Stamp {
    incident.run.end.unwrap_or_else(|| incident.run.start.plus_secs(ZONES_S))
}
