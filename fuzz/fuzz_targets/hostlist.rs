//! Node lists.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = triage_host::slurm::hostlist::expand(&String::from_utf8_lossy(data));
});
