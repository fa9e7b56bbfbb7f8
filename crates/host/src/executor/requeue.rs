//! Putting a job back to work elsewhere: requeue, then keep it off the bad node.
use triage_core::{JobRecord, NodeName, Outcome, RunId, Stamp};

use super::Executor;
use crate::slurm::hostlist::fold;
use crate::slurm::{Refusal, ScontrolError};

/// How far a job's start, by the controller's clock, may lie behind its prolog's, by the node's. Munge refuses
/// messages between clocks that differ by more than 5 minutes.
const CLOCKS_APART_S: i64 = 300;

impl Executor<'_> {
    /// `note`: how far the run got, for the job's comment.
    pub(super) fn requeue(&self, run: &RunId, (exclude, note): (&[NodeName], &str), hold: bool) -> Outcome {
        let exclude = (exclude, note);
        let job = match self.scontrol.job_of(run) {
            Ok(job) => job,
            Err(error) => return self.failed_but_harmless_to_repeat(&error),
        };
        let name = named(run, &job).scontrol_name();
        if job.restarts > run.restart {
            return self.keep_off(run, &job, exclude, "requeued already");
        }
        if let Some(why) = another_run(run, &job).or_else(|| forbidden(&job)) {
            return self.left_alone(why);
        }
        match self.scontrol.requeue(&name, hold) {
            Ok(()) => self.keep_off(run, &job, exclude, if hold { "requeued and held" } else { "requeued" }),
            Err(ScontrolError::Refused { refusal: Refusal::AlreadyPending, .. }) => {
                self.keep_off(run, &job, exclude, "waits already")
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Adds the bad nodes to the ones the job must not run on. That this fails does not undo the requeue: the node is
    /// drained as well. Each component of a het job has a list of its own, and any of them may be sent to the bad node.
    fn keep_off(&self, run: &RunId, job: &JobRecord, exclude: (&[NodeName], &str), what: &str) -> Outcome {
        let run = named(run, job);
        let name = run.scontrol_name();
        let kept = match run.het {
            None => self.keep_one_off(&name, &name, job, exclude),
            Some(leader) => match self.scontrol.components(leader) {
                Ok(components) => components.iter().try_fold(String::new(), |_, (offset, component)| {
                    self.keep_one_off(&format!("{leader}+{offset}"), &name, component, exclude)
                }),
                Err(error) => {
                    Err(format!("could not be kept off {}: its components: {error}", list(exclude.0)))
                }
            },
        };
        self.done(format!("{what} as {name}; {}", kept.unwrap_or_else(|why| why)))
    }

    /// Slurm replaces the list, so it is read and written whole. `name` means the job or one component of it, `whole` all
    /// of it.
    fn keep_one_off(
        &self,
        name: &str,
        whole: &str,
        job: &JobRecord,
        (exclude, note): (&[NodeName], &str),
    ) -> Result<String, String> {
        let could_not =
            |why: &dyn std::fmt::Display| Err(format!("could not be kept off {}: {why}", list(exclude)));
        let shown = job.fields.get("ExcNodeList").map_or("", String::as_str);
        if job.excluded.is_empty() && !matches!(shown, "" | "(null)") {
            // Writing without them would let the job onto nodes its owner keeps it off.
            return could_not(&format!("the nodes it excludes already cannot be read: \"{shown}\""));
        }
        let mut nodes = job.excluded.clone();
        nodes.extend(exclude.iter().filter(|node| !job.excluded.contains(node)).cloned());
        if nodes.len() == job.excluded.len() {
            return Ok(format!("kept off {} already", list(&nodes)));
        }
        let said =
            format!("requeued, kept off {} after its fault{note}; slurm-triage why {whole}", list(exclude));
        let both = super::explain::comment(job, &said)
            .map_or(Err(()), |said| self.scontrol.exclude_and_say(name, &nodes, &said).map_err(drop));
        // Where the word cannot be said, or together they are refused, the list alone is what counts.
        match both.or_else(|()| self.scontrol.exclude(name, &nodes)) {
            Ok(()) => Ok(format!("kept off {}", list(&nodes))),
            Err(error) => could_not(&error),
        }
    }
}

/// The run with the array and het ids that Slurm has for the job: the spool may not have told them.
pub(super) fn named(run: &RunId, job: &JobRecord) -> RunId {
    RunId { array: job.array.or(run.array), het: job.het.or(run.het), ..run.clone() }
}

/// Slurm gives job ids again, after a loss of its state or a wrap. A run that began clearly later than ours is not it, and
/// neither is a job that has not been restarted since and was submitted after ours had begun.
pub(super) fn another_run(run: &RunId, job: &JobRecord) -> Option<String> {
    // Of a job that waits the start is when it may begin; a requeue sets the time of the submission anew (both on 22.05).
    let (field, did) = match job.state.as_str() {
        "PENDING" if job.restarts > run.restart => return None,
        "PENDING" => ("SubmitTime", "submitted"),
        _ => ("StartTime", "begun"),
    };
    let at = Stamp::from_secs(job.fields.get(field)?.parse().ok()?);
    let other = at > run.start.plus_secs(CLOCKS_APART_S);
    other.then(|| format!("job {} is another one now, {did} at {at}, left alone", run.job))
}

/// What was decided without the job's record is checked here; what was decided with it, again.
pub(super) fn forbidden(job: &JobRecord) -> Option<String> {
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
    if nodes.is_empty() { "no node".to_owned() } else { fold(nodes) }
}
