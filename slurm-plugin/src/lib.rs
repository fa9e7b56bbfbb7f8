//! The SPANK plugin of slurm-triage: the job's own switch `--triage=`, and one line in a spool for each task that
//! starts or ends.
//!
//! This is a guest in slurmstepd, srun, sbatch and salloc. It has no thread, prints nothing, opens no database,
//! touches neither environment nor signals, catches every panic and returns 0. Whatever cannot be written is lost,
//! and the job never knows. See docs/spank.md.
#![deny(clippy::panic)]

mod ffi;
mod guard;
mod hooks;
mod item;
mod option;
mod paths;
mod spool;

use std::ffi::{c_char, c_uint};

/// The loader's name of the plugin.
#[unsafe(no_mangle)]
pub static plugin_name: [c_char; 7] = text(b"triage\0");
/// The kind of plugin: the loader takes no other.
#[unsafe(no_mangle)]
pub static plugin_type: [c_char; 6] = text(b"spank\0");
/// The Slurm release it was built for: major and minor must be those of the program that loads it.
#[unsafe(no_mangle)]
pub static plugin_version: c_uint = ffi::SLURM_VERSION_NUMBER;

const fn text<const N: usize>(bytes: &[u8; N]) -> [c_char; N] {
    let mut out = [0; N];
    let mut at = 0;
    while at < N {
        // At compile time: a wrong index is a build error.
        out[at] = bytes[at] as c_char;
        at += 1;
    }
    out
}
