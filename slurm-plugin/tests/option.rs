//! The callback of `--triage=` as Slurm calls it.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

#[path = "../src/ffi.rs"]
mod ffi;
#[path = "../src/guard.rs"]
mod guard;
#[path = "../src/option.rs"]
mod option;

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was asked is one for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

static REGISTERED: Mutex<Option<ffi::spank_option>> = Mutex::new(None);

/// Slurm's function, which keeps a copy.
#[unsafe(no_mangle)]
extern "C" fn spank_option_register(
    _spank: ffi::spank_t,
    option: *mut ffi::spank_option,
) -> ffi::spank_err_t {
    // SAFETY: the plugin's own option, for the time of the call.
    let option = unsafe { option.read() };
    *REGISTERED.lock().unwrap() = Some(option);
    0
}

// SAFETY: its pointers are to constants.
unsafe impl Send for ffi::spank_option {}

fn register() -> (ffi::spank_option, MutexGuard<'static, ()>) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    option::register(null_mut());
    (REGISTERED.lock().unwrap().take().unwrap(), alone)
}

#[test]
fn slurm_is_told_all_it_needs() {
    let (option, _alone) = register();
    // SAFETY: constants of the plugin.
    let (name, usage) = unsafe { (CStr::from_ptr(option.name), CStr::from_ptr(option.usage)) };
    assert_eq!((name, option.has_arg), (c"triage", 1));
    for word in ["off", "monitor", "act", "default"] {
        assert!(usage.to_str().unwrap().contains(word), "{word}");
    }
}

#[test]
fn the_last_word_that_is_one_holds() {
    let (_option, _alone) = register();
    assert_eq!(option::word(), "");
    for (text, kept) in
        [("off", "off"), ("monitor", "monitor"), ("act", "act"), ("default", ""), ("off", "off")]
    {
        assert_eq!((option::choose(Some(text), false), option::word()), (0, kept), "{text}");
    }
    assert_ne!(option::choose(Some("of"), false), 0);
    assert_eq!(option::word(), "off");
}

#[test]
fn only_where_no_job_exists_yet_is_a_wrong_word_refused() {
    let (_option, _alone) = register();
    for text in [None, Some(""), Some("Off"), Some("off "), Some("off,act"), Some("\u{1f600}")] {
        assert_ne!(option::choose(text, false), 0, "{text:?}");
        assert_eq!(option::choose(text, true), 0, "{text:?}");
        assert_eq!(option::word(), "", "{text:?}");
    }
}

#[test]
fn in_slurmstepd_the_callback_takes_anything() {
    let (option, _alone) = register();
    let callback = option.cb.unwrap();
    let texts = [&b"off"[..], b"", b"\xff\xfe", &[b'x'; 100_000]];
    for text in texts {
        let text = CString::new(text).unwrap();
        // SAFETY: as Slurm calls it.
        assert_eq!(unsafe { callback(option.val, text.as_ptr(), 1) }, 0);
    }
    // SAFETY: Slurm gives nothing for an option without an argument.
    assert_eq!(unsafe { callback(option.val, null(), 1) }, 0);
    assert_eq!(option::word(), "off");
}

#[test]
fn a_second_component_of_a_het_job_starts_anew() {
    let (_option, alone) = register();
    assert_eq!(option::choose(Some("off"), true), 0);
    drop(alone);
    let (_option, _alone) = register();
    assert_eq!(option::word(), "");
}

#[test]
fn a_panic_ends_in_the_guard() {
    assert_eq!(guard::guard(|| panic!("not to be seen")), 0);
    assert_eq!(guard::guard(|| drop(Vec::<u8>::with_capacity(usize::MAX))), 0);
}
