use proptest::prelude::*;

use super::*;

/// In the shape of Slurm's manual.
const MANUAL: &str = "---
# Three views of one cluster.
- topology: racks
  cluster_default: false
  block:
    block_sizes:
      - 4
      - 16
    blocks:
      - block: b1
        nodes: n[1-4]
      - block: b2
        nodes: n[5-8]
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: spine
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[1-2]   # half full
      - switch: leaf2
        nodes: \"n[3-4]\"
- topology: none
  flat: true
";

fn name(text: &str, node: &str) -> Result<Option<String>, String> {
    match find(text, &NodeName::from(node)) {
        Ok(Place::Below(switch)) => Ok(Some(switch.name)),
        Ok(_) => Ok(None),
        Err(fault) => Err(format!("{}: {}", fault.line, fault.what)),
    }
}

#[test]
fn a_node_is_found_in_the_default_topology_and_then_in_the_others() {
    assert_eq!(name(MANUAL, "n1"), Ok(Some("leaf1".to_owned())));
    assert_eq!(name(MANUAL, "n4"), Ok(Some("leaf2".to_owned())));
    assert_eq!(name(MANUAL, "n5"), Ok(Some("b2".to_owned())));
    assert_eq!(name(MANUAL, "n9"), Ok(None));
}

#[test]
fn other_ways_to_write_the_same_are_read() {
    let flat = "- topology: t\n  tree:\n    switches:\n    - switch: s1\n      nodes: n1,n2\n";
    assert_eq!(name(flat, "n2"), Ok(Some("s1".to_owned())));
    let wide = "-   topology: t\n    block:\n        block_sizes: [4, 16]\n        blocks:\n        -   block: 'b1'\n            nodes: n[1-2]\n...\n";
    assert_eq!(name(wide, "n2"), Ok(Some("b1".to_owned())));
    assert_eq!(name("-\n  topology: t\n  flat: true\n", "n2"), Ok(None));
}

#[test]
fn what_is_not_understood_is_told_with_its_line_and_nothing_of_the_file_is_believed() {
    let mut told_lines = Vec::new();
    for (line, text) in [
        ("1: ", ""),
        ("1: ", "topology: t\n"),
        ("1: ", "[{\"topology\": \"t\"}]"),
        ("1: ", "- topology: t\n"),
        ("1: ", "- topology: t\n  cluster_default: yes\n  flat: true\n"),
        ("3: ", "- topology: t\n  tree:\n    switch: s1\n"),
        ("2: ", "- topology: t\n  torus: x\n"),
        ("2: ", "- topology: t\n  tree: &anchor\n"),
        (
            "1: ",
            "- topology: t\n  flat: true\n  tree:\n    switches:\n      - switch: s\n        nodes: n1\n",
        ),
        ("2: ", "- topology: t\n\tflat: true\n"),
        ("3: ", "- topology: t\n  flat: true\n---\n- topology: u\n  flat: true\n"),
        ("5: ", "- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-\n"),
        ("5: ", "- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: >\n          n1\n"),
        ("5: ", "- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: \"n1\n"),
        (
            "6: ",
            "- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: n1\n        nodes: n2\n",
        ),
        (
            "6: ",
            "- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: n1\n          n2\n",
        ),
        ("4: ", "- topology: t\n  tree:\n    switches:\n      - - switch: s\n"),
    ] {
        let told = name(text, "n1").unwrap_err();
        told_lines.push((line, told.split_inclusive(": ").next().unwrap_or_default().to_owned()));
    }
    let wanted: Vec<_> = told_lines.iter().map(|(line, _)| (*line).to_owned()).collect();
    let told: Vec<_> = told_lines.into_iter().map(|(_, told)| told).collect();
    assert_eq!(told, wanted);
}

/// Writes racks as the manual does, in one of the ways that are read.
fn written(racks: &[(String, Vec<u16>)], indent: usize, quoted: bool) -> String {
    let pad = |levels: usize| " ".repeat(levels * indent);
    let quote = if quoted { "\"" } else { "" };
    let mut text = format!("- topology: t\n  tree:\n{}switches:\n", pad(2));
    for (name, nodes) in racks {
        let nodes: Vec<String> = nodes.iter().map(|n| format!("n{n}")).collect();
        let rack =
            format!("{}- switch: {name}\n{}  nodes: {quote}{}{quote}\n", pad(3), pad(3), nodes.join(","));
        text.push_str(&rack);
    }
    text
}

proptest! {
    /// Whatever the layout: a node is in the rack it was written into, and one that was not written is in none.
    #[test]
    fn what_is_written_is_read_back(
        racks in proptest::collection::vec(proptest::collection::btree_set(0_u16..500, 1..6), 1..8),
        indent in 2_usize..5,
        quoted in any::<bool>(),
    ) {
        let mut taken = std::collections::BTreeSet::new();
        let racks: Vec<(String, Vec<u16>)> = racks
            .into_iter()
            .enumerate()
            .map(|(n, nodes)| (format!("s{n}"), nodes.into_iter().filter(|node| taken.insert(*node)).collect::<Vec<_>>()))
            .filter(|(_, nodes)| !nodes.is_empty())
            .collect();
        let text = written(&racks, indent, quoted);
        for (rack, nodes) in &racks {
            for node in nodes {
                prop_assert_eq!(name(&text, &format!("n{node}")), Ok(Some(rack.clone())), "{}", text);
            }
        }
        prop_assert_eq!(name(&text, "n999"), Ok(None));
    }

    #[test]
    fn any_text_is_answered(text in "(?s).{0,200}") {
        let _ = find(&text, &NodeName::from("n1"));
    }

    /// Lines of the manual in any order and depth, cut anywhere.
    #[test]
    fn any_mixture_of_its_own_lines_is_answered(picks in proptest::collection::vec((0_usize..22, 0_usize..12), 0..30)) {
        let lines: Vec<&str> = MANUAL.lines().collect();
        let text: String = picks
            .iter()
            .map(|(line, indent)| format!("{}{}\n", " ".repeat(*indent), lines[line % lines.len()].trim_start()))
            .collect();
        let _ = find(&text, &NodeName::from("n1"));
    }
}
