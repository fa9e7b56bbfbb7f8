//! What bindgen made of the installed `slurm/spank.h`.
#![expect(non_camel_case_types, unreachable_pub, dead_code, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/spank.rs"));
