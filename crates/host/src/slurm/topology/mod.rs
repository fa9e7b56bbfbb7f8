//! Which leaf switch, or which block of a rack, a node belongs to: from `topology.yaml` (Slurm 25.05 and later), else from
//! `topology.conf`. Slurm, too, does not look at the second one where there is the first.
mod conf;
mod yaml;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use triage_core::NodeName;
use triage_core::fleet::Switch;

/// Largest file read. A line or three a switch, 5,000 nodes behind folded lists: some ten KiB.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Below this switch, or in this block.
    Below(Switch),
    /// No file, or one that was understood and names no switch for the node.
    Nowhere,
    /// There is a file, and it does not tell: why, with path and line.
    Unknown(String),
}

/// The file that holds in the folder of slurm.conf.
pub fn beside(slurm_conf: &Path) -> Option<PathBuf> {
    let folder = slurm_conf.parent()?;
    let yaml = folder.join("topology.yaml");
    // One that cannot be looked at is still the one that holds.
    let none = yaml.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    Some(if none { folder.join("topology.conf") } else { yaml })
}

/// Where the file puts the node.
pub fn place_of(path: &Path, node: &NodeName) -> Place {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Place::Nowhere,
        Err(error) => Place::Unknown(format!("{}: {error}", path.display())),
        Ok(bytes) if bytes as u64 > MAX_BYTES => {
            Place::Unknown(format!("{}: larger than 1 MiB: this is no topology", path.display()))
        }
        Ok(_) if is_yaml(path) => yaml::find(&text, node).unwrap_or_else(|yaml::Fault { line, what }| {
            Place::Unknown(format!("{}:{line}: {what}", path.display()))
        }),
        Ok(_) => match conf::find(&text, node) {
            Ok(switch) => switch.map_or(Place::Nowhere, Place::Below),
            Err((line, what)) => Place::Unknown(format!("{}:{line}: {what}", path.display())),
        },
    }
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_yaml_file_holds_where_both_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let (conf, node) = (folder.path().join("slurm.conf"), NodeName::from("n1"));
        let place = || place_of(&beside(&conf).unwrap(), &node);
        let name = |place: Place| match place {
            Place::Below(switch) => switch.name,
            other => format!("{other:?}"),
        };
        assert_eq!(place(), Place::Nowhere);
        fs::write(folder.path().join("topology.conf"), "SwitchName=old Nodes=n[1-4]\n").unwrap();
        assert_eq!(name(place()), "old");
        let yaml = folder.path().join("topology.yaml");
        fs::write(
            &yaml,
            "- topology: a\n  tree:\n    switches:\n      - switch: new\n        nodes: n[1-4]\n",
        )
        .unwrap();
        assert_eq!(name(place()), "new");
        fs::write(&yaml, "- topology: a\n  tree: &x\n").unwrap();
        assert!(name(place()).contains("topology.yaml:2: "), "{:?}", place());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("topology.yaml");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(place_of(&path, &NodeName::from("n1")), Place::Unknown(_)));
        fs::write(&path, "#".repeat(1024 * 1024 + 1)).unwrap();
        assert!(matches!(place_of(&path, &NodeName::from("n1")), Place::Unknown(_)));
        assert!(matches!(place_of(folder.path(), &NodeName::from("n1")), Place::Unknown(_)));
    }
}
