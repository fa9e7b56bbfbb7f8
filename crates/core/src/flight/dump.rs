//! One rank's dump.
use std::collections::BTreeMap;

use super::value::{Arena, Id, Value};
use super::{FlightError, pickle};

/// Most collectives of one dump that are looked at: the recorder keeps 2000 by default, sites raise it tenfold.
const MOST_ENTRIES: usize = 100_000;

/// Most ranks of one process group, and of all of them together: a file may give each the same long list.
const MOST_RANKS: usize = 65_536;
const MOST_MEMBERS: usize = 4 * MOST_RANKS;

/// Most process groups of one rank.
const MOST_GROUPS: usize = 512;

/// Longest list of ranks written as text, bytes.
const LONGEST_LIST: usize = 512 << 10;

/// What one rank's flight recorder held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// The rank that wrote it, where known.
    pub rank: Option<u32>,
    /// Its process groups, by name.
    pub groups: BTreeMap<String, Group>,
    /// Its last collectives, oldest first.
    pub entries: Vec<Entry>,
}

/// A process group as one rank sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// What it is for, in words (`default_pg`).
    pub description: String,
    /// Its members' global ranks; empty: not told.
    pub ranks: Vec<u32>,
    /// Sequence number of the collective enqueued last; `None`: not told.
    pub last_enqueued: Option<i64>,
    /// Sequence number of the collective completed last; `None`: not told.
    pub last_completed: Option<i64>,
}

/// One collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its process group.
    pub group: String,
    /// Its sequence number within the group.
    pub seq: i64,
    /// What it is: `nccl:all_reduce`.
    pub operation: String,
    /// Sizes of its input, as written.
    pub input: String,
    /// It completed.
    pub completed: bool,
    /// A send or a receive between two ranks, not a collective of all.
    pub point_to_point: bool,
}

impl Dump {
    /// Reads a dump, pickle or JSON, told apart by its first byte.
    ///
    /// # Errors
    /// When it is neither, is broken, or holds no flight record.
    pub fn read(bytes: &[u8], rank: Option<u32>) -> Result<Self, FlightError> {
        let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
        let (arena, root) = match first {
            Some(b'{' | b'[') => {
                let json =
                    crate::json::from_bytes(bytes).map_err(|error| FlightError::Json(error.to_string()))?;
                Arena::from_json(json).ok_or(FlightError::NoEntries)?
            }
            Some(0x80 | b'(' | b'}') => pickle::read(bytes)?,
            _ => return Err(FlightError::NeitherPickleNorJson),
        };
        Self::from_values(&arena, root, rank)
    }

    fn from_values(arena: &Arena, root: Id, rank: Option<u32>) -> Result<Self, FlightError> {
        let list = arena.field(root, "entries").ok_or(FlightError::NoEntries)?;
        let own =
            arena.field(root, "rank").and_then(|id| arena.int(id)).and_then(|rank| u32::try_from(rank).ok());
        let entries =
            arena.members(list).iter().take(MOST_ENTRIES).filter_map(|id| entry(arena, *id)).collect();
        Ok(Self { rank: own.or(rank), groups: groups(arena, root), entries })
    }
}

fn entry(arena: &Arena, id: Id) -> Option<Entry> {
    let number = |key: &str| arena.field(id, key).and_then(|id| arena.int(id));
    let text = |key: &str| arena.field(id, key).and_then(|id| arena.text(id));
    let point_to_point =
        arena.field(id, "is_p2p").is_some_and(|id| matches!(arena.get(id), Some(Value::Bool(true))));
    // Before version 2.1 of the format there was one number for both kinds.
    let seq = if point_to_point { number("p2p_seq_id") } else { number("collective_seq_id") };
    Some(Entry {
        group: group_name(arena, id)?,
        seq: seq.or_else(|| number("seq_id"))?,
        operation: text("profiling_name").unwrap_or_default(),
        input: arena.field(id, "input_sizes").map_or_else(String::new, |id| sizes(arena, id)),
        completed: text("state").is_some_and(|state| state == "completed"),
        point_to_point,
    })
}

/// `process_group` is a pair of name and description; older dumps have `pg_id` alone.
fn group_name(arena: &Arena, entry: Id) -> Option<String> {
    let named =
        arena.field(entry, "process_group").and_then(|pair| arena.text(*arena.members(pair).first()?));
    named.or_else(|| arena.text(arena.field(entry, "pg_id")?))
}

/// `[[4, 8], [2]]`, at most a few numbers.
fn sizes(arena: &Arena, of: Id) -> String {
    const MOST: usize = 8;
    let one = |id: &Id| match arena.get(*id) {
        Some(Value::Int(size)) => size.to_string(),
        _ => {
            let inner: Vec<String> = arena
                .members(*id)
                .iter()
                .take(MOST)
                .filter_map(|id| arena.int(*id))
                .map(|n| n.to_string())
                .collect();
            format!("[{}]", inner.join(", "))
        }
    };
    let all: Vec<String> = arena.members(of).iter().take(MOST).map(one).collect();
    format!("[{}]", all.join(", "))
}

fn groups(arena: &Arena, root: Id) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut room = MOST_MEMBERS;
    for (key, config) in
        arena.field(root, "pg_config").map_or(&[][..], |id| arena.pairs(id)).iter().take(MOST_GROUPS)
    {
        let Some(name) = arena.text(*key) else { continue };
        let group = groups.entry(name).or_default();
        group.description = arena.field(*config, "desc").and_then(|id| arena.text(id)).unwrap_or_default();
        group.ranks = arena.field(*config, "ranks").map_or_else(Vec::new, |id| ranks(arena, id, room));
        room = room.saturating_sub(group.ranks.len());
    }
    for (key, status) in
        arena.field(root, "pg_status").map_or(&[][..], |id| arena.pairs(id)).iter().take(MOST_GROUPS)
    {
        let Some(name) = arena.text(*key) else { continue };
        let group = groups.entry(name).or_default();
        group.last_enqueued = arena.field(*status, "last_enqueued_collective").and_then(|id| arena.int(id));
        group.last_completed = arena.field(*status, "last_completed_collective").and_then(|id| arena.int(id));
    }
    groups
}

/// A list of ranks, or the text of one: `[0, 1, 2]`; at most so many.
fn ranks(arena: &Arena, of: Id, room: usize) -> Vec<u32> {
    let most = room.min(MOST_RANKS);
    if let Some(Value::Text(text)) = arena.get(of) {
        let text = &text[..text.floor_char_boundary(LONGEST_LIST)];
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        return numbers.take(most).filter_map(|part| part.parse().ok()).collect();
    }
    let members = arena.members(of).iter().take(most);
    members.filter_map(|id| u32::try_from(arena.int(*id)?).ok()).collect()
}
