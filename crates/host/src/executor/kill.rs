//! Ending the processes of a job at once that is about to be requeued while it runs. A requeue sends SIGTERM and waits
//! `KillWait` (30 s) for whoever ignores it; a rank that hangs on a lost GPU does.
use triage_core::{Outcome, RunId};

use super::Executor;
use super::requeue::{another_run, forbidden, named};

impl Executor<'_> {
    /// Step by step, then the batch script: SIGKILL to a job as such *cancels* it (tried on 22.05), and then a requeue
    /// waits all the same.
    pub(super) fn kill_steps(&self, run: &RunId) -> Outcome {
        let job = match self.scontrol.job_of(run) {
            Ok(job) => job,
            Err(error) => return self.failed(&error),
        };
        let run = named(run, &job);
        if job.restarts > run.restart || job.state != "RUNNING" || job.completing {
            return self.left_alone("the job does not run any more: there is nothing to kill");
        }
        if let Some(why) = another_run(&run, &job).or_else(|| forbidden(&job)) {
            return self.left_alone(why);
        }
        if run.het.is_some() {
            return self.left_alone("a het job: its steps are left to KillWait");
        }
        let name = run.scontrol_name();
        let steps = match self.scontrol.steps(&name) {
            Ok(steps) => steps,
            Err(error) => return self.failed(&error),
        };
        match self.scontrol.kill_steps(&steps).and_then(|()| self.scontrol.kill_batch(&name)) {
            Ok(()) => {
                let steps =
                    if steps.len() == 1 { "1 step".to_owned() } else { format!("{} steps", steps.len()) };
                self.done(format!("{steps} and the batch script of job {name} were killed"))
            }
            Err(error) => self.failed(&error),
        }
    }
}
