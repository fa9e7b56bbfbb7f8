//! What one line tells of steps and checkpoints. Trainers have no common form; these are the words of the common ones
//! (PyTorch Lightning, Hugging Face Trainer, DeepSpeed, Megatron-LM, NeMo, torchtitan, nanoGPT, MaxText, Composer).

/// Words before the number of a step, best first: where a line has two, the global one counts.
const STEP_WORDS: [&[u8]; 7] =
    [b"global_step", b"global step", b"iteration", b"step", b"iter", b"batch", b"steps"];

/// Words that make the number behind `step` something else: a pace, a plan.
const NOT_A_STEP: [&[u8]; 12] = [
    b"per",
    b"max",
    b"total",
    b"warmup",
    b"every",
    b"each",
    b"num",
    b"of",
    b"accumulation",
    b"optimization",
    b"time",
    b"eval",
];

/// Words before the step of a checkpoint.
const CHECKPOINT_WORDS: [&[u8]; 5] = [b"global_step", b"iteration", b"step", b"checkpoint-", b"-ba"];

/// A line with one of these tells of no new checkpoint.
const NO_NEW_CHECKPOINT: [&[u8]; 9] =
    [b"load", b"resum", b"restor", b"fail", b"error", b"delet", b"remov", b"skip", b"cannot"];

/// Longest part of a line that is looked at, bytes.
const LOOKED_AT: usize = 512;

/// Between a word and its number: `step: 5`, `'step': 5`, `iteration     10/`, `[step=5]`.
const MOST_BETWEEN: usize = 16;

/// The step that a line tells.
pub(super) fn step(line: &[u8]) -> Option<u64> {
    let line = line.get(..LOOKED_AT).unwrap_or(line);
    if !line.iter().any(u8::is_ascii_digit) {
        return None;
    }
    STEP_WORDS
        .iter()
        .find_map(|word| step_after(line, word))
        .or_else(|| bar(line))
        .or_else(|| epoch_batch(line))
}

fn step_after(line: &[u8], word: &[u8]) -> Option<u64> {
    positions(line, word).find_map(|at| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        // "steps" is a plan nearly everywhere: DeepSpeed alone begins a line with it.
        let begins_well = if word == b"steps" { before.trim_ascii().is_empty() } else { is_own_word(before) };
        if !begins_well {
            return None;
        }
        let gap = after.iter().position(u8::is_ascii_digit).filter(|gap| *gap <= MOST_BETWEEN)?;
        let between = &after[..gap];
        let separates = !between.is_empty()
            && between.iter().all(|b| matches!(b, b' ' | b'\t' | b':' | b'=' | b'[' | b'\'' | b'"' | b'#'));
        separates.then(|| whole_number(&after[gap..])).flatten()
    })
}

/// Whether what follows is no part of a longer word, nor said to be something else by the word before it.
fn is_own_word(before: &[u8]) -> bool {
    let begins = before.last().is_none_or(|b| b" \t[({'\",|>".contains(b));
    let trimmed = before.trim_ascii_end();
    let last = trimmed.rsplit(|b| !b.is_ascii_alphabetic()).next().unwrap_or_default();
    let touches = before.len() - trimmed.len() <= 1;
    begins && !(touches && NOT_A_STEP.iter().any(|word| last.eq_ignore_ascii_case(word)))
}

/// A number that is no fraction, no pace and no size: `1200`, `1,200`, `1200/5000`, `1200:`.
fn whole_number(text: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    let mut rest = text;
    loop {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        for digit in &rest[..digits] {
            value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        }
        rest = &rest[digits..];
        let group = rest.strip_prefix(b",").unwrap_or_default();
        if group.iter().take_while(|b| b.is_ascii_digit()).count() != 3 {
            break;
        }
        rest = group;
    }
    let goes_on = match rest {
        [b'.', next, ..] => next.is_ascii_digit(),
        [next, ..] => next.is_ascii_alphabetic() || *next == b'%',
        [] => false,
    };
    (!goes_on).then_some(value)
}

