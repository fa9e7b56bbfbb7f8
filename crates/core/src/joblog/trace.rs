//! What is told over several lines: Python tracebacks and torchrun's table of failures. Lines of several ranks mix in one
//! file, so each origin has its own.
use std::collections::HashMap;

use super::prefix::Peeled;

/// Who wrote a line, as far as it says: label and rank.
pub(super) type Origin = (Option<u32>, Option<u32>);

/// Most blocks open at once. A job of more ranks that all fail at once is told by the first ones.
const MOST_OPEN: usize = 1024;

/// Most lines of one block. Recursion prints a thousand frames, and then Python itself cuts them short.
const MOST_LINES: u32 = 4000;

/// A block of lines that has begun.
#[derive(Debug)]
enum Block {
    Traceback { lines: u32 },
    Failure { lines: u32, row: Row },
}

/// One row of torchrun's table.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) host: String,
    pub(super) rank: Option<u32>,
    pub(super) exitcode: Option<i32>,
    pub(super) time: String,
}

/// What a line means in its block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is of no block.
    Outside,
    /// It is a part of one and says nothing by itself.
    Inside,
    /// It is the exception that a traceback ends with.
    Exception,
    /// It completes torchrun's row of the first failure.
    FirstFailure(Row),
}

/// The blocks that are open.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: HashMap<Origin, Block>,
}

impl Blocks {
    /// Whether every line must be looked at.
    pub(super) fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes a line into account.
    pub(super) fn line(&mut self, peeled: &Peeled<'_>) -> Step {
        let origin = (peeled.task, peeled.rank);
        let text = peeled.text;
        if text.starts_with(b"Traceback (most recent call last)") {
            self.begin(origin, Block::Traceback { lines: 0 });
            return Step::Inside;
        }
        if text.starts_with(b"Root Cause (first observed failure)") {
            self.begin(origin, Block::Failure { lines: 0, row: Row::default() });
            return Step::Inside;
        }
        let Some(block) = self.open.get_mut(&origin) else { return Step::Outside };
        let (step, done) = match block {
            Block::Traceback { lines } => {
                *lines += 1;
                let step = in_traceback(text);
                let done = step == Step::Exception || *lines > MOST_LINES;
                (step, done)
            }
            Block::Failure { lines, row } => {
                *lines += 1;
                match in_failure(text, row) {
                    true => (Step::FirstFailure(row.clone()), true),
                    false => (Step::Inside, *lines > 12),
                }
            }
        };
        if done {
            self.open.remove(&origin);
        }
        step
    }

    fn begin(&mut self, origin: Origin, block: Block) {
        if self.open.len() < MOST_OPEN || self.open.contains_key(&origin) {
            self.open.insert(origin, block);
        }
    }

    /// Ends every block: the file ends.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

/// Frames are indented; the first line that is not is the exception. Empty lines and what joins two tracebacks are
/// neither.
fn in_traceback(text: &[u8]) -> Step {
    let joins = [
        &b"During handling of the above exception"[..],
        b"The above exception was the direct cause",
        b"Original Traceback",
        b"+ Exception Group",
        b"frame #",
    ];
    match text.first() {
        None | Some(b' ' | b'\t' | b'|' | b'^' | b'~') => Step::Inside,
        Some(_) if joins.iter().any(|join| text.starts_with(join)) => Step::Inside,
        Some(_) if is_exception(text) => Step::Exception,
        // Another process's line in between.
        Some(_) => Step::Outside,
    }
}

/// `KeyError: 'lang'`, `torch.OutOfMemoryError: ...`, `AssertionError`: a dotted name whose last part begins with a capital
/// letter, or a lower-case one with a colon behind it.
fn is_exception(text: &[u8]) -> bool {
    let length =
        text.iter().take(200).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_')).count();
    let (name, rest) = text.split_at(length);
    let last = name.rsplit(|b| *b == b'.').next().unwrap_or_default();
    let ends = rest.is_empty() || rest.starts_with(b": ") || rest == b":" || rest == b"\r";
    ends && last.len() > 2
        && last.first().is_some_and(|b| b.is_ascii_uppercase() || (*b == b'_' && last.len() > 5))
}

/// Reads a line of the table into the row; `true` when the row is complete.
fn in_failure(text: &[u8], row: &mut Row) -> bool {
    let line = String::from_utf8_lossy(text);
    let Some((key, value)) = line.split_once(':') else { return false };
    let value = value.trim();
    match key.trim() {
        "time" => value.clone_into(&mut row.time),
        "host" => row.host = value.chars().take(200).collect(),
        "rank" => row.rank = value.split_whitespace().next().and_then(|rank| rank.parse().ok()),
        "exitcode" => {
            row.exitcode = value.split_whitespace().next().and_then(|code| code.parse().ok());
            return row.exitcode.is_some();
        }
        _ => {}
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::prefix::peel;
    use super::*;

    fn steps(lines: &[&str]) -> Vec<Step> {
        let mut blocks = Blocks::default();
        lines.iter().map(|line| blocks.line(&peel(line.as_bytes()))).collect()
    }

    #[test]
    fn tracebacks_of_two_ranks_may_mix() {
        let found = steps(&[
            "[rank1]: Traceback (most recent call last):",
            "[rank2]: Traceback (most recent call last):",
            "[rank1]:   File \"a.py\", line 1, in f",
            "[rank2]: ValueError: two",
            "[rank1]: KeyError: 'one'",
            "[rank1]: KeyError: 'later'",
        ]);
        let exceptions: Vec<usize> = found
            .iter()
            .enumerate()
            .filter(|(_, step)| **step == Step::Exception)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(exceptions, [3, 4]);
    }

    #[test]
    fn what_is_no_exception_does_not_end_a_traceback() {
        let found = steps(&[
            "Traceback (most recent call last):",
            "  File \"a.py\", line 1, in f",
            "step 12 loss 3.1",
            "",
            "AssertionError",
        ]);
        assert_eq!(found[2], Step::Outside);
        assert_eq!(found[4], Step::Exception);
    }

    #[test]
    fn torchruns_first_failure_is_read() {
        let found = steps(&[
            "Root Cause (first observed failure):",
            "[0]:",
            "  time      : 2026-02-03_04:05:06",
            "  host      : c07",
            "  rank      : 13 (local_rank: 5)",
            "  exitcode  : -6 (pid: 9001)",
        ]);
        let Some(Step::FirstFailure(row)) = found.last() else { panic!("{found:?}") };
        assert_eq!((row.rank, row.exitcode, row.host.as_str()), (Some(13), Some(-6), "c07"));
    }
}
