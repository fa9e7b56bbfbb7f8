//! No panic leaves the plugin, and none is printed: inside slurmstepd standard error may be the job's own.
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

/// What every hook returns. For an `optional` plugin Slurm ignores it; for a `required` one anything else could drain
/// the node. Source: spank(8), "Errors".
pub(crate) const SUCCESS: c_int = 0;

/// Runs the body of a hook or a callback, and answers [`SUCCESS`] whatever becomes of it.
pub(crate) fn guard(body: impl FnOnce()) -> c_int {
    static QUIET: Once = Once::new();
    let run = || {
        // The library has its own copy of std, so this silences our panics and nobody else's.
        QUIET.call_once(|| set_hook(Box::new(|_| ())));
        body();
        #[cfg(feature = "panic-test")]
        #[expect(clippy::panic, reason = "the feature is there to do this")]
        {
            panic!("a hook panics");
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(run));
    SUCCESS
}
