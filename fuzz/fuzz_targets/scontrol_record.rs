//! One-line records of scontrol.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = (triage_host::slurm::record::job(&text, 42), triage_host::slurm::record::nodes(&text));
});
