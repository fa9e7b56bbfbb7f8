//! `topology.yaml`: the part of YAML that Slurm's manual writes it in, and nothing beyond.
//!
//! Read are lists (`- `), maps (`key: value`, `key:` with what belongs to it indented further), plain and quoted words,
//! comments, and `[a, b]` on one line. Anchors, tags, flow maps, text over several lines, tabs, a second document and keys
//! that the manual does not have are not understood, and then nothing of the file is believed: half a topology would put
//! nodes of one rack into two.
use std::collections::BTreeSet;
use triage_core::arrange::Arrange as _;

use triage_core::NodeName;
use triage_core::fleet::Switch;

use super::Place;
use crate::slurm::hostlist;

/// Lists and maps within each other at most. Slurm's own go four deep.
const MAX_DEPTH: usize = 16;

/// What is not understood, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) what: String,
}

type Read<T> = Result<T, Fault>;

/// Where the text puts the node: by the cluster's default topology first, then by the others in their order.
pub(super) fn find(text: &str, node: &NodeName) -> Read<Place> {
    let lines = lines(text)?;
    let root = Parser { lines: &lines, at: 0 }.document()?;
    let mut topologies = root.list()?.iter().map(topology).collect::<Read<Vec<_>>>()?;
    topologies.arrange_by_key(|topology| !topology.is_default);
    let switch = topologies.into_iter().flat_map(|topology| topology.groups).find(|s| s.nodes.contains(node));
    Ok(switch.map_or(Place::Nowhere, Place::Below))
}

/// One topology: its switches with nodes, or its blocks.
struct Topology {
    is_default: bool,
    groups: Vec<Switch>,
}

fn topology(node: &Node<'_>) -> Read<Topology> {
    let map = node.map(&["topology", "cluster_default", "tree", "block", "flat"])?;
    map.need("topology")?.word()?;
    let is_default = match map.get("cluster_default").map(Node::word).transpose()? {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => return node.fault(format!("cluster_default is \"{other}\", neither true nor false")),
    };
    let groups = match (map.get("tree"), map.get("block"), map.get("flat")) {
        (Some(tree), None, None) => {
            groups(tree.map(&["switches"])?.need("switches")?, "switch", &["switch", "children", "nodes"])?
        }
        (None, Some(block), None) => {
            groups(block.map(&["block_sizes", "blocks"])?.need("blocks")?, "block", &["block", "nodes"])?
        }
        (None, None, Some(_)) => Vec::new(),
        _ => return node.fault("a topology is one of tree, block and flat"),
    };
    Ok(Topology { is_default, groups })
}

/// The members of a list that have nodes of their own.
fn groups(list: &Node<'_>, name: &str, keys: &[&str]) -> Read<Vec<Switch>> {
    let mut groups = Vec::new();
    for member in list.list()? {
        let map = member.map(keys)?;
        let name = map.need(name)?.word()?.to_owned();
        let Some(nodes) = map.get("nodes") else { continue };
        let nodes = hostlist::expand(nodes.word()?).or_else(|error| nodes.fault(error.to_string()))?;
        groups.push(Switch { name, nodes });
    }
    Ok(groups)
}

/// A value, and the line it is on.
#[derive(Debug)]
struct Node<'t> {
    line: usize,
    value: Value<'t>,
}

#[derive(Debug)]
enum Value<'t> {
    Word(&'t str),
    List(Vec<Node<'t>>),
    Map(Vec<(&'t str, Node<'t>)>),
}

struct Map<'n, 't> {
    line: usize,
    entries: &'n [(&'t str, Node<'t>)],
}

impl<'t> Node<'t> {
    fn fault<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Fault { line: self.line, what: what.into() })
    }

    fn word(&self) -> Read<&'t str> {
        match self.value {
            Value::Word(word) if !word.is_empty() => Ok(word),
            _ => self.fault("a word is expected"),
        }
    }

    fn list(&self) -> Read<&[Node<'t>]> {
        match &self.value {
            Value::List(list) => Ok(list),
            _ => self.fault("a list is expected: lines that begin with \"- \""),
        }
    }

    /// The map, which has no other keys than these and none twice.
    fn map(&self, known: &[&str]) -> Read<Map<'_, 't>> {
        let Value::Map(entries) = &self.value else { return self.fault("keys with values are expected") };
        let mut met = BTreeSet::new();
        for (key, value) in entries {
            if !known.contains(key) {
                return value.fault(format!("\"{key}\" is not known: only {} are", known.join(", ")));
            }
            if !met.insert(key) {
                return value.fault(format!("{key} is said twice"));
            }
        }
        Ok(Map { line: self.line, entries })
    }
}

impl<'n, 't> Map<'n, 't> {
    fn get(&self, key: &str) -> Option<&'n Node<'t>> {
        self.entries.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    fn need(&self, key: &str) -> Read<&'n Node<'t>> {
        self.get(key).ok_or_else(|| Fault { line: self.line, what: format!("{key} is missing") })
    }
}

/// A line with something on it.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

impl Line<'_> {
    fn fault<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Fault { line: self.number, what: what.into() })
    }
}

