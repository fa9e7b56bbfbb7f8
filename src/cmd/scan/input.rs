//! A file, a compressed file or standard input, in pieces that end at a line's end.
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Most bytes of a piece. A line longer than that is looked at up to here.
pub(super) const CHUNK: usize = 4 * 1024 * 1024;

/// Bytes of a piece whose lines are no longer than that: it is still in the second-level cache when it is looked at.
const USUAL: usize = 512 * 1024;

/// An open input.
pub(super) struct Input {
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were handed out.
    used: usize,
    /// Bytes of the buffer that hold something.
    filled: usize,
    line: u64,
    ended: bool,
    /// The rest of a line that was too long is passed over.
    skipping: bool,
}

/// A piece of whole lines.
pub(super) struct Chunk<'a> {
    pub(super) bytes: &'a [u8],
    first_line: u64,
    /// The line that was cut, if one was.
    pub(super) cut_line: Option<u64>,
}

/// Counts lines as far as somebody asks.
pub(super) struct Counter<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl Input {
    /// Opens a file, or standard input for `-`. What is compressed with gzip or zstd is known by its first bytes.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let raw: Box<dyn Read> =
            if path.as_os_str() == "-" { Box::new(io::stdin().lock()) } else { Box::new(File::open(path)?) };
        let mut raw = BufReader::with_capacity(256 * 1024, raw);
        let head = io::BufRead::fill_buf(&mut raw)?;
        let reader: Box<dyn Read> = match head {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(raw)?),
            _ => Box::new(raw),
        };
        let buffer = vec![0; CHUNK];
        Ok(Self { reader, buffer, used: 0, filled: 0, line: 1, ended: false, skipping: false })
    }

    /// The next piece; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        loop {
            self.fill(USUAL)?;
            if self.skipping {
                self.pass_over();
                if self.skipping && !self.ended {
                    continue;
                }
                self.fill(USUAL)?;
            }
            self.fill_to_a_line_end()?;
            if self.filled == 0 {
                return Ok(None);
            }
            return Ok(Some(self.hand_out()));
        }
    }

    /// Reads on until there is a whole line, as far as the buffer goes.
    fn fill_to_a_line_end(&mut self) -> io::Result<()> {
        let mut seen = 0;
        while !self.ended
            && self.filled < self.buffer.len()
            && memchr::memchr(b'\n', &self.buffer[seen..self.filled]).is_none()
        {
            seen = self.filled;
            self.fill(self.filled.saturating_mul(2).max(USUAL))?;
        }
        Ok(())
    }

    /// Moves what is left to the front and reads until the buffer holds that much, or the input has ended.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let wanted = wanted.min(self.buffer.len());
        if self.used > 0 {
            self.buffer.copy_within(self.used..self.filled, 0);
        }
        self.filled -= self.used;
        self.used = 0;
        while !self.ended && self.filled < wanted {
            match self.reader.read(&mut self.buffer[self.filled..wanted]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn pass_over(&mut self) {
        match memchr::memchr(b'\n', &self.buffer[..self.filled]) {
            Some(at) => {
                self.used = at + 1;
                self.line += 1;
                self.skipping = false;
            }
            None => self.used = self.filled,
        }
    }

    fn hand_out(&mut self) -> Chunk<'_> {
        let held = &self.buffer[..self.filled];
        let (end, cut) = match memchr::memrchr(b'\n', held) {
            Some(at) => (at + 1, false),
            None => (held.len(), !self.ended),
        };
        // At the input's end the last line needs no line feed.
        let end = if self.ended { held.len() } else { end };
        let first_line = self.line;
        let bytes = &self.buffer[..end];
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.used = end;
        self.skipping = cut;
        Chunk { bytes, first_line, cut_line: cut.then_some(first_line) }
    }
}

impl<'a> Chunk<'a> {
    /// Counts this piece's lines.
    pub(super) const fn counter(&self) -> Counter<'a> {
        Counter { bytes: self.bytes, at: 0, line: self.first_line }
    }
}

impl Counter<'_> {
    /// The number of the line that holds byte `at`; asked in rising order.
    pub(super) fn line_at(&mut self, at: usize) -> u64 {
        let between = self.bytes.get(self.at..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count() as u64;
        self.at = at.max(self.at);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_of_any_length_come_whole_or_cut_where_a_piece_may_end() {
        let lengths =
            [0, 1, USUAL - 1, USUAL, USUAL + 1, 80, 2 * USUAL, CHUNK - 1, CHUNK, CHUNK + 1, 80, 3 * CHUNK, 7];
        for end in [&b"\n"[..], b""] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let mut expected = Vec::new();
            for (index, length) in lengths.iter().enumerate() {
                let last = index + 1 == lengths.len();
                let line = vec![b'a' + u8::try_from(index).unwrap(); *length];
                file.write_all(&line).unwrap();
                file.write_all(if last { end } else { b"\n" }).unwrap();
                expected.push((line.len().min(CHUNK), line.first().copied()));
            }
            assert_eq!(read(file.path()), expected, "{end:?}");
        }
    }

    /// Length and first byte of each line, by its number.
    fn read(path: &Path) -> Vec<(usize, Option<u8>)> {
        let mut input = Input::open(path).unwrap();
        let mut lines = Vec::new();
        while let Some(chunk) = input.next().unwrap() {
            assert_eq!(chunk.first_line, lines.len() as u64 + 1);
            let whole = chunk.bytes.strip_suffix(b"\n").unwrap_or(chunk.bytes);
            lines.extend(whole.split(|b| *b == b'\n').map(|line| (line.len(), line.first().copied())));
            assert_eq!(chunk.cut_line.is_some(), lines.last().is_some_and(|line| line.0 == CHUNK));
        }
        lines
    }
}
