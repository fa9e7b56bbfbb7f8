//! A site's catalogue file.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(folder) = tempfile::tempdir() else { return };
    if std::fs::write(folder.path().join("site.toml"), data).is_ok() {
        let _ = triage_catalog::load(Some(folder.path()));
    }
});
