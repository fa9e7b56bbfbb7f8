//! `/proc/<pid>/stat`, whose second field is whatever a program calls itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = triage_host::proc::ProcStat::parse(data);
});
