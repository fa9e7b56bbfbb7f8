//! Configuration files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = triage_host::config::Config::parse(&String::from_utf8_lossy(data), std::path::Path::new("c"));
});
