//! Processes that cannot go on, those that ended and wait, and those that users left behind.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_core::facts::Sheet;
use triage_core::facts::host::{Leftovers, Process, Processes, ShmFile, UserProcess};

use super::attr;
use crate::proc::Root;

/// Most processes looked at: the default of `kernel.pid_max` on a large machine is four million, but nothing that many
/// runs on a compute node.
const MAX_PROCESSES: usize = 100_000;
/// Most kept of each kind.
const MAX_STUCK: usize = 64;
const MAX_LEFT: usize = 256;

/// The part of `/proc/<pid>/stat` that is asked for.
pub(super) struct Stat {
    comm: String,
    state: char,
    parent: u32,
    start: u64,
}

/// Reads every process below `root`.
pub(super) fn read(root: &Root) -> Sheet<Processes> {
    let pids = match pids(root) {
        Ok(pids) => pids,
        Err(error) => return Sheet::blind(format!("/proc: {error}")),
    };
    let mut processes = Processes::default();
    let mut parents: BTreeMap<u32, u64> = BTreeMap::new();
    for pid in pids {
        // One that has gone meanwhile is no process any more.
        let Some(stat) = stat(root, pid) else { continue };
        processes.count += 1;
        processes.steps += u64::from(stat.comm == "slurmstepd");
        match stat.state {
            'Z' => {
                processes.zombies += 1;
                *parents.entry(stat.parent).or_default() += 1;
            }
            'D' if processes.stuck.len() < MAX_STUCK => processes.stuck.push(Process {
                pid,
                start: stat.start,
                comm: stat.comm,
                uid: uid(root, pid),
                wchan: root.wchan(pid),
            }),
            _ => {}
        }
    }
    processes.stuck.arrange_by_key(|process| (process.start, process.pid));
    processes.zombie_parent = parents.into_iter().max_by_key(|(_, count)| *count).and_then(|(pid, _)| {
        let stat = stat(root, pid)?;
        Some(Process { pid, start: stat.start, comm: stat.comm, uid: uid(root, pid), wchan: None })
    });
    if processes.count == 0 {
        return Sheet::blind("/proc: no process in it could be read");
    }
    Sheet::read(processes)
}

/// What these users have on the node: processes, and files in shared memory.
pub(super) fn leftovers(root: &Root, uids: &BTreeSet<u32>) -> Sheet<Leftovers> {
    let mut left = Leftovers { uids: uids.iter().copied().collect(), ..Leftovers::default() };
    if uids.is_empty() {
        return Sheet::read(left);
    }
    let (pids, booted) = match (pids(root), root.boot_time()) {
        (Ok(pids), Ok(booted)) => (pids, booted.micros()),
        (Err(error), _) | (_, Err(error)) => return Sheet::blind(format!("/proc: {error}")),
    };
    let tick_us = 1_000_000 / ticks_per_second();
    for pid in pids {
        let Some(uid) = uid(root, pid).filter(|uid| uids.contains(uid)) else { continue };
        let Some(stat) = stat(root, pid).filter(|stat| stat.state != 'Z' && left.processes.len() < MAX_LEFT)
        else {
            continue;
        };
        let since_boot = i64::try_from(stat.start).unwrap_or(i64::MAX).saturating_mul(tick_us);
        let started_us = booted.saturating_add(since_boot);
        left.processes.push(UserProcess { pid, uid, started_us, comm: stat.comm });
    }
    left.shm = shared_memory(root, uids);
    Sheet::read(left)
}

/// Files of `/dev/shm` and of one folder below it. It is memory, so it cannot hang.
fn shared_memory(root: &Root, uids: &BTreeSet<u32>) -> Vec<ShmFile> {
    let Ok(entries) = fs::read_dir(root.at("/dev/shm")) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.take(MAX_PROCESSES).filter_map(Result::ok) {
        // Never follows a link: `metadata` of an entry does not.
        let Ok(meta) = entry.metadata() else { continue };
        if files.len() < MAX_LEFT && meta.is_file() && uids.contains(&meta.uid()) {
            files.push(ShmFile {
                name: shown(entry.file_name().as_encoded_bytes()),
                uid: meta.uid(),
                bytes: meta.blocks().saturating_mul(512),
                written_us: meta.mtime().saturating_mul(1_000_000),
            });
        }
    }
    files.arrange_by(|a, b| a.name.cmp(&b.name));
    files
}

