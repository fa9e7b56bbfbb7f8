//! Flight recorder dumps: pickles from a job's folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(dump) = triage_core::flight::Dump::read(data, Some(3)) {
        let _ = triage_core::flight::summarise(&[dump]);
    }
});
