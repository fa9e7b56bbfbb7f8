//! topology.conf and topology.yaml.
#![no_main]
use std::path::PathBuf;
use std::sync::LazyLock;

use triage_core::NodeName;
use triage_host::slurm::topology::place_of;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-topology-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&folder);
    folder
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for name in ["topology.conf", "topology.yaml"] {
        let path = FOLDER.join(name);
        if std::fs::write(&path, data).is_ok() {
            let _ = place_of(&path, &NodeName::new("gpu07"));
        }
    }
});
