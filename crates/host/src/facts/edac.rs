//! Memory errors as the memory controllers count them.
use std::path::Path;

use triage_core::facts::Sheet;
use triage_core::facts::host::{Edac, Errors};

use super::attr;
use crate::proc::Root;

const FOLDER: &str = "/sys/devices/system/edac/mc";

/// Reads what there is below `root`: by DIMM where the driver tells them apart, else by controller. Without a driver
/// for the controller there is nothing.
pub(super) fn read(root: &Root) -> Sheet<Edac> {
    let folder = root.at(FOLDER);
    let mut edac = Edac::default();
    for controller in attr::names(&folder).unwrap_or_default() {
        if !controller.starts_with("mc") {
            continue;
        }
        let path = folder.join(&controller);
        let parts: Vec<String> = attr::names(&path).unwrap_or_default();
        let dimms = parts.iter().filter(|name| name.starts_with("dimm") || name.starts_with("rank"));
        let mut any = false;
        for dimm in dimms {
            let at = path.join(dimm);
            if let Some(errors) = errors(&at, "dimm_ce_count", "dimm_ue_count") {
                any = true;
                let label =
                    attr::text(&at.join("dimm_label")).unwrap_or_else(|| format!("{controller}/{dimm}"));
                add(&mut edac, label, errors);
            }
        }
        if let (false, Some(errors)) = (any, errors(&path, "ce_count", "ue_count")) {
            add(&mut edac, controller, errors);
        }
    }
    Sheet::read(edac)
}

fn errors(at: &Path, corrected: &str, uncorrected: &str) -> Option<Errors> {
    let corrected = attr::number(&at.join(corrected))?;
    Some(Errors { corrected, uncorrected: attr::number(&at.join(uncorrected)).unwrap_or(0) })
}

/// Firmware may give two modules one label: their errors are then of either.
fn add(edac: &mut Edac, label: String, errors: Errors) {
    let sum = edac.of.entry(label).or_default();
    sum.corrected = sum.corrected.saturating_add(errors.corrected);
    sum.uncorrected = sum.uncorrected.saturating_add(errors.uncorrected);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimms_go_before_their_controller_and_labels_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("sys/devices/system/edac/mc").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("mc0/ce_count", "9\n");
        write("mc0/ue_count", "0\n");
        write("mc0/dimm0/dimm_label", "CPU0_C1\n");
        write("mc0/dimm0/dimm_ce_count", "7\n");
        write("mc0/dimm0/dimm_ue_count", "1\n");
        write("mc0/dimm1/dimm_ce_count", "2\n");
        write("mc1/ce_count", "3\n");
        write("mc2/ce_count", "no\n");
        write("power/control", "auto\n");
        let edac = read(&Root::new(folder.path())).said.unwrap();
        let told: Vec<(&str, u64, u64)> =
            edac.of.iter().map(|(name, e)| (name.as_str(), e.corrected, e.uncorrected)).collect();
        assert_eq!(told, [("CPU0_C1", 7, 1), ("mc0/dimm1", 2, 0), ("mc1", 3, 0)]);
    }
}
