//! Putting a job back to work elsewhere: requeue, then keep it off the bad node.
use triage_core::{JobRecord, NodeName, Outcome, RunId};

use super::Executor;
use crate::slurm::{Refusal, ScontrolError};

impl Executor<'_> {
    pub(super) fn requeue(&self, run: &RunId, exclude: &[NodeName], hold: bool) -> Outcome {
        let job = match self.scontrol.job(run.job) {
            Ok(job) => job,
            Err(error) => return self.failed(&error),
        };
        let name = named(run, &job).scontrol_name();
        if job.restarts > run.restart {
            return self.keep_off(&name, &job, exclude, "requeued already");
        }
        if let Some(why) = forbidden(&job) {
            return self.left_alone(why);
        }
        match self.scontrol.requeue(&name, hold) {
            Ok(()) => self.keep_off(&name, &job, exclude, "requeued"),
            Err(ScontrolError::Refused { refusal: Refusal::AlreadyPending, .. }) => {
                self.keep_off(&name, &job, exclude, "waits already")
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Adds the bad nodes to the ones the job must not run on. Slurm replaces the list, so it is read and written
    /// whole. That this fails does not undo the requeue: the node is drained as well.
    fn keep_off(&self, name: &str, job: &JobRecord, exclude: &[NodeName], what: &str) -> Outcome {
        let mut nodes = job.excluded.clone();
        nodes.extend(exclude.iter().filter(|node| !job.excluded.contains(node)).cloned());
        if nodes.len() == job.excluded.len() {
            return self.done(format!("{what} as {name}; kept off {} already", list(&nodes)));
        }
        match self.scontrol.exclude(name, &nodes) {
            Ok(()) => self.done(format!("{what} as {name}; kept off {}", list(&nodes))),
            Err(error) => {
                self.done(format!("{what} as {name}; could not be kept off {}: {error}", list(exclude)))
            }
        }
    }
}

/// The run with the array and het ids that Slurm has for the job: the spool may not have told them.
pub(super) fn named(run: &RunId, job: &JobRecord) -> RunId {
    RunId { array: job.array.or(run.array), het: job.het.or(run.het), ..run.clone() }
}

/// What was decided without the job's record is checked here; what was decided with it, again.
fn forbidden(job: &JobRecord) -> Option<String> {
    if !job.batch {
        return Some("not a batch job, left alone".to_owned());
    }
    if !job.requeue {
        return Some("the job forbids it (Requeue=0), left alone".to_owned());
    }
    let ended_otherwise = matches!(
        job.state.as_str(),
        "CANCELLED" | "COMPLETED" | "TIMEOUT" | "DEADLINE" | "PREEMPTED" | "REVOKED" | "SPECIAL_EXIT"
    );
    ended_otherwise.then(|| format!("the job is {}, left alone", job.state))
}

fn list(nodes: &[NodeName]) -> String {
    if nodes.is_empty() { "no node".to_owned() } else { crate::slurm::hostlist::join(nodes) }
}
