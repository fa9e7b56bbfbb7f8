//! The evidence, put in order: one clock, every line at its node, who ended first.
use crate::arrange::Arrange as _;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use super::ending::{self, Death, Ending};
use super::place::Places;
use super::{Evidence, JobEvidence, OutputEvent, clock};
use crate::{CauseClass, Event, NodeName, Provenance, Resource, Role, Stamp, TaskWhat};

/// Events this close belong together, microseconds. Logs of some formats keep whole seconds only, and clocks that
/// are kept by NTP still differ by fractions of one.
pub(super) const TOGETHER: i64 = 3_000_000;

/// The evidence in order.
pub(super) struct Scene<'a> {
    pub(super) evidence: &'a JobEvidence,
    pub(super) places: Places,
    /// Microseconds each node's clock is ahead.
    pub(super) offsets: Vec<i64>,
    /// Microseconds the stamps in the job's output are ahead: a local time zone.
    pub(super) zone: i64,
    pub(super) ending: Ending,
    pub(super) deaths: Vec<Death>,
    /// Who failed first by torchrun's word, where the task records do not tell: a task is a launcher of many ranks there.
    pub(super) said_first: Option<Death>,
    /// When an ending from outside began.
    pub(super) taken_down: Option<Stamp>,
    /// What rules ask for over and over, once it was asked for.
    asked: Asked,
}

#[derive(Default)]
struct Asked {
    first_sign: OnceCell<Option<Stamp>>,
    first_to_end_said_why: OnceCell<bool>,
    first_death: OnceCell<Option<Death>>,
    ended: OnceCell<HashMap<u32, Stamp>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(evidence: &'a JobEvidence) -> Self {
        let offsets = clock::offsets(evidence);
        let places = Places::new(evidence);
        let mut deaths = ending::deaths(evidence, &offsets);
        if deaths.is_empty() {
            deaths = ending::deaths_by_srun(evidence, &places);
        }
        let zone = zone(evidence);
        let undecided = deaths.is_empty() || places.are_launchers();
        let said_first =
            undecided.then(|| ending::first_by_torchrun(evidence, &places, zone, &offsets)).flatten();
        let ending = Ending::of(evidence);
        let taken_down =
            matches!(ending, Ending::Outside(_)).then(|| ending::taken_down_at(evidence, &deaths)).flatten();
        let asked = Asked::default();
        Self { evidence, places, zone, offsets, ending, deaths, said_first, taken_down, asked }
    }

