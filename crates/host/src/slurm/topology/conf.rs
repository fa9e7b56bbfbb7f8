//! `topology.conf`: a line for each switch (`SwitchName=s1 Nodes=n[1-8]`, topology/tree) or block (`BlockName=b1
//! Nodes=n[1-8]`, topology/block).
use triage_core::NodeName;
use triage_core::fleet::Switch;

use crate::slurm::hostlist;

/// The leaf switch or the block of `node`; `None` where the text names none.
pub(super) fn find(text: &str, node: &NodeName) -> Option<Switch> {
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
    let name = value("SwitchName").or_else(|| value("BlockName"))?;
    Some(Switch { name: name.to_owned(), nodes })
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
    fn a_block_is_a_place_as_well() {
        let text = "BlockName=b1 Nodes=n[1-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n";
        assert_eq!(find(text, &NodeName::from("n19")).map(|switch| switch.name).as_deref(), Some("b2"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s).{0,200}") {
            let _ = find(&text, &NodeName::from("n1"));
        }
    }
}
