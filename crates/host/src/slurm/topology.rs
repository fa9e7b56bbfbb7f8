//! `topology.conf`: which leaf switch a node hangs on. Only what `topology/tree` writes: `SwitchName=s1 Nodes=n[1-8]`.
//! The YAML form of 25.05 and later is not read.
use std::io::Read;
use std::path::Path;

use triage_core::NodeName;
use triage_core::fleet::Switch;

use super::hostlist;

/// Largest file read. A line a switch, 5,000 nodes behind folded lists: some ten KiB.
const MAX_BYTES: u64 = 1024 * 1024;

/// The leaf switch of `node`; `None` where the file is not there, cannot be read, or does not name the node.
pub fn switch_of(path: &Path, node: &NodeName) -> Option<Switch> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    find(&text, node)
}

fn find(text: &str, node: &NodeName) -> Option<Switch> {
    joined(text).iter().filter_map(|line| leaf(line)).find(|switch| switch.nodes.contains(node))
}

/// Lines without comments; a backslash at the end joins the next one.
fn joined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        match line.strip_suffix('\\') {
            Some(part) => open.push_str(part),
            None => lines.push(std::mem::take(&mut open) + line),
        }
    }
    lines.push(open);
    lines
}

/// Keys of Slurm's configuration files have no case.
fn leaf(line: &str) -> Option<Switch> {
    let value = |key: &str| {
        line.split_whitespace()
            .filter_map(|word| word.split_once('='))
            .find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
    };
    let nodes = hostlist::expand(value("Nodes")?).ok()?;
    Some(Switch { name: value("SwitchName")?.to_owned(), nodes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TREE: &str = "# two racks\nSwitchName=leaf1 Nodes=n[1-8]\nswitchname=leaf2 nodes=n[9-12], # half full\n\
                        SwitchName=leaf3 \\\n  Nodes=n[13-16] LinkSpeed=100\nSwitchName=spine Switches=leaf[1-3]\n";

    #[test]
    fn a_node_is_found_below_its_leaf_switch() {
        let name = |node: &str| find(TREE, &NodeName::from(node)).map(|switch| switch.name);
        assert_eq!(name("n8").as_deref(), Some("leaf1"));
        assert_eq!(name("n14").as_deref(), Some("leaf3"));
        assert_eq!(name("n99"), None);
        assert_eq!(find(TREE, &NodeName::from("n8")).unwrap().nodes.len(), 8);
    }

    #[test]
    fn a_file_that_is_not_there_is_no_topology() {
        assert_eq!(switch_of(Path::new("/nonexistent/topology.conf"), &NodeName::from("n1")), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s).{0,200}") {
            let _ = find(&text, &NodeName::from("n1"));
        }
    }
}