    /// A node's name.
    pub(super) fn name(&self, node: usize) -> Option<&'a NodeName> {
        self.evidence.nodes.get(node).map(|node| &node.node)
    }

    /// A node's moment on the reference clock.
    pub(super) fn moment(&self, node: usize, at: Stamp) -> Stamp {
        at.minus_micros(self.offsets.get(node).copied().unwrap_or_default())
    }

    /// The run's end, or the last thing known of it.
    pub(super) fn end(&self) -> Stamp {
        let last_word = || {
            let nodes = self.evidence.nodes.iter().enumerate();
            nodes.filter_map(|(node, what)| Some(self.moment(node, what.events.last()?.at))).max()
        };
        let last_death = || self.deaths.last().map(|death| death.at);
        let start = self.evidence.run.start;
        self.evidence.run.end.unwrap_or_else(|| last_death().max(last_word()).unwrap_or(start).max(start))
    }

    /// Trusted events of a node with their moment on the reference clock.
    pub(super) fn events(&self, node: usize) -> impl Iterator<Item = (Stamp, &'a Event)> + '_ {
        let events = self.evidence.nodes.get(node).map(|node| node.events.as_slice()).unwrap_or_default();
        events
            .iter()
            .filter(|event| event.provenance == Provenance::Trusted)
            .map(move |event| (self.moment(node, event.at), event))
    }

    /// Trusted events of all nodes within the run and its aftermath, in order of time.
    pub(super) fn all_events(&self) -> Vec<(Stamp, usize, &'a Event)> {
        let mut all: Vec<(Stamp, usize, &Event)> = (0..self.evidence.nodes.len())
            .flat_map(|node| self.events(node).map(move |(at, event)| (at, node, event)))
            .filter(|(at, node, event)| self.is_within_run(*at) && self.is_of_this_boot(*node, event))
            .collect();
        all.arrange_by_key(|(at, node, event)| (*at, *node, event.cursor));
        all
    }

    /// Whether a moment falls into the run. What a node logs within seconds of the start may be of the prolog, and
    /// what it logs after the end may be late news.
    pub(super) fn is_within_run(&self, at: Stamp) -> bool {
        const LATE_NEWS_S: i64 = 120;
        at >= self.evidence.run.start.plus_micros(-TOGETHER) && at <= self.end().plus_secs(LATE_NEWS_S)
    }

    /// Whether a moment lies after the run's end, so that nothing of it can have ended the run. Where nothing tells how far
    /// the node's clock is off, a word that is a little late may only seem so.
    pub(super) fn came_after(&self, node: usize, at: Stamp) -> bool {
        const UNKNOWN_CLOCK: i64 = 180_000_000;
        let known = self.evidence.nodes.get(node).is_some_and(|what| {
            !what.tasks.is_empty() || self.evidence.history_of.as_ref() == Some(&what.node)
        });
        let slack = if known { TOGETHER } else { UNKNOWN_CLOCK };
        self.evidence.run.end.is_some_and(|end| at.micros_since(end) > slack)
    }

    /// Whether an event is of the boot the node was in when the run ended.
    pub(super) fn is_of_this_boot(&self, node: usize, event: &Event) -> bool {
        let boot = self.evidence.nodes.get(node).and_then(|node| node.boot);
        // Times since boot are kept by another clock than the boot time: a second of slack.
        let of_it = |boot: Stamp| event.at >= boot.plus_secs(-1);
        // A boot after the run is not the one it was in; what was said within the run is of the right one.
        let after_run = |boot: Stamp| {
            self.moment(node, boot) > self.end() && self.is_within_run(self.moment(node, event.at))
        };
        boot.is_none_or(|boot| of_it(boot) || after_run(boot))
    }

    /// Whether the node was booted while the run was on it.
    pub(super) fn booted_within_run(&self, node: usize) -> Option<Stamp> {
        let what = self.evidence.nodes.get(node)?;
        let boot = self.moment(node, what.boot?);
        // Tasks that were seen to end before the boot had ended by then: the node was booted after them.
        let let_go = what.tasks.iter().any(|(_, edge)| matches!(edge.what, TaskWhat::End(_)))
            && what.tasks.iter().all(|(at, _)| self.moment(node, *at) <= boot);
        // Of a boot after the end Slurm must say that it lost a node.
        let latest = if self.ending == Ending::NodeFail { self.end().plus_secs(3600) } else { self.end() };
        let within = boot > self.evidence.run.start.plus_micros(TOGETHER) && boot <= latest;
        (within && !let_go).then_some(boot)
    }

    /// What the job printed and did not survive, in order of file and place.
    pub(super) fn output(&self) -> impl Iterator<Item = &'a OutputEvent> {
        self.evidence.output.iter().filter(|seen| !seen.survived)
    }

    /// When a line was written: its own stamp, else that of its neighbours, else the end of the rank that wrote it. Where
    /// nothing places it, it came when the first task ended, unless a stamp before or behind it says otherwise.
    pub(super) fn written(&self, seen: &OutputEvent) -> Option<Stamp> {
        let sane = |at: Stamp| {
            let at = at.minus_micros(self.zone);
            self.is_within_run(at).then_some(at)
        };
        // The line's own stamp is by the clock of its node; whose clock its neighbours' are by is not known.
        let ahead =
            self.places.origin(seen).and_then(|node| self.offsets.get(node)).copied().unwrap_or_default();
        let (after, before) = (seen.time.after.and_then(sane), seen.time.before.and_then(sane));
        let between = match (after, before) {
            (Some(after), Some(before)) if before.micros_since(after) <= 10 * TOGETHER => Some(after),
            _ => None,
        };
        let by_death = || {
            let rank = self.places.rank(seen)?;
            if self.failed_first(rank) {
                return self.first_failure().map(|death| death.at);
            }
            if self.places.are_launchers() {
                return None;
            }
            self.ended(rank)
        };
        let by_first_death = || {
            let first = self.first_failure()?.at;
            Some(after.map_or(first, |after| after.max(first))).filter(|at| before.is_none_or(|b| *at <= b))
        };
        let own = seen.time.own.map(|at| at.minus_micros(ahead)).and_then(sane);
        own.or(between).or_else(by_death).or_else(by_first_death).or(before).or(after)
    }

    /// When what a line reports began: a time-out began when the operation did.
    pub(super) fn began(&self, seen: &OutputEvent) -> Option<Stamp> {
        let written = self.written(seen)?;
        let ran = seen.number::<i64>("ran_ms").or_else(|| seen.number("timeout_ms"))?;
        let began = written.minus_micros(ran.saturating_mul(1000));
        (began >= self.evidence.run.start.plus_micros(-TOGETHER)).then_some(began)
    }

    /// The first death that was not part of taking the run down from outside.
    pub(super) fn first_death(&self) -> Option<Death> {
        let outside = matches!(self.ending, Ending::Outside(_));
        let find = || self.deaths.iter().find(|death| !(outside && death.is_by_kill())).copied();
        *self.asked.first_death.get_or_init(find)
    }

    /// When a task first ended badly. Every line without a time is placed by it, and a job can name many tasks.
    fn ended(&self, task: u32) -> Option<Stamp> {
        let ended = self.asked.ended.get_or_init(|| {
            let mut ended = HashMap::new();
            for death in &self.deaths {
                ended.entry(death.task).or_insert(death.at);
            }
            ended
        });
        ended.get(&task).copied()
    }

    /// The rank that failed first: by the task records, else by torchrun's word. The latter explains what the job printed;
    /// what is held against a node never rests on it.
    pub(super) fn first_failure(&self) -> Option<Death> {
        match (self.said_first, self.first_death()) {
            (Some(said), Some(death)) if said.at > death.at.plus_micros(TOGETHER) => Some(death),
            (said, death) => said.or(death),
        }
    }

    /// Whether the rank is the one that failed first. The number of a launcher is no rank.
    pub(super) fn failed_first(&self, rank: u32) -> bool {
        let known =
            |death: &Death| death.said && self.said_first == Some(*death) || !self.places.are_launchers();
        self.first_failure().filter(known).is_some_and(|death| death.task == rank)
    }

    /// Whether nothing was heard of trouble until the run was ended from outside: no death, no time-out.
    pub(super) fn is_silent_until_taken_down(&self) -> bool {
        self.taken_down.is_some()
            && self.first_death().is_none()
            && !self.output().any(|seen| is_timeout(seen.code()))
    }

    /// Whether the task that ended first said itself what its program did wrong, right before it ended.
    pub(super) fn first_to_end_said_why(&self) -> bool {
        *self.asked.first_to_end_said_why.get_or_init(|| self.find_first_word())
    }

    fn find_first_word(&self) -> bool {
        const RIGHT_BEFORE: i64 = 120_000_000;
        let Some(death) = self.first_failure() else { return false };
        let ranks_tell = !self.places.are_launchers() || self.said_first == Some(death);
        let its_own = |seen: &OutputEvent| match self.places.rank(seen).filter(|_| ranks_tell) {
            Some(rank) => rank == death.task,
            None => self.places.origin(seen).is_none_or(|node| node == death.node),
        };
        // A program that asks for a GPU which its node lost did nothing wrong.
        let asked_in_vain = |seen: &OutputEvent| {
            seen.code() == "cuda.invalid_device" && super::states::lacks_a_gpu(self, death.node)
        };
        self.output().any(|seen| {
            seen.event.class == CauseClass::Application
                && may_be_blamed(&seen.event)
                && its_own(seen)
                && !asked_in_vain(seen)
                && self.written(seen).is_some_and(|at| {
                    let before = death.at.micros_since(at);
                    (-2 * TOGETHER..=RIGHT_BEFORE).contains(&before)
                })
        })
    }

    /// The first sign that something was wrong: a death, or the start of an operation that then timed out.
    pub(super) fn first_sign(&self) -> Option<Stamp> {
        *self.asked.first_sign.get_or_init(|| self.find_first_sign())
    }

    fn find_first_sign(&self) -> Option<Stamp> {
        let stalls = self.output().filter(|seen| is_timeout(seen.code())).filter_map(|seen| self.began(seen));
        // One rank whose clock or text is off must not move the sign: the earliest quarter of the stalls is skipped.
        let mut stalls: Vec<Stamp> = stalls.collect();
        stalls.arrange();
        let stall = stalls.get(stalls.len() / 4).copied();
        let death = self.first_death().map(|death| death.at);
        let sign = [stall, death].into_iter().flatten().min();
        sign.or(self.taken_down).or(self.evidence.run.end)
    }

    /// A trusted event as evidence.
    pub(super) fn cite(&self, at: Stamp, event: &Event) -> Evidence {
        Evidence {
            time: Some(at),
            node: Some(event.node.clone()),
            code: event.code.clone(),
            text: event.text.clone(),
            provenance: event.provenance,
            event: Some(event.id.clone()),
        }
    }

    /// A line of the job's output as evidence.
    pub(super) fn quote(&self, seen: &OutputEvent) -> Evidence {
        Evidence {
            time: self.began(seen).filter(|_| is_timeout(seen.code())).or_else(|| self.written(seen)),
            node: self.places.origin(seen).and_then(|node| self.name(node)).cloned(),
            code: seen.event.code.clone(),
            text: seen.event.text.clone(),
            provenance: Provenance::User,
            event: Some(seen.event.id.clone()),
        }
    }

    /// A death as evidence.
    pub(super) fn obituary(&self, death: &Death) -> Evidence {
        Evidence {
            time: Some(death.at),
            node: self.name(death.node).cloned(),
            code: "task.exit".into(),
            text: if self.said_first == Some(*death) {
                format!("rank {} failed first, with {}, by torchrun's word", death.task, death.status)
            } else {
                format!("task {} ended with {}", death.task, death.status)
            },
            provenance: if death.said { Provenance::User } else { Provenance::Trusted },
            event: None,
        }
    }
}

