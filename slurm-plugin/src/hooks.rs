//! The hooks in use. `job_prolog` and `job_epilog` are not exported on purpose: slurmd would start a slurmstepd for
//! each of them, for every job on every node.
use std::ffi::{c_char, c_int};

use crate::ffi::{S_CTX_REMOTE, spank_context, spank_t};
use crate::guard::guard;
use crate::{item, option, paths, spool};
use triage_wire::{End, What};

/// In srun, sbatch, salloc and every slurmstepd: makes the option known.
///
/// # Safety
/// Called by Slurm with a handle of its own.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn slurm_spank_init(
    spank: spank_t,
    _argc: c_int,
    _argv: *mut *mut c_char,
) -> c_int {
    guard(|| option::register(spank))
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
    guard(|| write(spank, argc, argv, Some(What::Start)))
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
    guard(|| {
        let what = item::exit_status(spank).map(|status| What::End(End::from_wait(status)));
        write(spank, argc, argv, what);
    })
}

fn write(spank: spank_t, argc: c_int, argv: *mut *mut c_char, what: Option<What>) {
    // SAFETY: takes nothing, returns an enumerator.
    if unsafe { spank_context() } != S_CTX_REMOTE {
        return;
    }
    let Some(what) = what else { return };
    let Some(record) = item::record(spank, what) else { return };
    // SAFETY: Slurm gives `argc` pointers to C strings that outlive the call.
    let args = unsafe { paths::arguments(argc, argv) };
    if let Some(folder) = paths::spool(&args, &record.node) {
        spool::append(&folder, &record);
    }
}
