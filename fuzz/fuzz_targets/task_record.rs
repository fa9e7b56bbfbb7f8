//! Records of the spool.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = triage_wire::decode_all(data);
});
