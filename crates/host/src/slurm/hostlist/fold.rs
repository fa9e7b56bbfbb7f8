//! From names to a list.
use triage_core::NodeName;

/// Most digits that are folded; [`super::expand`] reads as many back.
const MAX_DIGITS: usize = 9;

/// The nodes as one list, in their order, with runs of numbers folded: `n[1-3,7],login`. One argument of a command is
/// 128 KiB at most, which the names of a large job's nodes would not fit into.
pub fn fold(nodes: &[NodeName]) -> String {
    let mut list = String::new();
    let mut rest = nodes;
    while let Some((first, _)) = rest.split_first() {
        let Some((prefix, _)) = split(first.as_str()) else {
            append(&mut list, first.as_str());
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let alike = rest.iter().map_while(|node| split(node.as_str()).filter(|(p, _)| *p == prefix));
        let numbers: Vec<&str> = alike.map(|(_, digits)| digits).collect();
        match numbers.as_slice() {
            [one] => append(&mut list, &format!("{prefix}{one}")),
            many => append(&mut list, &format!("{prefix}[{}]", ranges(many))),
        }
        rest = rest.get(numbers.len()..).unwrap_or_default();
    }
    list
}

fn append(list: &mut String, item: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(item);
}

/// Name and number, where the name ends in one.
fn split(name: &str) -> Option<(&str, &str)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > MAX_DIGITS {
        return None;
    }
    name.split_at_checked(name.len() - digits)
}

/// `1 2 3 7` as `1-3,7`. A range counts up by one in the width of its first number, as it is read back.
fn ranges(numbers: &[&str]) -> String {
    let mut list = String::new();
    let mut rest = numbers;
    while let Some((first, more)) = rest.split_first() {
        let width = first.len();
        let start: u64 = first.parse().unwrap_or(0);
        let successors = (1..).map(|step| format!("{:0width$}", start + step));
        let run = more.iter().zip(successors).take_while(|(number, next)| **number == next).count();
        match more.get(..run).and_then(<[&str]>::last) {
            Some(last) => append(&mut list, &format!("{first}-{last}")),
            None => append(&mut list, first),
        }
        rest = more.get(run..).unwrap_or_default();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::super::expand;
    use super::*;
    use proptest::prelude::*;

    fn folded(names: &[&str]) -> String {
        fold(&names.iter().map(|name| NodeName::from(*name)).collect::<Vec<_>>())
    }

    #[test]
    fn runs_are_folded_and_the_order_kept() {
        assert_eq!(folded(&["n1", "n2", "n3", "n7", "login"]), "n[1-3,7],login");
        assert_eq!(folded(&["gpu-08", "gpu-09", "gpu-10", "gpu-11"]), "gpu-[08-11]");
        assert_eq!(folded(&["n3", "n1", "x", "n2"]), "n[3,1],x,n2");
        assert_eq!(folded(&["n9", "n010", "n11"]), "n[9,010,11]");
        assert_eq!(folded(&["n1"]), "n1");
        assert_eq!(folded(&[]), "");
        assert_eq!(folded(&["n12345678901", "n12345678902"]), "n12345678901,n12345678902");
    }

    #[test]
    fn the_largest_cluster_fits_into_one_argument() {
        let nodes: Vec<NodeName> = (0..65_536).map(|n| NodeName::new(format!("gpu-node-{n:05}"))).collect();
        assert!(fold(&nodes).len() < 100);
        assert_eq!(expand(&fold(&nodes)), Ok(nodes));
    }

    proptest! {
        #[test]
        fn a_folded_list_expands_to_the_same_names(
            names in proptest::collection::vec("[a-c]{1,2}-?[0-9]{0,3}|n[0-9]{1,2}", 1..40),
        ) {
            let nodes: Vec<NodeName> = names.iter().map(|name| NodeName::new(name.as_str())).collect();
            prop_assert_eq!(expand(&fold(&nodes)), Ok(nodes));
        }
    }
}
