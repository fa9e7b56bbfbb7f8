//! What the nodes' devices looked like at the end of the run, and what the ledgers remember of earlier runs.
use std::io;
use std::path::Path;

use triage_core::attribute::{NicReading, NodeEvidence, PastRun};
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};

use crate::files;

/// Largest of these files, bytes.
const LARGEST: u64 = 8 << 20;

/// Most earlier runs that are looked at.
const MOST_RUNS: usize = 10_000;

/// `gpus.json`. It is optional: a node without is told of only where it is there and broken.
pub(crate) fn gpus(place: &Path, node: &mut NodeEvidence) {
    if let Some(mut gpus) = json::<Vec<GpuReading>>(place, "gpus.json", node) {
        gpus.iter_mut().for_each(in_nvmls_words);
        node.nvml = Some(NvmlReading { state: NvmlState::Ok, gpus, ..NvmlReading::default() });
    }
}

/// `nvml.json`, optional: the state of the library and its versions, where `gpus.json` tells of the GPUs.
pub(crate) fn nvml(place: &Path, node: &mut NodeEvidence) {
    if let Some(about) = json::<NvmlReading>(place, "nvml.json", node) {
        let gpus = node.nvml.take().map(|reading| reading.gpus).unwrap_or_default();
        node.nvml = Some(NvmlReading { gpus, ..about });
    }
}

/// Bundles of other tools use the short words for what the driver asks for.
fn in_nvmls_words(gpu: &mut GpuReading) {
    let word = match gpu.recovery_action.as_deref() {
        Some("reset") => "gpu_reset",
        Some("reboot") => "node_reboot",
        Some("drain") => "drain_and_reset",
        _ => return,
    };
    gpu.recovery_action = Some(word.to_owned());
}

/// `nics.json`, optional like `gpus.json`.
pub(crate) fn nics(place: &Path, node: &mut NodeEvidence) {
    node.nics = json::<Vec<NicReading>>(place, "nics.json", node).unwrap_or_default();
}

fn json<T: serde::de::DeserializeOwned>(place: &Path, name: &str, node: &mut NodeEvidence) -> Option<T> {
    let bytes = match files::read(&place.join(name), LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            node.blind.push(format!("{name}: {error}"));
            return None;
        }
    };
    match triage_core::json::from_bytes(&bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            node.blind.push(format!("{name}: {error}"));
            None
        }
    }
}

/// `history.jsonl`: a line that is no run spoils no other.
pub(crate) fn history(folder: &Path, blind: &mut Vec<String>) -> Vec<PastRun> {
    let bytes = match files::read(&folder.join("history.jsonl"), LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            blind.push(format!("history.jsonl: {error}"));
            return Vec::new();
        }
    };
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut runs, mut bad) = (Vec::new(), 0_usize);
    for line in lines.take(MOST_RUNS) {
        match triage_core::json::from_bytes::<PastRun>(line) {
            Ok(run) => runs.push(run),
            Err(_) => bad += 1,
        }
    }
    if bad > 0 {
        blind.push(format!("history.jsonl: {bad} line(s) are no run"));
    }
    runs
}
