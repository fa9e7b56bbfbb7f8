//! `--triage=off|monitor|act|default`. It can only ask for less than the site allows; who reads the record sees to
//! that. A wrong word is refused where the user typed it; in slurmstepd it means nothing was asked.
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ffi::{spank_option, spank_option_register, spank_t};
use crate::guard::{SUCCESS, guard};

const NAME: &CStr = c"triage";
const ARGUMENT: &CStr = c"MODE";
const USAGE: &CStr = c"what slurm-triage may do for this job: off, monitor, act or default; only ever less than the site allows";

/// Words, by the number they are kept under. 0: nothing was asked.
const WORDS: [&str; 4] = ["", "off", "monitor", "act"];

static ASKED: AtomicU8 = AtomicU8::new(0);

/// Makes the option known. Only possible in the init hook, and needed in every program that uses it.
pub(crate) fn register(spank: spank_t) {
    let mut option = spank_option {
        name: NAME.as_ptr().cast_mut(),
        arginfo: ARGUMENT.as_ptr().cast_mut(),
        usage: USAGE.as_ptr().cast_mut(),
        has_arg: 1,
        val: 0,
        cb: Some(chosen),
    };
    // SAFETY: Slurm copies the structure and its strings.
    let _ = unsafe { spank_option_register(spank, &raw mut option) };
}

/// What was asked; empty: nothing.
pub(crate) fn word() -> &'static str {
    WORDS.get(usize::from(ASKED.load(Ordering::Relaxed))).copied().unwrap_or("")
}

/// Slurm's callback. `remote` is set in slurmstepd, where a refusal would hurt a job that runs already.
unsafe extern "C" fn chosen(_value: c_int, argument: *const c_char, remote: c_int) -> c_int {
    let mut answer = SUCCESS;
    guard(|| {
        // SAFETY: Slurm gives a C string that outlives the call, or nothing.
        let text = (!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }.to_string_lossy());
        match text.as_deref().and_then(parse) {
            Some(number) => ASKED.store(number, Ordering::Relaxed),
            None if remote == 0 => answer = -1,
            None => {}
        }
    });
    answer
}

/// The number of a word; `default` is the same as saying nothing.
pub(crate) fn parse(text: &str) -> Option<u8> {
    if text == "default" {
        return Some(0);
    }
    let found = WORDS.iter().position(|word| !word.is_empty() && *word == text)?;
    u8::try_from(found).ok()
}
