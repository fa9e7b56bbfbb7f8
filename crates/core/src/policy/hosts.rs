//! Node groups in a rule: `gpu[01-16]`, `rack2-*`, `n1,n[4-6]`.
use serde::{Deserialize, Serialize};

use crate::NodeName;

/// Longest pattern read, bytes. A list of every node of a large cluster is folded into far less.
const MAX_LEN: usize = 4096;

/// Stars and brackets of one pattern. Matching tries every way to split a name between them.
const MAX_JOKERS: usize = 4;

/// A list of node names in Slurm's notation, in which `*` also stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hosts {
    text: String,
    lists: Vec<Vec<Part>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Any,
    /// Numbers from low to high; with a width, written with exactly so many digits.
    Numbers(Vec<(u64, u64, usize)>),
}

/// A text that is no list of nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no list of nodes ({why}): write \"gpu[01-16]\", \"rack2-*\" or \"n1,n2\"")]
pub struct BadHosts {
    text: String,
    why: &'static str,
}

impl Hosts {
    /// Reads a list.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, BadHosts> {
        let bad = |why| BadHosts { text: text.chars().take(80).collect(), why };
        if text.len() > MAX_LEN {
            return Err(bad("longer than 4096 bytes"));
        }
        let lists: Vec<Vec<Part>> =
            split(text).into_iter().map(one).collect::<Result<_, _>>().map_err(bad)?;
        if lists.iter().any(Vec::is_empty) {
            return Err(bad("an empty name"));
        }
        Ok(Self { text: text.to_owned(), lists })
    }

    /// Whether the node is one of them.
    pub fn has(&self, node: &NodeName) -> bool {
        self.lists.iter().any(|parts| matches(parts, node.as_str()))
    }
}

impl TryFrom<String> for Hosts {
    type Error = BadHosts;

    fn try_from(text: String) -> Result<Self, BadHosts> {
        Self::parse(&text)
    }
}

impl From<Hosts> for String {
    fn from(hosts: Hosts) -> Self {
        hosts.text
    }
}

/// At the commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|c: char| {
        inside = match c {
            '[' => true,
            ']' => false,
            _ => inside,
        };
        c == ',' && !inside
    })
    .collect()
}

fn one(text: &str) -> Result<Vec<Part>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(['*', '[']).unwrap_or(rest.len());
        let (plain, after) = rest.split_at(end);
        if !plain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')) {
            return Err("a character no node name has");
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain.to_owned()));
        }
        rest = if let Some(after) = after.strip_prefix('*') {
            parts.push(Part::Any);
            after
        } else if let Some(after) = after.strip_prefix('[') {
            let (ranges, after) = after.split_once(']').ok_or("a bracket that is not closed")?;
            parts.push(Part::Numbers(ranges.split(',').map(range).collect::<Result<_, _>>()?));
            after
        } else {
            after
        };
    }
    let jokers = parts.iter().filter(|part| !matches!(part, Part::Text(_))).count();
    if jokers > MAX_JOKERS { Err("more than 4 stars and brackets in one name") } else { Ok(parts) }
}

fn range(text: &str) -> Result<(u64, u64, usize), &'static str> {
    const BAD: &str = "a range that is no numbers";
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let width = if low.len() > 1 && low.starts_with('0') { low.len() } else { 0 };
    let number = |text: &str| -> Result<u64, &'static str> {
        let digits = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        if digits { text.parse().map_err(|_| BAD) } else { Err(BAD) }
    };
    let (low, high) = (number(low)?, number(high)?);
    if low > high { Err("a range that runs backwards") } else { Ok((low, high, width)) }
}

fn matches(parts: &[Part], name: &str) -> bool {
    let Some((part, parts)) = parts.split_first() else { return name.is_empty() };
    match part {
        Part::Text(text) => name.strip_prefix(text.as_str()).is_some_and(|rest| matches(parts, rest)),
        Part::Any if parts.is_empty() => true,
        Part::Any => (0..=name.len()).filter_map(|at| name.get(at..)).any(|rest| matches(parts, rest)),
        Part::Numbers(ranges) => {
            let digits = name.bytes().take_while(u8::is_ascii_digit).count().min(18);
            (1..=digits).any(|len| {
                let (number, rest) = name.split_at(len);
                is_in(ranges, number) && matches(parts, rest)
            })
        }
    }
}

fn is_in(ranges: &[(u64, u64, usize)], digits: &str) -> bool {
    let Ok(number) = digits.parse::<u64>() else { return false };
    let padded = digits.len() > 1 && digits.starts_with('0');
    ranges.iter().any(|(low, high, width)| {
        (*low..=*high).contains(&number) && if *width > 0 { digits.len() == *width } else { !padded }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn has(list: &str, node: &str) -> bool {
        Hosts::parse(list).unwrap().has(&NodeName::from(node))
    }

    #[test]
    fn slurms_notation_names_the_nodes_it_names_in_slurm() {
        for (list, node, expect) in [
            ("n[1-4]", "n4", true),
            ("n[1-4]", "n5", false),
            ("n[1-4]", "n04", false),
            ("n[01-16]", "n04", true),
            ("n[01-16]", "n4", false),
            ("n[1-4,9]", "n9", true),
            ("n1,n[4-6]", "n5", true),
            ("rack[1-2]-n[1-8]", "rack2-n8", true),
            ("rack[1-2]-n[1-8]", "rack3-n8", false),
            ("rack2-*", "rack2-n17", true),
            ("*", "x", true),
            ("n1", "n10", false),
            ("n[1-4]-ib", "n2-ib", true),
            ("n[08-12]", "n12", true),
        ] {
            assert_eq!(has(list, node), expect, "{list} {node}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_a_reason() {
        for bad in ["", "n[1-", "n[4-1]", "n[a-b]", "n 1", "n1,,n2", "n[]", "*a*b*c*d*e", "n;rm"] {
            let error = Hosts::parse(bad).unwrap_err().to_string();
            assert!(error.contains("write \"gpu[01-16]\""), "{bad}: {error}");
        }
        assert!(Hosts::parse(&"x".repeat(5_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(list in ".{0,60}", node in "[a-z0-9.-]{0,255}") {
            if let Ok(hosts) = Hosts::parse(&list) {
                let _ = hosts.has(&NodeName::from(node.as_str()));
            }
        }

        #[test]
        fn a_plain_name_means_itself_alone(name in "[a-z][a-z0-9-]{0,20}", other in "[a-z][a-z0-9-]{0,20}") {
            prop_assert_eq!(has(&name, &other), name == other);
        }
    }
}
