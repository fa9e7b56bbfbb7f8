//! What slurm.conf says of this node.
use std::collections::BTreeMap;
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
        overrides: overrides(lines),
        real_memory_mb: get("realmemory").and_then(|value| value.parse().ok()),
        cpus: pairs.as_ref().and_then(cpus),
        gres: get("gres").cloned(),
    }
}

/// slurm.conf(5): with `config_overrides` a node is taken for what the file says it is, as a test cluster's or a shared
/// machine's nodes are; the last line that says anything holds.
fn overrides(lines: &[conf::Line]) -> bool {
    let said = lines.iter().rev().find_map(|line| line.get("SlurmdParameters"));
    said.is_some_and(|said| said.split(',').any(|word| word.trim().eq_ignore_ascii_case("config_overrides")))
}

/// slurm.conf(5): `CPUs`, else the product of boards, sockets, cores and threads, each 1 where it is not said. `Sockets` counts those
/// of all boards, `SocketsPerBoard` those of one. `None`: nothing is said, and slurmd's own count holds.
fn cpus(pairs: &BTreeMap<String, String>) -> Option<u64> {
    let number = |key: &str| pairs.get(key).and_then(|value| value.parse::<u64>().ok()).filter(|n| *n > 0);
    if let Some(cpus) = number("cpus").or_else(|| number("procs")) {
        return Some(cpus);
    }
    let cores = number("corespersocket")?;
    let sockets = match number("sockets") {
        Some(sockets) => sockets,
        None => number("socketsperboard").unwrap_or(1).checked_mul(number("boards").unwrap_or(1))?,
    };
    sockets.checked_mul(cores)?.checked_mul(number("threadspercore").unwrap_or(1))
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

    #[test]
    fn a_file_that_overrides_what_a_node_has_is_known_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        std::fs::create_dir_all(folder.path().join("etc/slurm")).unwrap();
        for (parameters, wanted) in [
            ("SlurmdParameters=config_overrides", true),
            ("slurmdparameters=l3cache_as_socket,Config_Overrides", true),
            ("SlurmdParameters=config_overrides\nSlurmdParameters=l3cache_as_socket", false),
            ("SlurmctldParameters=config_overrides", false),
            ("", false),
        ] {
            std::fs::write(
                folder.path().join("etc/slurm/slurm.conf"),
                format!("{parameters}\nNodeName=n1\n"),
            )
            .unwrap();
            assert_eq!(
                read(&root, None, &NodeName::from("n1")).said.unwrap().overrides,
                wanted,
                "{parameters}"
            );
        }
    }

    #[test]
    fn cpus_are_counted_as_slurm_does_where_the_line_gives_no_number() {
        for (line, wanted) in [
            ("CPUs=64 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2", Some(64)),
            ("Sockets=2 CoresPerSocket=56 ThreadsPerCore=2", Some(224)),
            ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", Some(16)),
            ("Sockets=2 ThreadsPerCore=2", None),
            ("CPUs=x CoresPerSocket=8", Some(8)),
            ("Sockets=18446744073709551615 CoresPerSocket=8", None),
            ("", None),
        ] {
            let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
            let pairs = pairs.map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned())).collect();
            assert_eq!(cpus(&pairs), wanted, "{line}");
        }
    }
}