/// A progress bar: ` 24%|##    | 1200/5000 [10:00<31:40, 2.00it/s]`, of the training itself and not of a download. One
/// of an epoch begins anew with each.
fn bar(line: &[u8]) -> Option<u64> {
    let percent = line.iter().position(|b| *b == b'%')?;
    let (name, rest) = line.split_at(percent);
    positions(rest, b"it/s").chain(positions(rest, b"s/it")).next()?;
    let name = name.trim_ascii_end();
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let name = name[..name.len() - digits].trim_ascii().to_ascii_lowercase();
    let is_training =
        name.is_empty() || ["epoch", "train", "step"].iter().any(|w| name.starts_with(w.as_bytes()));
    let slash = rest.windows(1).position(|w| w == b"/").filter(|_| is_training)?;
    let start = rest[..slash].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |at| at + 1);
    let (done, total) = (whole_number(&rest[start..slash])?, whole_number(&rest[slash + 1..])?);
    if start == slash {
        return None;
    }
    match name.strip_prefix(b"epoch") {
        Some(epoch) => of_epoch(number_in(epoch)?, done, total),
        None => Some(done),
    }
}

/// `Epoch: [3][ 450/5005]`, of PyTorch's own examples.
fn epoch_batch(line: &[u8]) -> Option<u64> {
    let at = positions(line, b"epoch: [").next()?;
    let rest = &line[at + 8..];
    let epoch = whole_number(rest)?;
    let rest = &rest[rest.iter().position(|b| *b == b']')? + 1..];
    let inside = rest.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    let slash = inside.iter().position(|b| *b == b'/')?;
    of_epoch(epoch, number_in(&inside[..slash])?, number_in(&inside[slash + 1..])?)
}

fn of_epoch(epoch: u64, done: u64, total: u64) -> Option<u64> {
    epoch.checked_mul(total)?.checked_add(done)
}

fn number_in(text: &[u8]) -> Option<u64> {
    let at = text.iter().position(u8::is_ascii_digit)?;
    whole_number(&text[at..])
}

/// The step of which a line tells that a checkpoint was, or is now, saved.
pub(super) fn checkpoint(line: &[u8]) -> Option<u64> {
    let line = line.get(..LOOKED_AT).unwrap_or(line);
    let has = |word: &[u8]| positions(line, word).next().is_some();
    let saves = has(b"sav") || has(b"wrote");
    let names_it = || has(b"checkpoint") || has(b"ckpt") || has(b"global_step");
    if !saves || !names_it() || NO_NEW_CHECKPOINT.iter().any(|word| has(word)) {
        return None;
    }
    CHECKPOINT_WORDS.iter().find_map(|word| {
        positions(line, word).find_map(|at| {
            let after = &line[at + word.len()..];
            let gap = after.iter().position(u8::is_ascii_digit).filter(|gap| *gap <= MOST_BETWEEN)?;
            let separates = after[..gap].iter().all(|b| b" \t:=-_[#".contains(b));
            // A name goes on behind it: `step=1000.ckpt`.
            separates.then(|| digits(&after[gap..])).flatten()
        })
    })
}

