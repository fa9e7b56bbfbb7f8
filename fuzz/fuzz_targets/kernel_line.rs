//! Kernel log lines, prefix and family.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let catalog = triage_catalog::embedded();
    for line in data.split(|b| *b == b'\n').take(64) {
        let peeled = triage_core::classify::prefix::peel(line);
        let _ = catalog.read(triage_core::catalog::Origin::Kernel, peeled.text);
    }
});