/// Whether a code of the job's output reports an operation that ran for a stated time before it was given up.
pub(super) fn is_timeout(code: &str) -> bool {
    matches!(code, "nccl.watchdog_timeout" | "nccl.watchdog_timeout_abort")
}

/// Whether a line says of itself that something is wrong with its cause.
pub(super) fn may_be_blamed(event: &Event) -> bool {
    matches!(event.role, Role::Root | Role::Either) && event.class != CauseClass::None
}

/// The GPU a trusted event is about.
pub(super) const fn is_gpu(resource: &Resource) -> bool {
    matches!(resource, Resource::Gpu(_) | Resource::GpuIndex(_))
}

/// Programs stamp their lines in local time. Stamps that lie outside the run are off by whole quarters of an hour, and
/// by how many the run's end tells.
fn zone(evidence: &JobEvidence) -> i64 {
    const QUARTER: i64 = 900_000_000;
    const SLACK: i64 = 180_000_000;
    const WIDEST: i64 = 14 * 4 * QUARTER;
    let stamps = || evidence.output.iter().flat_map(|seen| [seen.time.own, seen.time.after]).flatten();
    let (Some(first), Some(last), Some(end)) = (stamps().min(), stamps().max(), evidence.run.end) else {
        return 0;
    };
    let outside = last > end.plus_micros(SLACK) || first < evidence.run.start.plus_micros(-SLACK);
    let ahead = last.micros_since(end);
    let quarters = ahead.saturating_add(ahead.signum() * QUARTER / 2) / QUARTER;
    let rest = (ahead - quarters * QUARTER).saturating_abs();
    if !outside || rest > SLACK || ahead.saturating_abs() > WIDEST { 0 } else { quarters * QUARTER }
}

/// Counts by key, for "how many of them say the same".
pub(super) fn tally<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}