/// Lines without comments, empty ones left out. Slurm takes everything behind a `#` for a comment.
fn lines(text: &str) -> Read<Vec<Line<'_>>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut ended = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let text = line.trim_start_matches(' ');
        let line = Line { number: index + 1, indent: line.len() - text.len(), text };
        match text {
            "" => {}
            "---" if lines.is_empty() && !ended && line.indent == 0 => {}
            "..." if line.indent == 0 => ended = true,
            _ if ended || text == "---" => return line.fault("a second document is not read"),
            _ if text.contains('\t') => return line.fault("a tab is no indentation in YAML: use blanks"),
            _ => lines.push(line),
        }
    }
    Ok(lines)
}

struct Parser<'l, 't> {
    lines: &'l [Line<'t>],
    at: usize,
}

impl<'t> Parser<'_, 't> {
    fn document(mut self) -> Read<Node<'t>> {
        let Some(first) = self.lines.first().copied() else {
            return Err(Fault { line: 1, what: "there is nothing in it".to_owned() });
        };
        let root = self.block(first, 0)?;
        match self.lines.get(self.at) {
            Some(line) => line.fault("its indentation fits nothing before it"),
            None => Ok(root),
        }
    }

    /// The list or map that begins with `first`, which is the present line or, behind a `- `, the rest of it.
    fn block(&mut self, first: Line<'t>, depth: usize) -> Read<Node<'t>> {
        if depth > MAX_DEPTH {
            return first.fault("too many levels");
        }
        let value = if item(first.text).is_some() {
            Value::List(self.list(first.indent, depth)?)
        } else {
            Value::Map(self.map(first, depth)?)
        };
        Ok(Node { line: first.number, value })
    }

    /// Items of a list at this indentation.
    fn list(&mut self, indent: usize, depth: usize) -> Read<Vec<Node<'t>>> {
        let mut list = Vec::new();
        while let Some(line) = self.lines.get(self.at).copied().filter(|line| line.indent == indent) {
            let Some(rest) = item(line.text) else { break };
            let inner = rest.trim_start_matches(' ');
            let inner = Line { indent: indent + line.text.len() - inner.len(), text: inner, ..line };
            if inner.text.is_empty() {
                self.at += 1;
                list.push(self.below(line, depth)?);
            } else if item(inner.text).is_none() && pair(inner.text).is_none() {
                self.at += 1;
                list.push(Node { line: line.number, value: scalar(inner)? });
            } else if item(inner.text).is_some() {
                return line.fault("a list within a list is not read");
            } else {
                list.push(self.block(inner, depth + 1)?);
            }
        }
        Ok(list)
    }

    /// Keys at the indentation of `first`, which is the first of them.
    fn map(&mut self, first: Line<'t>, depth: usize) -> Read<Vec<(&'t str, Node<'t>)>> {
        let mut map = Vec::new();
        let mut next = Some(first);
        while let Some(line) = next {
            let Some((key, rest)) = pair(line.text) else {
                return line.fault("neither \"key: value\" nor \"- \"");
            };
            self.at += 1;
            let node = if rest.is_empty() {
                self.below(line, depth)?
            } else {
                Node { line: line.number, value: scalar(Line { text: rest, ..line })? }
            };
            map.push((key, node));
            next = self.lines.get(self.at).copied().filter(|next| next.indent == first.indent);
            next = next.filter(|next| item(next.text).is_none());
        }
        Ok(map)
    }

    /// What belongs to a key or a `-` with nothing behind it: indented further, or a list at a key's own indentation.
    fn below(&mut self, owner: Line<'t>, depth: usize) -> Read<Node<'t>> {
        let belongs = |line: &Line<'t>| {
            let own_list =
                line.indent == owner.indent && item(owner.text).is_none() && item(line.text).is_some();
            line.indent > owner.indent || own_list
        };
        match self.lines.get(self.at).copied().filter(belongs) {
            Some(line) => self.block(line, depth + 1),
            None => owner.fault("nothing belongs to it"),
        }
    }
}

/// What is behind the `-` of a list's item.
fn item(text: &str) -> Option<&str> {
    if text == "-" { Some("") } else { text.strip_prefix("- ") }
}

/// Key and value of `key: value`.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.strip_suffix(':').map_or_else(|| text.split_once(": "), |key| Some((key, "")))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    (!key.is_empty() && key.chars().all(plain)).then_some((key, rest.trim()))
}

/// A word, plain or in quotes, or a list of words on one line.
fn scalar(line: Line<'_>) -> Read<Value<'_>> {
    if let Some(inner) = line.text.strip_prefix('[') {
        let Some(inner) =
            inner.strip_suffix(']').filter(|inner| !inner.contains(['[', ']', '{', '}', '"', '\'']))
        else {
            return line.fault("a list in brackets is read only on one line, and of plain words");
        };
        let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
        return Ok(Value::List(words.map(|w| Node { line: line.number, value: Value::Word(w) }).collect()));
    }
    for quote in ['"', '\''] {
        if let Some(inner) = line.text.strip_prefix(quote) {
            return match inner.strip_suffix(quote).filter(|word| !word.contains([quote, '\\'])) {
                Some(word) => Ok(Value::Word(word)),
                None => line.fault("a word in quotes ends on its line, with nothing escaped in it"),
            };
        }
    }
    let special = line.text.starts_with(['{', '}', ']', '&', '*', '!', '|', '>', '%', '@', '`', '?', ',']);
    if special || line.text.contains(": ") || line.text.ends_with(':') {
        return line.fault(format!("\"{}\" is beyond the YAML that is read here", line.text));
    }
    Ok(Value::Word(line.text))
}

#[cfg(test)]
mod tests;