fn digits(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// Where `word` stands in `line`, in whatever case.
fn positions<'l>(line: &'l [u8], word: &'l [u8]) -> impl Iterator<Item = usize> + 'l {
    line.windows(word.len()).enumerate().filter(|(_, w)| w.eq_ignore_ascii_case(word)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_read_as_common_trainers_print_them() {
        for (line, wanted) in [
            ("step 1200", 1200),
            ("step 1,200 loss 2.1", 1200),
            ("iter 1200/5000 loss 3.1", 1200),
            ("iter 1200: loss 3.1234, time 210.33ms, mfu 41.2%", 1200),
            ("0: {'loss': 0.4, 'global_step': 1200}", 1200),
            ("train_loss=2.1, global_step=1200, lr=3e-4", 1200),
            (
                "[2026-01-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=1200, skipped=0, lr=[1e-05]",
                1200,
            ),
            ("steps: 1200 loss: 3.2211 iter time (s): 1.233 samples/sec: 51.9", 1200),
            (
                " [2026-01-01 10:00:00] iteration     1200/  500000 | consumed samples:       614400 | elapsed time",
                1200,
            ),
            (
                "Training epoch 0, iteration 9/999 | lr: 3e-04 | global_step: 1200 | reduced_train_loss: 1.2",
                1200,
            ),
            (
                "[titan] 2026-01-01 10:00:00,123 - root - INFO - step: 1200  loss:  4.21  memory: 20.1GiB",
                1200,
            ),
            ("completed step: 1200, seconds: 5.1, TFLOP/s/device: 301.2, loss: 2.2", 1200),
            ("[batch=1200/5000]:", 1200),
            (" 24%|##4       | 1200/5000 [10:00<31:40,  2.00it/s]", 1200),
            ("Epoch 3:  45%|####5     | 450/1000 [00:30<00:37, 14.98it/s, v_num=0, loss=1.2]", 3450),
            ("Epoch: [3][ 450/5005]\tTime  0.411 ( 0.466)\tLoss 6.7e+00", 3 * 5005 + 450),
        ] {
            assert_eq!(step(line.as_bytes()), Some(wanted), "{line}");
        }
    }

    #[test]
    fn plans_paces_and_downloads_are_no_steps() {
        for line in [
            "max_steps: 5000",
            "  Total optimization steps = 5,000",
            "  Gradient Accumulation steps = 8",
            "total steps: 5000",
            "time per step: 12",
            "step time 3.2 s",
            "step 120ms",
            "iter 0.5s",
            "throughput 300 samples/step 8",
            "Loading checkpoint shards: 100%|##########| 3/3 [00:02<00:00,  1.31it/s]",
            "footstep 3",
            "step",
            "step 99999999999999999999999",
            "Epoch: [3][ /]",
        ] {
            assert_eq!(step(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn checkpoints_are_read_as_common_trainers_print_them() {
        for line in [
            "  successfully saved checkpoint from iteration    1000 to /ckpt [ t 1/8, p 1/1 ]",
            "saving checkpoint at iteration    1000 to /ckpt in torch_dist format",
            "Saved checkpoint to /c at iteration 1000",
            "Saving model checkpoint to out/checkpoint-1000",
            "[2026-01-01 10:00:00,123] [INFO] [torch_checkpoint_engine.py:23:save] [Torch] Saved /c/global_step1000/mp_rank_00_model_states.pt.",
            "Epoch 0, global step 1000: 'val_loss' reached 1.2 (best 1.2), saving model to '/c/epoch=0-step=1000.ckpt' as top 1",
            "Saved a checkpoint at step 1000.",
            "Checkpoint saved: step_1000",
        ] {
            assert_eq!(checkpoint(line.as_bytes()), Some(1000), "{line}");
        }
    }

    #[test]
    fn what_is_loaded_or_not_saved_is_no_checkpoint() {
        for line in [
            "loading checkpoint from /ckpt at iteration 1000",
            "successfully loaded checkpoint from /ckpt at iteration 1000",
            "Resuming from saved checkpoint step 1000",
            "ERROR: failed to save checkpoint at step 1000",
            "Saving checkpoint ...",
            "saved 1000 images at step 5",
            "Deleting older checkpoint [out/checkpoint-500] saved before",
        ] {
            assert_eq!(checkpoint(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in proptest::collection::vec(any::<u8>(), 0..80), word in 0usize..7, tail in "\\PC{0,30}") {
            let _ = (step(&line), checkpoint(&line));
            let line = [STEP_WORDS[word], b" ", tail.as_bytes(), b"% 3/4 it/s saved checkpoint step ", tail.as_bytes()].concat();
            let _ = (step(&line), checkpoint(&line));
        }
    }
}
