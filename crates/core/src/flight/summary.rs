//! What the dumps of one job tell together.
use crate::arrange::Gather as _;
use std::collections::BTreeMap;

use super::{Dump, Entry, Group};

/// What the dumps of one job's ranks tell together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Ranks that left a dump.
    pub dumped: Vec<u32>,
    /// Ranks of a process group that did not take part in the collective that the others wait in.
    pub missing: Vec<u32>,
    /// Two ranks of one process group in different operations at the same sequence number, in words.
    pub mismatch: Option<String>,
    /// Last completed collective of each rank, by process group.
    pub completed: BTreeMap<String, BTreeMap<u32, i64>>,
}

impl Summary {
    /// The rank that alone is behind, where there is exactly one.
    pub fn only_missing(&self) -> Option<u32> {
        match self.missing.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

/// Where one rank stands in one process group.
#[derive(Debug, Default, Clone, Copy)]
struct Standing {
    enqueued: i64,
    completed: i64,
    /// The first collective that it entered and did not complete.
    waits_in: Option<i64>,
}

/// What one rank tells of one process group.
#[derive(Debug, Default)]
struct Member<'d> {
    group: Option<&'d Group>,
    /// Its collectives in it.
    entries: Vec<&'d Entry>,
}

/// The ranks that tell of one process group.
type Members<'d> = BTreeMap<u32, Member<'d>>;

/// Puts the dumps of one job side by side. Dumps that do not say whose they are count for nothing.
pub fn summarise(dumps: &[Dump]) -> Summary {
    let by_rank: BTreeMap<u32, &Dump> = dumps.iter().filter_map(|dump| Some((dump.rank?, dump))).into_map();
    let mut summary = Summary { dumped: by_rank.keys().copied().collect(), ..Summary::default() };
    for (name, members) in by_group(&by_rank) {
        let standings: BTreeMap<u32, Standing> =
            members.iter().filter_map(|(rank, member)| Some((*rank, standing(member)?))).into_map();
        let completed = standings.iter().map(|(rank, at)| (*rank, at.completed)).collect();
        summary.completed.insert(name.to_owned(), completed);
        let missing = missing(&by_rank, &members, &standings);
        // The smallest group that somebody is missing from says most.
        if !missing.is_empty() && (summary.missing.is_empty() || missing.len() < summary.missing.len()) {
            summary.missing = missing;
        }
        if summary.mismatch.is_none() {
            summary.mismatch = mismatch(name, &members);
        }
    }
    summary
}

/// In one pass over all dumps: there may be as many groups as collectives.
fn by_group<'d>(by_rank: &BTreeMap<u32, &'d Dump>) -> BTreeMap<&'d str, Members<'d>> {
    let mut groups: BTreeMap<&str, Members<'d>> = BTreeMap::new();
    for (rank, dump) in by_rank {
        for (name, group) in &dump.groups {
            groups.entry(name).or_default().entry(*rank).or_default().group = Some(group);
        }
        for entry in &dump.entries {
            let member = groups.entry(&entry.group).or_default().entry(*rank).or_default();
            member.entries.extend(Some(entry).filter(|entry| !entry.point_to_point));
        }
    }
    groups
}

fn standing(member: &Member<'_>) -> Option<Standing> {
    let (status, entries) = (member.group, || member.entries.iter());
    let enqueued = entries().map(|entry| entry.seq).max().or_else(|| status?.last_enqueued)?;
    let completed = entries().filter(|entry| entry.completed).map(|entry| entry.seq).max();
    Some(Standing {
        enqueued: status.and_then(|status| status.last_enqueued).map_or(enqueued, |told| told.max(enqueued)),
        completed: completed.or_else(|| status?.last_completed).unwrap_or_default(),
        waits_in: entries().filter(|entry| !entry.completed).map(|entry| entry.seq).min(),
    })
}

/// Ranks that never entered the collective in which most others wait, and members without a dump where nearly all have
/// one.
fn missing(
    by_rank: &BTreeMap<u32, &Dump>,
    members: &Members<'_>,
    standings: &BTreeMap<u32, Standing>,
) -> Vec<u32> {
    let mut waiting: BTreeMap<i64, usize> = BTreeMap::new();
    for standing in standings.values() {
        if let Some(seq) = standing.waits_in {
            *waiting.entry(seq).or_default() += 1;
        }
    }
    let Some((seq, count)) = waiting.into_iter().max_by_key(|(seq, count)| (*count, *seq)) else {
        return Vec::new();
    };
    let behind = standings.iter().filter(|(_, standing)| standing.enqueued < seq).map(|(rank, _)| *rank);
    let ranks = members.values().filter_map(|member| Some(&member.group?.ranks)).max_by_key(|r| r.len());
    let silent = ranks.into_iter().flatten().copied().filter(|rank| !by_rank.contains_key(rank));
    let mut all: Vec<u32> = behind.chain(silent).collect();
    all.sort_unstable();
    all.dedup();
    // Where most are missing it is those that wait who are out of step, or the dumps were not collected.
    if all.len() >= count { Vec::new() } else { all }
}

fn mismatch(group: &str, members: &Members<'_>) -> Option<String> {
    let mut first: BTreeMap<i64, (u32, &Entry)> = BTreeMap::new();
    for (rank, member) in members {
        for entry in &member.entries {
            match first.get(&entry.seq) {
                Some((other, told)) if differs(told, entry) => {
                    return Some(format!(
                        "in group {group} at number {}, rank {other} was in {} {} and rank {rank} in {} {}",
                        entry.seq, told.operation, told.input, entry.operation, entry.input
                    ));
                }
                Some(_) => {}
                None => {
                    first.insert(entry.seq, (*rank, entry));
                }
            }
        }
    }
    None
}

/// Ranks may bring different amounts of data to some collectives; the operation must be the same in all.
fn differs(a: &Entry, b: &Entry) -> bool {
    let uneven = ["all_to_all", "alltoall", "gather", "scatter", "coalesced", "broadcast"];
    let may_be_uneven = uneven.iter().any(|name| a.operation.contains(name));
    a.operation != b.operation || (!may_be_uneven && a.input != b.input)
}
