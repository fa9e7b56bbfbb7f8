//! What bindgen made of the installed `slurm/spank.h`.
#![expect(
    non_camel_case_types,
    unreachable_pub,
    dead_code,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated"
)]

include!(concat!(env!("OUT_DIR"), "/spank.rs"));
