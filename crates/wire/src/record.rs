//! What a record says.

/// Longest line, bytes, its line feed included: one page. A local filesystem appends what one `write` gives it in one
/// piece, so that lines of several slurmstepd do not mix.
pub const MAX_LINE: usize = 4096;

/// A task of a job started or ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskRecord {
    /// When: microseconds since the Unix epoch, UTC.
    pub at_us: i64,
    /// Start, or end and how.
    pub what: What,
    /// `ClusterName`; empty: not known. The plugin leaves it empty: all it could ask is the step's environment, and
    /// that is the user's.
    pub cluster: String,
    /// The node, as slurmd named it to slurmstepd; empty: not known.
    pub node: String,
    /// Job id; 0: not known (bundles may leave it out).
    pub job: u32,
    /// Array job id and task id, where it is an array task.
    pub array: Option<(u32, u32)>,
    /// How often the job was requeued before this run; 0 may also mean that nobody said. The slurmstepd of Slurm 22.05
    /// tells a plugin 0 in every run, so runs of a job are told apart by time as well.
    pub restart: u32,
    /// The step.
    pub step: Step,
    /// Global rank within the step.
    pub rank: u32,
    /// Rank on the node.
    pub local: u32,
    /// Process id of the task; 0: not known.
    pub pid: u32,
    /// The job's owner, user id.
    pub uid: Option<u32>,
    /// What the job asked of us: `off`, `monitor`, `act`; empty: nothing.
    pub triage: String,
    /// GPUs as the step's environment names them. A hint: the user can change it.
    pub gpus: Vec<String>,
}

/// What happened to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum What {
    /// It was started.
    #[default]
    Start,
    /// It ended so.
    End(End),
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It returned this code.
    Exit(i32),
    /// This signal ended it, and whether it dumped core.
    Signal(i32, bool),
}

impl End {
    /// From the raw status of `wait(2)` of a process that has ended.
    pub const fn from_wait(raw: i32) -> Self {
        match raw & 0x7f {
            0 => Self::Exit((raw >> 8) & 0xff),
            signal => Self::Signal(signal, raw & 0x80 != 0),
        }
    }
}

/// A step of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An srun.
    Number(u32),
    /// The batch script.
    Batch,
    /// The step that holds the job's cgroup.
    Extern,
    /// The shell of salloc.
    Interactive,
}

impl Default for Step {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Step {
    /// From Slurm's number. Source: `slurm.h`, `SLURM_BATCH_SCRIPT` and its neighbours, the same in all releases.
    pub const fn from_slurm(id: u32) -> Self {
        match id {
            0xffff_fffb => Self::Batch,
            0xffff_fffc => Self::Extern,
            0xffff_fffa => Self::Interactive,
            number => Self::Number(number),
        }
    }

    /// The word for a step without a number.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Number(_) => None,
            Self::Batch => Some("batch"),
            Self::Extern => Some("extern"),
            Self::Interactive => Some("interactive"),
        }
    }
}

/// The name of the spool file of a run: one file a job and restart count, so that an epilog reads no other job's lines.
/// Where nobody tells the restart count, all runs of a job on a node share the file of 0.
pub fn spool_file_name(job: u32, restart: u32) -> String {
    format!("{job}.{restart}.jsonl")
}
