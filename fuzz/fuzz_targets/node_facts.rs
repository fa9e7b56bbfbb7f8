//! Texts of `/proc` and `/sys`: mounts, memory, CPUs, RAID, processes, PCI, adapters, NVIDIA's driver.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    triage_host::facts::texts::read_as_each(data);
});
