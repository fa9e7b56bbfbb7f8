//! `--triage=off|monitor|act|default`. It can only ask for less than the site allows; who reads the record sees to
//! that. A wrong word is refused where a job is made; once there is a job, it means that nothing was asked.
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ffi::{spank_option, spank_option_register, spank_t};
use crate::guard::{SUCCESS, guard};

const NAME: &CStr = c"triage";
const ARGUMENT: &CStr = c"MODE";
const USAGE: &CStr = c"what slurm-triage may do for this job: off, monitor, act or default; only ever less than the site allows";

/// Words, by the number they are kept under. 0: nothing was asked.
const WORDS: [&str; 4] = ["", "off", "monitor", "act"];

/// What makes Slurm refuse an option's argument.
const REFUSED: c_int = -1;

static ASKED: AtomicU8 = AtomicU8::new(0);

/// Makes the option known. Only possible in the init hook, and needed in every program that uses it.
/// Nothing was asked until the callback says so: srun calls the hook once for each component of a het job.
pub(crate) fn register(spank: spank_t) {
    ASKED.store(0, Ordering::Relaxed);
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

/// Slurm's callback. `remote` is set in slurmstepd.
unsafe extern "C" fn chosen(_value: c_int, argument: *const c_char, remote: c_int) -> c_int {
    let mut answer = SUCCESS;
    guard(|| {
        let job_exists = remote != 0 || std::env::var_os("SLURM_JOB_ID").is_some();
        // SAFETY: Slurm gives a C string that outlives the call, or nothing.
        let text = (!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }.to_string_lossy());
        answer = choose(text.as_deref(), job_exists);
    });
    answer
}

/// Keeps what was asked. Refusing a word makes srun, sbatch or salloc say so and end, right where somebody mistyped it
/// for a job to be. A job that exists is not hurt by it, nor is an srun within it: the word may have come there by the
/// environment, from an sbatch of a later version.
pub(crate) fn choose(text: Option<&str>, job_exists: bool) -> c_int {
    match text.and_then(parse) {
        Some(number) => ASKED.store(number, Ordering::Relaxed),
        None if job_exists => {}
        None => return REFUSED,
    }
    SUCCESS
}

/// The number of a word; `default` is the same as saying nothing.
fn parse(text: &str) -> Option<u8> {
    if text == "default" {
        return Some(0);
    }
    let found = WORDS.iter().position(|word| !word.is_empty() && *word == text)?;
    u8::try_from(found).ok()
}