fn pids(root: &Root) -> std::io::Result<Vec<u32>> {
    let entries = fs::read_dir(root.at("/proc"))?;
    let names = entries.take(MAX_PROCESSES).filter_map(Result::ok);
    Ok(names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn uid(root: &Root, pid: u32) -> Option<u32> {
    fs::metadata(root.at(Path::new("/proc")).join(pid.to_string())).ok().map(|meta| meta.uid())
}

fn stat(root: &Root, pid: u32) -> Option<Stat> {
    parse(&attr::bytes(&root.at(format!("/proc/{pid}/stat"))).ok()?)
}

/// The name stands in parentheses and may itself hold spaces and parentheses: what follows is found from the last one.
pub(super) fn parse(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|b| *b == b'(')?;
    let close = line.iter().rposition(|b| *b == b')')?;
    let comm = shown(line.get(open + 1..close)?);
    let rest = str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 22 of the line (proc(5)); the parent is field 4.
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { comm, state, parent, start })
}

/// A name anybody may choose, fit to be shown.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().take(64).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn ticks_per_second() -> i64 {
    // SAFETY: asks for a number.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks } else { 100 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(comm: &str, state: char, parent: u32, start: u64) -> String {
        format!(
            "5 ({comm}) {state} {parent} 5 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 {start} 4096 1 18446744073709551615\n"
        )
    }

    fn tree(processes: &[(u32, String)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, stat) in processes {
            let at = folder.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("stat"), stat).unwrap();
            fs::write(at.join("wchan"), "nfs_wait").unwrap();
        }
        let root = Root::new(folder.path());
        (folder, root)
    }

    #[test]
    fn what_is_stuck_is_told_with_where_and_zombies_with_their_parent() {
        let (_folder, root) = tree(&[
            (1, line("init", 'S', 0, 1)),
            (20, line("evil) Z 1 (x", 'D', 1, 900)),
            (21, line("dd", 'D', 1, 800)),
            (30, line("a", 'Z', 40, 5)),
            (31, line("b", 'Z', 40, 6)),
            (32, line("c", 'Z', 1, 6)),
            (40, line("launcher\u{7}", 'S', 1, 7)),
            (50, "garbage".to_owned()),
        ]);
        let processes = read(&root).said.unwrap();
        let stuck: Vec<(u32, &str)> = processes.stuck.iter().map(|p| (p.pid, p.comm.as_str())).collect();
        assert_eq!(stuck, [(21, "dd"), (20, "evil) Z 1 (x")]);
        assert_eq!(processes.stuck[0].wchan.as_deref(), Some("nfs_wait"));
        assert_eq!((processes.zombies, processes.count), (3, 7));
        assert_eq!(
            processes.zombie_parent.map(|p| (p.pid, p.comm)),
            Some((40, "launcher\u{fffd}".to_owned()))
        );
    }

    #[test]
    fn only_the_users_asked_for_are_looked_at() {
        let (folder, root) = tree(&[(7, line("train", 'S', 1, 4_200))]);
        fs::write(folder.path().join("proc/stat"), "btime 1000\n").unwrap();
        let own = fs::metadata(folder.path()).unwrap().uid();
        let left = leftovers(&root, &BTreeSet::from([own])).said.unwrap();
        assert_eq!(left.processes.len(), 1);
        assert_eq!(left.processes[0].started_us, 1_000_000_000 + 4_200 * (1_000_000 / ticks_per_second()));
        assert_eq!(leftovers(&root, &BTreeSet::from([own + 1])).said.unwrap().processes, []);
    }

    #[test]
    fn a_folder_without_processes_is_blindness_and_not_an_idle_node() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(&Root::new(folder.path())).said.is_none());
        fs::create_dir(folder.path().join("proc")).unwrap();
        assert!(read(&Root::new(folder.path())).said.is_none());
        assert!(read(&Root::default()).said.is_some_and(|processes| processes.count > 1));
    }

    proptest! {
        #[test]
        fn any_line_is_answered(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }
    }
}
