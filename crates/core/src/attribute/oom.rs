//! The report the kernel prints when it kills a process for want of memory: thirty lines or a thousand, of which a few
//! tell whose memory it was.
//!
//! Format: `dump_header`, `dump_tasks` and `__oom_kill_process` in the kernel's `mm/oom_kill.c` (4.19 and later print
//! the `oom-kill:constraint=` line; older ones only `Killed process`).
use crate::arrange::Arrange as _;
use std::collections::BTreeMap;

use super::OomKill;
use crate::Stamp;

/// Most owners one report is summed up for. A machine has more; those beyond hold next to nothing.
const MOST_OWNERS: usize = 256;

/// Reads reports out of kernel lines fed in order.
#[derive(Debug, Default)]
pub struct Reader {
    /// Resident pages by owner in the table being read.
    table: BTreeMap<u32, u64>,
    constraint: Option<Constraint>,
    kills: Vec<OomKill>,
}

#[derive(Debug, Clone, Default)]
struct Constraint {
    cgroup: bool,
    memcg: String,
    task_memcg: String,
    pid: u32,
    uid: Option<u32>,
    text: String,
}

/// Most kills kept. A machine that thrashes kills thousands.
const MOST_KILLS: usize = 256;

impl Reader {
    /// One kernel line without its prefix, and its time.
    pub fn line(&mut self, at: Stamp, text: &str) {
        if let Some(rest) = text.strip_prefix("oom-kill:") {
            self.constraint = Some(constraint(rest, text));
        } else if text.contains("invoked oom-killer:") {
            self.table.clear();
            self.constraint = None;
        } else if let Some((owner, pages)) = table_row(text) {
            if self.table.len() < MOST_OWNERS || self.table.contains_key(&owner) {
                let sum = self.table.entry(owner).or_default();
                *sum = sum.saturating_add(pages);
            }
        } else if let Some((pid, name, uid)) = killed(text) {
            self.kill(at, text, pid, name, uid);
        }
    }

    /// The kills read so far.
    pub fn finish(self) -> Vec<OomKill> {
        self.kills
    }

    fn kill(&mut self, at: Stamp, text: &str, pid: u32, name: &str, uid: Option<u32>) {
        let constraint = self.constraint.take().filter(|c| c.pid == pid || c.pid == 0);
        let mut by_owner: Vec<(u32, u64)> = std::mem::take(&mut self.table).into_iter().collect();
        by_owner.arrange_by_key(|(owner, pages)| (std::cmp::Reverse(*pages), *owner));
        if self.kills.len() >= MOST_KILLS {
            return;
        }
        let says_cgroup = text.to_ascii_lowercase().starts_with("memory cgroup out of memory");
        let constraint = constraint.unwrap_or_default();
        self.kills.push(OomKill {
            at,
            pid,
            name: name.to_owned(),
            uid: uid.or(constraint.uid),
            cgroup: constraint.cgroup || says_cgroup,
            memcg: constraint.memcg,
            task_memcg: constraint.task_memcg,
            by_owner,
            text: if constraint.text.is_empty() { text.to_owned() } else { constraint.text },
        });
    }
}

/// `constraint=CONSTRAINT_MEMCG,...,oom_memcg=...,task_memcg=...,task=python,pid=1,uid=1000`
fn constraint(rest: &str, text: &str) -> Constraint {
    let mut found = Constraint { text: text.to_owned(), ..Constraint::default() };
    for (key, value) in rest.split(',').filter_map(|part| part.split_once('=')) {
        match key {
            "constraint" => found.cgroup = value == "CONSTRAINT_MEMCG",
            "oom_memcg" => value.clone_into(&mut found.memcg),
            "task_memcg" => value.clone_into(&mut found.task_memcg),
            "pid" => found.pid = value.parse().unwrap_or_default(),
            "uid" => found.uid = value.parse().ok(),
            _ => {}
        }
    }
    found
}

/// `[ 486690]  5012 486690 119233000 110233000 881864000 0 0 python`: owner and resident pages.
fn table_row(text: &str) -> Option<(u32, u64)> {
    let (pid, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    pid.trim().parse::<u32>().ok()?;
    let mut columns = rest.split_ascii_whitespace();
    let owner = columns.next()?.parse().ok()?;
    let _process_group = columns.next()?.parse::<u32>().ok()?;
    let _virtual_pages = columns.next()?.parse::<u64>().ok()?;
    let resident = columns.next()?.parse().ok()?;
    columns.next()?.parse::<u64>().ok()?;
    Some((owner, resident))
}

/// `... Killed process 4711 (python) total-vm:...`: process, name and, since 5.2, owner.
fn killed(text: &str) -> Option<(u32, &str, Option<u32>)> {
    let at = text.find("Killed process ").or_else(|| text.find("Kill process "))?;
    let rest = text.get(at..)?.split_once("process ")?.1;
    let (pid, rest) = rest.split_once(' ')?;
    let name = rest.strip_prefix('(')?.split_once(')')?.0;
    let uid = rest.split_once("UID:").and_then(|(_, tail)| {
        tail.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    });
    Some((pid.trim_end_matches(',').parse().ok()?, name, uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> Vec<OomKill> {
        let mut reader = Reader::default();
        for line in lines {
            reader.line(Stamp::from_secs(7), line);
        }
        reader.finish()
    }

    const TABLE: &[&str] = &[
        "loader invoked oom-killer: gfp_mask=0x1, order=0, oom_score_adj=0",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[    100]     0   100     5000     1200    90112        0         -1000 sshd",
        "[   2200]  7001  2200  9000000  8000000  7000000        0             0 loader",
        "[   2201]  7001  2201  9000000  1000000  7000000        0             0 loader",
    ];

    #[test]
    fn the_limit_of_a_jobs_cgroup_is_told_from_the_machines() {
        let own = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,oom_memcg=/slurm/job_9/step_0,task_memcg=/slurm/job_9/step_0/task_1,task=loader,pid=2200,uid=7001";
        let killed = "Memory cgroup out of memory: Killed process 2200 (loader) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:7001 pgtables:1kB oom_score_adj:0";
        let kills = read(&[TABLE, &[own, killed]].concat());
        let [kill] = kills.as_slice() else { panic!("one kill") };
        assert!(kill.cgroup);
        assert_eq!((kill.pid, kill.uid, kill.memcg.as_str()), (2200, Some(7001), "/slurm/job_9/step_0"));

        let machine = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=loader,pid=2200,uid=7001";
        let kills =
            read(&[TABLE, &[machine, "Out of memory: Killed process 2200 (loader) total-vm:1kB"]].concat());
        assert!(!kills[0].cgroup);
        assert_eq!(kills[0].by_owner, [(7001, 9_000_000), (0, 1200)]);
    }

    #[test]
    fn a_kernel_that_prints_no_constraint_is_understood() {
        let kills =
            read(&["Memory cgroup out of memory: Kill process 12 (a b) score 900 or sacrifice child"]);
        assert_eq!((kills[0].pid, kills[0].name.as_str(), kills[0].cgroup), (12, "a b", true));
    }

    #[test]
    fn a_table_of_an_earlier_report_is_not_counted_twice() {
        let kills =
            read(&[TABLE, TABLE, &["Out of memory: Killed process 2200 (loader) total-vm:1kB"]].concat());
        assert_eq!(kills[0].by_owner[0], (7001, 9_000_000));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(lines in proptest::collection::vec(".{0,200}", 0..20)) {
            read(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
