//! The end of an output file, where the last steps are: kept while the file is read, and looked through once it is over.
use super::{Progress, line};
use crate::joblog::prefix::without_escapes;

/// What is kept of a file's end, bytes: a thousand lines or so, and with them the last checkpoints.
const KEPT: usize = 128 << 10;

/// What is looked through of all files together, bytes. A job may have one file a rank; those of the first are enough.
const MOST: usize = 8 << 20;

/// Lines with a step that are looked at from a file's end: several counters may take turns.
const MOST_STEPS: usize = 64;

/// The end of the file that is read now, and what the ends before it told.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    kept: Vec<u8>,
    looked_at: usize,
    found: Progress,
}

impl Tail {
    /// Takes the next piece of the file, which ends at a line's end.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        if piece.len() >= KEPT {
            self.kept.clear();
        } else if self.kept.len() + piece.len() > 2 * KEPT {
            self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        }
        self.kept.extend_from_slice(piece.get(piece.len().saturating_sub(KEPT)..).unwrap_or(piece));
    }

    /// A part of the file was left out.
    pub(crate) fn gap(&mut self) {
        self.kept.clear();
    }

    /// The file is over.
    pub(crate) fn end_of_file(&mut self) {
        let room = KEPT.min(MOST.saturating_sub(self.looked_at));
        let end = self.kept.get(self.kept.len().saturating_sub(room)..).unwrap_or_default();
        self.looked_at += end.len();
        let found = look(end);
        self.found.join(found);
        self.kept.clear();
    }

    /// What the files that are over told.
    pub(crate) const fn found(&self) -> Progress {
        self.found
    }
}

fn look(text: &[u8]) -> Progress {
    let mut found = Progress::default();
    let mut steps = 0;
    // Progress bars end their lines with a carriage return.
    for line in text.rsplit(|b| matches!(b, b'\n' | b'\r')).filter(|line| line.len() > 4) {
        let line = without_escapes(line.get(..4096).unwrap_or(line));
        let checkpoint = line::checkpoint(&line);
        found.checkpoint = found.checkpoint.max(checkpoint);
        if let Some(step) = line::step(&line).filter(|_| steps < MOST_STEPS && checkpoint.is_none()) {
            found.step = found.step.max(Some(step));
            steps += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> Progress {
        let mut tail = Tail::default();
        pieces.iter().for_each(|piece| tail.feed(piece));
        tail.end_of_file();
        tail.found()
    }

    #[test]
    fn the_last_steps_count_and_not_the_first() {
        let log: String = (0..20_000).map(|step| format!("step {step} loss 2.1\n")).collect();
        let with_mark = log.clone() + "Saved checkpoint at iteration 19900\nstep 20000 loss 2\n";
        let pieces: Vec<&[u8]> = with_mark.as_bytes().chunks(300_000).collect();
        assert_eq!(of(&pieces), Progress { step: Some(20_000), checkpoint: Some(19_900) });
        // A new file of a restarted run, in the same output: the last steps are its own.
        let again = log + &(0..100).map(|step| format!("step {step} loss 2.1\n")).collect::<String>();
        assert_eq!(of(&[again.as_bytes()]).step, Some(99));
    }

    #[test]
    fn what_was_left_out_is_not_joined_to_what_follows() {
        let mut tail = Tail::default();
        tail.feed(b"step 5\n");
        tail.gap();
        tail.feed(b"nothing here\n");
        tail.end_of_file();
        assert_eq!(tail.found(), Progress::default());
    }

    #[test]
    fn colours_and_bars_hide_no_step() {
        assert_eq!(of(&[b"\x1b[31mstep:\x1b[0m 7  loss: 2\n"]).step, Some(7));
        assert_eq!(
            of(&[b" 10%|# | 10/100 [00:01<00:09, 9it/s]\r 11%|# | 11/100 [00:01<00:09, 9it/s]"]).step,
            Some(11)
        );
    }

    #[test]
    fn a_thousand_files_cost_no_more_than_some() {
        let mut tail = Tail::default();
        for _ in 0..1000 {
            tail.feed(&b"step 1 loss 2.1\n".repeat(20_000));
            tail.end_of_file();
        }
        assert!(tail.looked_at <= MOST);
    }
}
