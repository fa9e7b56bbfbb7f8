//! A kernel log kept by a daemon: read in pieces of 4 KiB, dated, and followed from where the last look ended.
#![no_main]
use std::sync::LazyLock;

use triage_core::{BootId, NodeName, Payload};
use triage_host::config::KernelLog as Settings;
use triage_host::kernel_log::{KernelLog, Limits};
use triage_host::proc::Root;
use triage_host::testkit::FakeClock;

static ROOT: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("fuzz-kernel-log-{}", std::process::id()));
    let _ = std::fs::create_dir_all(root.join("var/log"));
    root
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = ROOT.join("var/log/kern.log");
    if std::fs::write(&path, data).is_err() {
        return;
    }
    let settings = Settings {
        source: triage_host::config::KernelLogSource::File,
        path: "/var/log/kern.log".into(),
        ..Settings::default()
    };
    let log = KernelLog::new(&settings, Root::new(&*ROOT), BootId::new("b"));
    let clock = FakeClock::at(triage_core::Stamp::from_secs(1_800_000_000));
    let limits = Limits { max_bytes: 4096, until: None };
    let mut cursor = None;
    for _ in 0..4 {
        let Ok(read) = log.read_new(cursor.as_ref(), limits, &clock) else { return };
        for line in read.lines() {
            let observed = read.observe(&NodeName::new("n"), &line);
            assert!(matches!(observed.payload, Payload::Line(_)));
        }
        cursor = Some(read.cursor.clone());
    }
});
