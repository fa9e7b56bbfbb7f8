//! The hooks in use. `job_prolog` and `job_epilog` are not exported on purpose: slurmd would start a slurmstepd for
//! each of them, for every job on every node.
use std::ffi::{c_char, c_int};

use crate::ffi::{S_CTX_ALLOCATOR, S_CTX_LOCAL, S_CTX_REMOTE, spank_context, spank_t};
use crate::guard::guard;
use crate::{item, option, paths, spool};
use triage_wire::{End, Step, What};

/// In srun, sbatch, salloc and every slurmstepd: makes the option known. slurmd calls it as well and gets nothing.
///
/// # Safety
/// Called by Slurm with a handle of its own.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn slurm_spank_init(
    spank: spank_t,
    _argc: c_int,
    _argv: *mut *mut c_char,
) -> c_int {
    guard(|| match context() {
        S_CTX_LOCAL | S_CTX_ALLOCATOR => option::register(spank),
        S_CTX_REMOTE => {
            paths::remember_node();
            option::register(spank);
        }
        _ => {}
    })
}

/// In slurmstepd as root, once a task was forked and before it may run.
///
/// # Safety
/// Called by Slurm with a handle of its own and the arguments of plugstack.conf.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn slurm_spank_task_post_fork(
    spank: spank_t,
    argc: c_int,
    argv: *mut *mut c_char,
) -> c_int {
    guard(|| write(spank, argc, argv, || Some(What::Start)))
}

/// In slurmstepd as root, once a task was waited for.
///
/// # Safety
/// Called by Slurm with a handle of its own and the arguments of plugstack.conf.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn slurm_spank_task_exit(
    spank: spank_t,
    argc: c_int,
    argv: *mut *mut c_char,
) -> c_int {
    let ended = || item::exit_status(spank).map(|status| What::End(End::from_wait(status)));
    guard(|| write(spank, argc, argv, ended))
}

fn context() -> crate::ffi::spank_context_t {
    // SAFETY: takes nothing, returns an enumerator.
    unsafe { spank_context() }
}

fn write(spank: spank_t, argc: c_int, argv: *mut *mut c_char, what: impl FnOnce() -> Option<What>) {
    if context() != S_CTX_REMOTE {
        return;
    }
    let Some(record) = what().and_then(|what| item::record(spank, what)) else { return };
    // What runs in the extern step is Slurm's own sleeper: it starts, and its end is told to nobody.
    if record.step == Step::Extern {
        return;
    }
    // SAFETY: Slurm gives `argc` pointers to C strings that outlive the call.
    let args = unsafe { paths::arguments(argc, argv) };
    if let Some(folder) = paths::spool(&args, &record.node) {
        spool::append(&folder, &record);
    }
}
