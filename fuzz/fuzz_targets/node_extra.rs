//! What another node says in its record.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let extra = String::from_utf8_lossy(data).into_owned();
    let _ = triage_core::peer::read(&triage_core::NodeRecord { extra, ..Default::default() });
});
