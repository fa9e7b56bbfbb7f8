//! How much room there is on each filesystem, and whether it answers at all; and how NVMe disks say they are. Any question to
//! a filesystem or a disk may hang in the kernel, so a child asks (`triage-probe --filesystems`): it has a deadline, and what
//! did not answer by then is the finding. What still holds an earlier child is not asked again.
mod child;
mod smart;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use triage_core::ExitStatus;
use triage_core::facts::Sheet;
use triage_core::facts::host::{Answer, Mounts, Space};

use crate::proc::Root;
use crate::runner::{Command, RunError, Runner, Started};

pub use child::ask;

/// Most filesystems asked in one pass.
const MAX_PATHS: usize = 96;

/// Most NVMe controllers asked in one pass. A node for data has two dozen.
const MAX_DISKS: usize = 64;

/// Where their character devices are.
const DEV: &str = "/dev/";

/// What the child has beyond the filesystems' own deadline, for its own start and end.
const CHILD_SLACK: Duration = Duration::from_millis(500);

/// Largest answer.
const ANSWER_CAP: usize = 256 * 1024;

/// Filesystems whose room says nothing: images are always full, and a container's layers lie on a filesystem that is
/// asked itself.
const WITHOUT_ROOM: &[&str] =
    &["squashfs", "iso9660", "erofs", "cramfs", "overlay", "fuse.lxcfs", "fuse.portal"];

/// One line of the child's answer.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    path: String,
    #[serde(flatten)]
    answer: Answer,
}

/// What is asked of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A filesystem: its room.
    Room,
    /// A filesystem: its room, and whether it can be written to.
    Write,
    /// An NVMe controller's character device: its health log.
    Health,
}

impl How {
    /// Each with its option of `triage-probe --filesystems`.
    pub const OPTIONS: [(&'static str, Self); 3] =
        [("--path", Self::Room), ("--write", Self::Write), ("--nvme", Self::Health)];

    fn option(self) -> &'static str {
        Self::OPTIONS.iter().find(|(_, how)| *how == self).map_or("", |(option, _)| option)
    }
}

/// How to ask.
pub struct Asking<'a> {
    /// Runs the child.
    pub runner: &'a dyn Runner,
    /// Where `/proc` is.
    pub root: &'a Root,
    /// `triage-probe`.
    pub program: PathBuf,
    /// How long one filesystem may take.
    pub deadline: Duration,
    /// Where it is noted which children hang over what.
    pub notes: PathBuf,
}

/// Which filesystems are worth asking: each device once, those that are expected in any case. `true`: write as well.
pub fn worth_asking(mounts: &Mounts, expected: &[(String, bool)]) -> Vec<(String, How)> {
    let mut paths: Vec<(String, How)> = Vec::new();
    for (path, write) in expected {
        if mounts.mounted.iter().any(|mount| mount.path == *path) {
            paths.push((path.clone(), if *write { How::Write } else { How::Room }));
        }
    }
    let mut devices: Vec<&str> = Vec::new();
    for mount in &mounts.mounted {
        let known = devices.contains(&mount.device.as_str());
        // The many small in-memory filesystems of sessions and services are nobody's storage.
        let small = mount.kind == "tmpfs"
            && !matches!(mount.path.as_str(), "/dev/shm" | "/tmp" | "/run" | "/var/tmp");
        if known || small || WITHOUT_ROOM.contains(&mount.kind.as_str()) {
            continue;
        }
        devices.push(&mount.device);
        if !paths.iter().any(|(path, _)| *path == mount.path) {
            paths.push((mount.path.clone(), How::Room));
        }
    }
    paths.truncate(MAX_PATHS);
    paths
}

/// The same for NVMe controllers, by their names.
pub fn worth_asking_disks(controllers: Vec<String>) -> impl Iterator<Item = (String, How)> {
    controllers.into_iter().take(MAX_DISKS).map(|name| (format!("{DEV}{name}"), How::Health))
}

/// A question that is on its way: the child works while other things are looked at.
pub struct Asked<'a> {
    asking: &'a Asking<'a>,
    paths: Vec<(String, How)>,
    held: Vec<Held>,
    of: BTreeMap<String, Answer>,
    deadline_ms: u64,
    /// `None`: nobody needs to be asked. All are held by an earlier child, or there are none.
    child: Option<Started<'a>>,
}

impl Asking<'_> {
    /// Asks, and leaves the answer for later.
    pub fn ask(&self, paths: Vec<(String, How)>) -> Asked<'_> {
        let deadline_ms = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        let held = self.held();
        let mut of: BTreeMap<String, Answer> = BTreeMap::new();
        for Held { pid, path, .. } in &held {
            if paths.iter().any(|(asked, _)| asked == path) {
                let wchan = self.root.wchan(*pid);
                of.insert(path.clone(), Answer { hung: true, wchan, ..Answer::default() });
            }
        }
        let free: Vec<&(String, How)> = paths.iter().filter(|(path, _)| !of.contains_key(path)).collect();
        let child = (!free.is_empty()).then(|| self.start(&free, deadline_ms));
        Asked { asking: self, paths, held, of, deadline_ms, child }
    }

    fn start(&self, free: &[&(String, How)], deadline_ms: u64) -> Started<'_> {
        let mut args = vec!["--filesystems".to_owned(), deadline_ms.to_string()];
        for (path, how) in free {
            args.extend([how.option().to_owned(), path.clone()]);
        }
        let mut command = Command::new(&self.program, self.deadline.saturating_add(CHILD_SLACK)).args(args);
        command.output_cap = ANSWER_CAP;
        self.runner.start(command)
    }
}

