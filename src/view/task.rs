//! Which tasks of a run started here, and how they ended.
use serde::Serialize;
use triage_core::arrange::Arrange as _;
use triage_core::{ExitStatus, Stamp, TaskEdge, TaskWhat};

/// Most failed tasks told of one run. The first one matters; what follows is mostly Slurm ending the rest.
const TOLD: usize = 16;

/// Which tasks of a run started here, and how they ended.
#[derive(Debug, Serialize)]
pub(crate) struct TasksView {
    /// Tasks of numbered steps that started.
    pub(crate) started: usize,
    /// Of them, those that ended.
    pub(crate) ended: usize,
    /// Of them, those that ended with another code than 0 or by a signal.
    pub(crate) failed: usize,
    /// The first ones that failed, in the order of their end.
    pub(crate) first_failed: Vec<TaskView>,
    /// The batch script, where it ran here and has ended.
    pub(crate) batch: Option<TaskView>,
}

/// The end of one task.
#[derive(Debug, Serialize)]
pub(crate) struct TaskView {
    /// When it ended.
    pub(crate) at: Stamp,
    /// The step: a number, `batch`, `interactive`.
    pub(crate) step: String,
    /// Rank within the step.
    pub(crate) rank: u32,
    /// Rank on the node.
    pub(crate) local: u32,
    /// Process id.
    pub(crate) pid: u32,
    /// `{"exit": 1}` or `{"signal": 9}`.
    pub(crate) exit: ExitStatus,
    /// GPUs as the task's environment named them.
    pub(crate) gpus: Vec<String>,
}

impl TasksView {
    /// From the records of one run. The external step holds no task of the user's.
    pub(crate) fn new(edges: &[(Stamp, TaskEdge)]) -> Self {
        let of_steps = || edges.iter().filter(|(_, edge)| is_numbered(&edge.step));
        let ends: Vec<TaskView> = of_steps().filter_map(|(at, edge)| TaskView::of_end(*at, edge)).collect();
        let (started, ended) =
            (of_steps().filter(|(_, edge)| edge.what == TaskWhat::Start).count(), ends.len());
        let mut failed: Vec<TaskView> = ends.into_iter().filter(|task| !task.exit.is_success()).collect();
        failed.arrange_by_key(|task| (task.at, task.rank));
        let count = failed.len();
        failed.truncate(TOLD);
        let batch = edges.iter().rfind(|(_, edge)| edge.step == "batch" && edge.what != TaskWhat::Start);
        Self {
            started,
            ended,
            failed: count,
            first_failed: failed,
            batch: batch.and_then(|(at, edge)| TaskView::of_end(*at, edge)),
        }
    }

    /// Whether nothing was recorded.
    pub(crate) const fn is_empty(&self) -> bool {
        self.started == 0 && self.ended == 0 && self.batch.is_none()
    }
}

impl TaskView {
    fn of_end(at: Stamp, edge: &TaskEdge) -> Option<Self> {
        let TaskWhat::End(exit) = edge.what else { return None };
        let TaskEdge { step, rank, local, pid, gpus, .. } = edge.clone();
        Some(Self { at, step, rank, local, pid, exit, gpus })
    }
}

fn is_numbered(step: &str) -> bool {
    step.bytes().all(|b| b.is_ascii_digit())
}
