//! The lines of one node.
use std::collections::BTreeMap;

use triage_core::NodeName;

use super::Line;
use crate::slurm::hostlist;

/// Whether a `NodeName` list names the node.
pub fn applies_to(list: &str, node: &NodeName) -> bool {
    list == node.as_str() || hostlist::expand(list).is_ok_and(|names| names.contains(node))
}

/// What `slurm.conf` says of a node, keys in lower case: its line, over the `NodeName=DEFAULT` lines before it. `None`: no
/// line names it.
pub fn node_pairs(lines: &[Line], node: &NodeName) -> Option<BTreeMap<String, String>> {
    let mut defaults = BTreeMap::new();
    let mut found = None;
    for line in lines {
        let Some(list) = line.get("NodeName") else { continue };
        let pairs = || line.pairs().iter().map(|(key, value)| (key.to_ascii_lowercase(), value.clone()));
        if list.eq_ignore_ascii_case("DEFAULT") {
            defaults.extend(pairs());
        } else if applies_to(list, node) {
            let mut all: BTreeMap<String, String> = defaults.clone();
            all.extend(pairs());
            found = Some(all);
        }
    }
    found
}