impl Asked<'_> {
    /// Waits for the answer, no longer than the child's deadline.
    pub fn answer(self) -> Sheet<Space> {
        let Self { asking, paths, held, mut of, deadline_ms, child } = self;
        let mut why = None;
        if let Some(child) = child {
            let (said, reason) = asking.said(child, &held);
            of.extend(lines(&said, &paths));
            why = reason;
        }
        let why = why.as_deref().unwrap_or("no answer");
        let mut space = Space { deadline_ms, ..Space::default() };
        let mut missing = Vec::new();
        for (path, how) in paths {
            let answer = of.remove(&path);
            if how == How::Health {
                let answer = answer.unwrap_or_else(|| Answer {
                    error: Some(format!("not asked: {why}")),
                    ..Answer::default()
                });
                space.disks.insert(path.trim_start_matches(DEV).to_owned(), answer);
            } else if let Some(answer) = answer {
                space.of.insert(path, answer);
            } else {
                missing.push(path);
            }
        }
        let mut blind = Vec::new();
        if !missing.is_empty() {
            blind.push(format!("{} not asked: {why}", missing.join(", ")));
        }
        Sheet { said: Some(space), blind, cost_us: 0 }
    }
}

impl Asking<'_> {
    /// What the child wrote, and why it wrote no more.
    fn said(&self, child: Started<'_>, held: &[Held]) -> (Vec<u8>, Option<String>) {
        match child() {
            Ok(finished) if finished.status == ExitStatus::Exit(0) => (finished.stdout, None),
            Ok(finished) => {
                let words = String::from_utf8_lossy(&finished.stderr);
                let words: String = words.lines().next().unwrap_or_default().chars().take(200).collect();
                (finished.stdout, Some(format!("the child ended with {} {words}", finished.status)))
            }
            // It told what hangs, and could not end over it.
            Err(RunError::Deadline { stdout, stuck, .. }) => {
                if stuck.left_behind {
                    self.note(stuck.pid, &stdout, held);
                }
                (stdout, Some("the child did not end".to_owned()))
            }
            Err(error) => (Vec::new(), Some(error.to_string())),
        }
    }

    /// Children that were left behind and are still there.
    fn held(&self) -> Vec<Held> {
        let Ok(text) = fs::read_to_string(&self.notes) else { return Vec::new() };
        let held: Vec<Held> = text.lines().take(MAX_PATHS + MAX_DISKS).filter_map(Held::parse).collect();
        let still = |held: &Held| {
            self.root
                .process(held.pid)
                .is_some_and(|stat| stat.start_ticks == held.start && !stat.has_ended())
        };
        let (still, gone): (Vec<Held>, Vec<Held>) = held.into_iter().partition(still);
        if !gone.is_empty() {
            write_notes(&self.notes, &still);
        }
        still
    }

    /// Remembers what holds a child that could not be killed.
    fn note(&self, pid: u32, said: &[u8], held: &[Held]) {
        let Some(stat) = self.root.process(pid) else { return };
        let hung = parse(said).filter(|line| line.answer.hung);
        let new = hung.map(|line| Held { pid, start: stat.start_ticks, path: line.path });
        let all: Vec<Held> = held.iter().cloned().chain(new).collect();
        write_notes(&self.notes, &all);
    }
}

/// Of a child's answer only what it was asked for counts.
fn lines<'a>(said: &'a [u8], paths: &'a [(String, How)]) -> impl Iterator<Item = (String, Answer)> + 'a {
    parse(said)
        .filter(|line| paths.iter().any(|(path, _)| *path == line.path))
        .map(|line| (line.path, line.answer))
}

fn parse(said: &[u8]) -> impl Iterator<Item = Line> + '_ {
    said.split(|b| *b == b'\n').filter_map(|line| triage_core::json::from_bytes(line).ok())
}

/// A child that hangs over a filesystem or a disk: `pid start path` in the notes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    pid: u32,
    start: u64,
    path: String,
}

impl Held {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let (pid, start, path) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
        Some(Self { pid, start, path: path.to_owned() })
    }
}

/// Notes that cannot be written cost another child next time, and nothing else.
fn write_notes(path: &Path, held: &[Held]) {
    if held.is_empty() {
        let _ = fs::remove_file(path);
        return;
    }
    let text: String = held.iter().map(|h| format!("{} {} {}\n", h.pid, h.start, h.path)).collect();
    let new = path.with_extension("new");
    let _ = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
}

#[cfg(test)]
mod tests;
