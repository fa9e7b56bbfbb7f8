//! What slurm.conf says of this node.
use std::path::{Path, PathBuf};

use triage_core::NodeName;
use triage_core::facts::Sheet;
use triage_core::facts::host::SlurmNode;

use crate::proc::Root;
use crate::slurm::conf;

/// Where slurm.conf is when nobody says; the second is what a configless slurmd fetched.
const PLACES: &[&str] =
    &["/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/etc/slurm-llnl/slurm.conf"];

/// Reads the node's line below `root`; `told`: the file, where the configuration or slurmd names one.
pub(super) fn read(root: &Root, told: Option<&Path>, node: &NodeName) -> Sheet<SlurmNode> {
    let places: Vec<PathBuf> =
        told.map_or_else(|| PLACES.iter().map(PathBuf::from).collect(), |told| vec![told.to_owned()]);
    for path in &places {
        match conf::read(&root.at(path)) {
            Ok(lines) => return Sheet::read(of(&lines, path, node)),
            Err(error) if error.is_missing() => {}
            Err(error) => return Sheet::blind(error.to_string()),
        }
    }
    let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    Sheet::blind(format!("no slurm.conf: neither {}", places.join(" nor ")))
}

fn of(lines: &[conf::Line], path: &Path, node: &NodeName) -> SlurmNode {
    let pairs = conf::node_pairs(lines, node);
    let get = |key: &str| pairs.as_ref().and_then(|pairs| pairs.get(key));
    SlurmNode {
        path: path.display().to_string(),
        named: pairs.is_some(),
        real_memory_mb: get("realmemory").and_then(|value| value.parse().ok()),
        cpus: get("cpus").and_then(|value| value.parse().ok()),
        gres: get("gres").cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_own_line_is_read_and_no_file_is_blindness() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let sheet = read(&root, None, &NodeName::from("n2"));
        assert!(sheet.said.is_none() && sheet.blind[0].starts_with("no slurm.conf"), "{sheet:?}");
        std::fs::create_dir_all(folder.path().join("etc/slurm")).unwrap();
        let text = "NodeName=n[1-3] CPUs=64 RealMemory=515000 Gres=gpu:8\n";
        std::fs::write(folder.path().join("etc/slurm/slurm.conf"), text).unwrap();
        let node = read(&root, None, &NodeName::from("n2")).said.unwrap();
        assert_eq!((node.real_memory_mb, node.cpus, node.named), (Some(515_000), Some(64), true));
        assert!(!read(&root, None, &NodeName::from("n9")).said.unwrap().named);
    }
}
