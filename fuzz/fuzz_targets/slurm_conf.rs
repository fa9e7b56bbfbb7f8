//! slurm.conf: comments, continued lines, quotes, includes, defaults, node lists.
#![no_main]
use std::path::PathBuf;
use std::sync::LazyLock;

use triage_core::NodeName;
use triage_host::slurm::conf::{node_pairs, read};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-slurm-conf-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&folder);
    folder
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = FOLDER.join("slurm.conf");
    if std::fs::write(&path, data).is_err() {
        return;
    }
    if let Ok(lines) = read(&path) {
        let _ = node_pairs(&lines, &NodeName::new("gpu07"));
    }
});
