//! gres.conf, and behind a NUL byte the `Gres=` of slurm.conf that it is read with.
#![no_main]
use std::path::PathBuf;
use std::sync::LazyLock;

use triage_core::NodeName;
use triage_host::slurm::gres::read;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-gres-conf-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&folder);
    folder
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let cut = data.iter().position(|b| *b == 0).unwrap_or(data.len());
    let (gres, promised) = data.split_at(cut);
    let promised = String::from_utf8_lossy(promised.strip_prefix(b"\0").unwrap_or(b"gpu:8"));
    let slurm = FOLDER.join("slurm.conf");
    let written = std::fs::write(&slurm, format!("NodeName=gpu[01-16] Gres={promised}\n"))
        .and_then(|()| std::fs::write(FOLDER.join("gres.conf"), gres));
    if written.is_ok() {
        let sheet = read(&slurm, &NodeName::new("gpu07"));
        let gpus = sheet.said.and_then(|facts| facts.gpus);
        assert!(gpus.is_none_or(|gpus| gpus.count > 0), "a node that is promised none is promised nothing");
    }
});
