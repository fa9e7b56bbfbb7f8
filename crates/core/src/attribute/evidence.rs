//! What is known of one run. Gathered at the edge, bounded there, never changed here.
use serde::{Deserialize, Serialize};

use crate::reading::NvmlReading;
use crate::{Event, ExitStatus, NodeName, Resource, Stamp, TaskEdge};

/// Everything known of one run of one job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobEvidence {
    /// The run as Slurm tells it.
    pub run: RunFacts,
    /// What each node of the job says, in the job's order: the first one is the batch host.
    pub nodes: Vec<NodeEvidence>,
    /// What the job printed, already reduced: one entry a (code, rank, host) and place.
    pub output: Vec<OutputEvent>,
    /// What PyTorch's flight recorders tell, where dumps were found.
    pub flight: Option<crate::flight::Summary>,
    /// Earlier runs that the ledgers of these nodes remember.
    pub history: Vec<PastRun>,
    /// Whose ledger the history is from; `None`: those of all nodes, so that the nodes can be compared.
    pub history_of: Option<NodeName>,
    /// Sources of the job as a whole that could not be read, one sentence each.
    pub blind: Vec<String>,
}

/// The run as Slurm tells it: trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The job's name for people: `4711`, `4700_3`.
    pub job: String,
    /// The job's owner; may be empty.
    pub user: String,
    /// Slurm's word for how it ended (`FAILED`, `TIMEOUT`, `CANCELLED` ...); empty: not known.
    pub state: String,
    /// How the batch script ended.
    pub exit: Option<ExitStatus>,
    /// When the run began.
    pub start: Stamp,
    /// When it ended; `None` while it runs.
    pub end: Option<Stamp>,
    /// How often it was restarted before.
    pub restart: u32,
    /// Training ranks on each node, where known. Tasks may be fewer: a launcher such as torchrun is one task a node.
    pub ranks_per_node: Option<u32>,
}

/// What one node says: trusted, except for nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeEvidence {
    /// Its name.
    pub node: NodeName,
    /// When it was booted, by its own clock.
    pub boot: Option<Stamp>,
    /// Addresses by which peers name it.
    pub addresses: Vec<String>,
    /// Whether its kernel log could be read: only then is silence news.
    pub kernel_read: bool,
    /// What its kernel log and its services said, oldest first. Times are the node's own clock.
    pub events: Vec<Event>,
    /// Its task records. Times are the node's own clock.
    pub tasks: Vec<(Stamp, TaskEdge)>,
    /// The last NVML sweep, made at or after the end of the run.
    pub nvml: Option<NvmlReading>,
    /// The NICs as they were at the end of the run.
    pub nics: Vec<NicReading>,
    /// Processes that the kernel killed for want of memory.
    pub oom: Vec<OomKill>,
    /// GPUs of the node that the run is known not to have had.
    pub beside: Vec<Resource>,
    /// Only what the node told of itself is known, and nothing of its tasks: their silence is no news.
    pub told_only: bool,
    /// Sources of this node that could not be read, one sentence each.
    pub blind: Vec<String>,
}

/// One port of one NIC, as `/sys/class/infiniband` and `/sys/class/net` tell it. The field names are those of
/// `nics.json` in an incident bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicReading {
    /// Device name: `mlx5_0`, `eth0`.
    pub name: String,
    /// Port number, from 1.
    pub port: u32,
    /// `active`, `down`, `init`, `armed`; empty: not known.
    pub state: String,
    /// How often the link went down since the driver was loaded.
    pub link_downed: Option<u64>,
    /// Symbol errors since the driver was loaded.
    pub symbol_errors: Option<u64>,
    /// Link recoveries since the driver was loaded.
    pub link_recovery: Option<u64>,
}

impl NicReading {
    /// Whether the port is up. A state this version does not know counts as up: it accuses nobody.
    pub fn is_up(&self) -> bool {
        !matches!(self.state.to_ascii_lowercase().as_str(), "down" | "init" | "polling" | "disabled")
    }

    /// The port as a resource.
    pub fn resource(&self) -> Resource {
        Resource::Nic(self.name.clone())
    }
}

/// One process the kernel killed for want of memory, read from the report it prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OomKill {
    /// When.
    pub at: Stamp,
    /// The process killed.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub uid: Option<u32>,
    /// A memory cgroup's limit was met, not the machine's.
    pub cgroup: bool,
    /// The cgroup whose limit was met; empty for the machine's.
    pub memcg: String,
    /// The cgroup the process lived in.
    pub task_memcg: String,
    /// Resident pages by owner at that moment, most first; empty where the kernel printed no table.
    pub by_owner: Vec<(u32, u64)>,
    /// The line that says so.
    pub text: String,
}

/// When a line was written, as far as its file tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineTime {
    /// The line's own stamp.
    pub own: Option<Stamp>,
    /// The last stamp before it in the same file: it is not older.
    pub after: Option<Stamp>,
    /// The first stamp behind it in the same file.
    pub before: Option<Stamp>,
}

/// Lines of one meaning from one origin in the job's output: the first of them, and how many. Never trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputEvent {
    /// The first line, with its meaning.
    pub event: Event,
    /// When it was written.
    pub time: LineTime,
    /// The rank that wrote it, or that it says wrote it.
    pub rank: Option<u32>,
    /// The label srun put before the line (`--label`): the task's number.
    pub task: Option<u32>,
    /// The host that wrote it, as the line names it.
    pub host: Option<String>,
    /// The process that wrote it.
    pub pid: Option<u32>,
    /// The GPU's number on its host.
    pub gpu: Option<u32>,
    /// Which file, by number.
    pub file: u32,
    /// Byte offset of the line in its file.
    pub place: u64,
    /// How many lines of the same meaning and origin there were.
    pub count: u64,
    /// The job went on as if nothing had been: progress was reported again after the last of these lines.
    pub survived: bool,
}

impl OutputEvent {
    /// A named part of the line.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.event.fields.get(name).map(String::as_str)
    }

    /// A named part of the line that is a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.field(name)?.parse().ok()
    }

    /// The code.
    pub fn code(&self) -> &str {
        self.event.code.as_str()
    }
}

/// An earlier run of some job that touched one of these nodes. Field names as in `history.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PastRun {
    /// The job.
    pub job: String,
    /// Its owner.
    pub user: String,
    /// When it ended.
    pub at: Stamp,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// The class of its verdict.
    pub class: String,
    /// The code that led its verdict.
    pub signature: String,
    /// Whom its verdict named.
    pub culprits: Vec<PastCulprit>,
}

/// Whom an earlier verdict named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PastCulprit {
    /// The node.
    pub node: NodeName,
    /// The part of it.
    pub resource: Option<Resource>,
}
