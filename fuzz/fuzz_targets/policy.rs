//! Policy files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = triage_hooks::policy_file::parse(std::path::Path::new("p"), &String::from_utf8_lossy(data));
});
