//! Who is who: from a rank, a task, a host, an address or a process to the node, and to the GPU on it.
use std::collections::{BTreeSet, HashMap};

use super::{JobEvidence, OutputEvent};
use crate::{PciAddress, Resource, TaskWhat};

/// The job's nodes by every name they go by. A node is its place in the job's list.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_name: HashMap<String, usize>,
    by_task: HashMap<u32, usize>,
    by_pid: HashMap<(usize, u32), u32>,
    nodes: usize,
    /// Ranks on each node when tasks are launchers, else `None`.
    per_launcher: Option<u32>,
    /// Ranks on each node when they are dealt out in blocks, as far as records tell.
    per_node: Option<u32>,
    /// Nodes whose tasks are on record.
    recorded: BTreeSet<usize>,
}

impl Places {
    pub(super) fn new(evidence: &JobEvidence) -> Self {
        let mut places = Self { nodes: evidence.nodes.len(), ..Self::default() };
        for (index, node) in evidence.nodes.iter().enumerate() {
            places.name(node.node.as_str(), index);
            for address in &node.addresses {
                places.name(address, index);
            }
            for (_, edge) in node.tasks.iter().filter(|(_, edge)| edge.step.parse::<u32>().is_ok()) {
                places.by_task.insert(edge.rank, index);
                if edge.what == TaskWhat::Start || edge.pid != 0 {
                    places.by_pid.insert((index, edge.pid), edge.rank);
                }
            }
        }
        let tasks = places.by_task.len();
        places.per_launcher =
            evidence.run.ranks_per_node.filter(|per| *per > 1 && tasks > 0 && tasks <= places.nodes);
        places.recorded = places.by_task.values().copied().collect();
        let in_blocks = |per: u32| {
            places.by_task.iter().all(|(task, node)| usize::try_from(task / per).ok() == Some(*node))
        };
        places.per_node = evidence
            .run
            .ranks_per_node
            .filter(|per| *per > 0 && !places.by_task.is_empty() && in_blocks(*per));
        places.learn(&evidence.output);
        places
    }

    fn name(&mut self, name: &str, node: usize) {
        let name = name.to_ascii_lowercase();
        if let Some((short, _)) = name.split_once('.')
            && short.parse::<u8>().is_err()
        {
            self.by_name.entry(short.to_owned()).or_insert(node);
        }
        self.by_name.entry(name).or_insert(node);
    }

    /// NCCL says at start-up which address a host goes by. A job can only mislead itself with that.
    fn learn(&mut self, output: &[OutputEvent]) {
        for seen in output.iter().filter(|seen| seen.code() == "nccl.address") {
            if let (Some(host), Some(address)) = (&seen.host, seen.field("address"))
                && let Some(node) = self.host(host)
            {
                self.name(address, node);
            }
        }
    }

    /// The node that goes by this name or address.
    pub(super) fn host(&self, name: &str) -> Option<usize> {
        let name = name.trim().trim_start_matches("::ffff:").to_ascii_lowercase();
        if let Some(node) = self.by_name.get(&name) {
            return Some(*node);
        }
        let (short, _) = name.split_once('.')?;
        self.by_name.get(short).copied()
    }

    /// The node a training rank lives on.
    pub(super) fn node_of_rank(&self, rank: u32) -> Option<usize> {
        match self.per_launcher {
            Some(per) => {
                let launcher = rank / per;
                let in_order = || usize::try_from(launcher).ok().filter(|node| *node < self.nodes);
                self.by_task.get(&launcher).copied().or_else(in_order)
            }
            None => self.by_task.get(&rank).copied().or_else(|| self.in_blocks(rank)),
        }
    }

    /// Where a rank is whose node left no records: ranks are dealt out in blocks, node by node, unless a record says
    /// otherwise.
    fn in_blocks(&self, rank: u32) -> Option<usize> {
        let node = usize::try_from(rank.checked_div(self.per_node?)?).ok()?;
        (node < self.nodes && !self.recorded.contains(&node)).then_some(node)
    }

    /// The task whose process this is.
    pub(super) fn task_of_pid(&self, node: usize, pid: u32) -> Option<u32> {
        self.by_pid.get(&(node, pid)).copied()
    }

    /// Where a line of the job's output comes from.
    pub(super) fn origin(&self, seen: &OutputEvent) -> Option<usize> {
        if self.nodes == 1 {
            return Some(0);
        }
        let by_host = seen.host.as_deref().and_then(|host| self.host(host));
        by_host.or_else(|| self.node_of_rank(seen.rank?)).or_else(|| self.by_task.get(&seen.task?).copied())
    }

    /// The rank a line speaks for: its own word, else the task's number where tasks are ranks.
    pub(super) fn rank(&self, seen: &OutputEvent) -> Option<u32> {
        let by_pid = || self.task_of_pid(self.host(seen.host.as_deref()?)?, seen.pid?);
        match self.per_launcher {
            Some(per) => seen.rank.or_else(|| {
                let node = u32::try_from(self.origin(seen)?).ok()?;
                node.checked_mul(per)?.checked_add(seen.gpu.filter(|gpu| *gpu < per)?)
            }),
            None => seen.rank.or(seen.task).or_else(by_pid),
        }
    }

    /// Whether the job's tasks are launchers of several ranks each.
    pub(super) const fn are_launchers(&self) -> bool {
        self.per_launcher.is_some()
    }

    /// Whether the job has this GPU; `None` when neither Slurm nor a task says which it has.
    pub(super) fn uses_gpu(&self, evidence: &JobEvidence, node: usize, resource: &Resource) -> Option<bool> {
        if evidence.nodes.get(node)?.beside.contains(resource) {
            return Some(false);
        }
        let Resource::Gpu(wanted) = resource else { return None };
        let tasks = &evidence.nodes.get(node)?.tasks;
        let named: Vec<PciAddress> =
            tasks.iter().flat_map(|(_, edge)| &edge.gpus).filter_map(|gpu| gpu.parse().ok()).collect();
        (!named.is_empty()).then(|| named.contains(wanted))
    }
}
