//! `topology.conf`: a line for each switch (`SwitchName=s1 Nodes=n[1-8]`, topology/tree) or block (`BlockName=b1
//! Nodes=n[1-8]`, topology/block).
use triage_core::NodeName;
use triage_core::fleet::Switch;

use crate::slurm::hostlist;

/// The leaf switch or the block of `node`; `None` where the text names none. A line that is not understood may be the one that
/// names it: then it is told, with its number.
pub(super) fn find(text: &str, node: &NodeName) -> Result<Option<Switch>, (usize, String)> {
    let mut bad = None;
    for (number, line) in joined(text) {
        match leaf(&line) {
            Ok(Some(switch)) if switch.nodes.contains(node) => return Ok(Some(switch)),
            Ok(_) => {}
            Err(what) => bad = bad.or(Some((number, what))),
        }
    }
    bad.map_or(Ok(None), Err)
}

/// Lines without comments, each with its number; a backslash at the end joins the next one.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open = (1, String::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        match line.strip_suffix('\\') {
            Some(part) => open.1.push_str(part),
            None => {
                open.1.push_str(line);
                lines.push(std::mem::replace(&mut open, (index + 2, String::new())));
            }
        }
    }
    lines.push(open);
    lines
}

/// Keys of Slurm's configuration files have no case. A switch above others, and what is no switch, is no leaf.
fn leaf(line: &str) -> Result<Option<Switch>, String> {
    let value = |key: &str| {
        line.split_whitespace()
            .filter_map(|word| word.split_once('='))
            .find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
    };
    match (value("SwitchName").or_else(|| value("BlockName")), value("Nodes")) {
        (Some(name), Some(nodes)) => match hostlist::expand(nodes.trim_end_matches(',')) {
            Ok(nodes) => Ok(Some(Switch { name: name.to_owned(), nodes })),
            Err(error) => Err(format!("Nodes of {name}: {error}")),
        },
        (Some(name), None) if value("Switches").is_none() => {
            Err(format!("{name} has neither Nodes nor Switches"))
        }
        (None, Some(_)) => Err("Nodes of neither a SwitchName nor a BlockName".to_owned()),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TREE: &str = "# two racks\nSwitchName=leaf1 Nodes=n[1-8]\nswitchname=leaf2 nodes=n[9-12], # half full\n\
                        SwitchName=leaf3 \\\n  Nodes=n[13-16] LinkSpeed=100\nSwitchName=spine Switches=leaf[1-3]\n";

    #[test]
    fn a_node_is_found_below_its_leaf_switch() {
        let name = |node: &str| find(TREE, &NodeName::from(node)).unwrap().map(|switch| switch.name);
        assert_eq!(name("n8").as_deref(), Some("leaf1"));
        assert_eq!(name("n14").as_deref(), Some("leaf3"));
        assert_eq!(name("n99"), None);
        assert_eq!(find(TREE, &NodeName::from("n8")).unwrap().unwrap().nodes.len(), 8);
    }

    #[test]
    fn a_block_is_a_place_as_well() {
        let text = "BlockName=b1 Nodes=n[1-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n";
        assert_eq!(
            find(text, &NodeName::from("n19")).unwrap().map(|switch| switch.name).as_deref(),
            Some("b2")
        );
    }

    #[test]
    fn a_node_may_be_in_a_line_that_is_not_understood() {
        for (bad, what) in [
            ("SwitchName=a Nodes=n[1-3", "Nodes of a: "),
            ("SwtichName=a Nodes=n[1-3]", "neither a SwitchName"),
            ("SwitchName=a Nods=n[1-3]", "neither Nodes nor Switches"),
            ("SwitchName=a \\\n Nodes=n[1-", "Nodes of a: "),
        ] {
            let text = format!("# racks\n{bad}\nSwitchName=b Nodes=n[4-6]\nSwitchName=top Switches=a,b\n");
            let (line, told) = find(&text, &NodeName::from("n1")).unwrap_err();
            assert!(line == 2 && told.contains(what), "{bad}: {line}: {told}");
            assert_eq!(find(&text, &NodeName::from("n5")).unwrap().unwrap().name, "b", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s).{0,200}") {
            let _ = find(&text, &NodeName::from("n1"));
        }
    }
}
