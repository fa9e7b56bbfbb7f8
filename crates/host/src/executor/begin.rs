//! The last step of a requeue. Slurm gives a requeued job a begin time two minutes ahead once its last epilog has
//! ended, and overwrites one that was set earlier (tried on 22.05). So this waits for that moment, asking at growing
//! intervals.
//!
//! Slurm's two minutes have a reason: a node revokes the credentials of a job it was told to end, and refuses every new
//! one that was made in the same second or before. A job that comes back to such a node too soon is not started but
//! FAILED ("Job credential revoked", seen on 22.05). Both moments are the controller's clock, so waiting out two whole
//! seconds is enough, however the nodes' clocks differ.
use std::time::Duration;

use triage_core::{JobRecord, Outcome, RunId, Stamp};

use super::Executor;
use super::requeue::{another_run, named};
use crate::clock::Deadline;
use crate::slurm::{Refusal, ScontrolError};

/// First and longest pause between two looks. The first looks come quickly, since most epilogs end within a second.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);

/// From the first look at which every epilog has ended until the begin time is cleared. A credential's time is kept in
/// whole seconds, and the last node was told to end the job before that look: one second would do, one more is margin.
const CREDENTIALS: Duration = Duration::from_secs(2);

enum Step {
    /// Not yet: look again later.
    Wait,
    /// Clear it now.
    Clear,
    /// There is nothing to do any more.
    Over(String),
}

impl Executor<'_> {
    pub(super) fn clear_begin_time(
        &self,
        run: &RunId,
        not_before: Option<Stamp>,
        deadline: Deadline,
    ) -> Outcome {
        let mut pause = FIRST;
        let mut settled: Option<Deadline> = None;
        loop {
            match self.parts(run) {
                Ok((_, jobs)) if jobs.iter().any(|job| is_new(run, job)) => {
                    return self.left_alone("the job id belongs to another job now, left alone");
                }
                Ok((name, jobs)) => match all(run, &jobs) {
                    Step::Over(why) => return self.done(why),
                    Step::Clear if settled.is_none() => {
                        settled = Some(Deadline::after(self.clock, CREDENTIALS));
                        pause = CREDENTIALS;
                    }
                    Step::Clear if settled.is_some_and(|at| !at.has_passed(self.clock)) => {}
                    Step::Clear => match self.set_begin_time(&name, not_before) {
                        Ok(answer) => return self.done(answer),
                        Err(error) if !error.may_pass_later() => return self.failed(&error),
                        Err(_) => {}
                    },
                    Step::Wait => {}
                },
                Err(ScontrolError::Refused { refusal: Refusal::NoSuchJob, .. }) => {
                    return self.left_alone("slurmctld no longer knows the job");
                }
                Err(error) if !error.may_pass_later() => return self.failed(&error),
                Err(_) => {}
            }
            if deadline.left(self.clock) <= pause {
                return self.later("the job was not yet waiting for its begin time");
            }
            self.clock.sleep(pause);
            pause = (pause * 3 / 2).min(LONGEST);
        }
    }
}

impl Executor<'_> {
    /// The job's name and record; of a het job, that of all its components: the name means all of them.
    fn parts(&self, run: &RunId) -> Result<(String, Vec<JobRecord>), ScontrolError> {
        let job = self.scontrol.job_of(run)?;
        let run = named(run, &job);
        let jobs = match run.het {
            None => vec![job],
            Some(leader) => self.scontrol.components(leader)?.into_iter().map(|(_, job)| job).collect(),
        };
        Ok((run.scontrol_name(), jobs))
    }

    fn set_begin_time(&self, name: &str, not_before: Option<Stamp>) -> Result<String, ScontrolError> {
        let wait =
            not_before.map_or(0, |at| at.micros_since(self.clock.now()).max(0).unsigned_abs() / 1_000_000);
        self.scontrol.start_in(name, wait)?;
        Ok(match wait {
            0 => "begin time cleared".to_owned(),
            wait => format!("begins in {wait} s: it was requeued a short while ago"),
        })
    }
}

/// A job that was never restarted and is not the one we requeued.
pub(super) fn is_new(run: &RunId, job: &JobRecord) -> bool {
    job.restarts <= run.restart && another_run(run, job).is_some()
}

/// Each component of a het job gets a begin time of its own, once its own epilogs have ended: it is the last that counts.
fn all(run: &RunId, jobs: &[JobRecord]) -> Step {
    let mut steps: Vec<Step> = jobs.iter().map(|job| next(run, job)).collect();
    let at = steps.iter().position(|step| matches!(step, Step::Wait));
    let at = at.or_else(|| steps.iter().position(|step| matches!(step, Step::Clear)));
    if steps.is_empty() { Step::Wait } else { steps.swap_remove(at.unwrap_or(0)) }
}

fn next(run: &RunId, job: &JobRecord) -> Step {
    if job.restarts <= run.restart {
        // The requeue itself may still be on its way.
        return Step::Wait;
    }
    if job.completing {
        return Step::Wait;
    }
    match (job.state.as_str(), job.reason.as_str()) {
        ("PENDING", "BeginTime") => Step::Clear,
        // Slurm has not looked at it yet; a moment later it says why it waits.
        ("PENDING", reason) if is_of_the_last_run(reason) => Step::Wait,
        ("PENDING", reason) => Step::Over(format!("waits for another reason: {reason}")),
        (state, _) => Step::Over(format!("is {state} already")),
    }
}

/// Whether the reason tells how the job's last run ended, or nothing. A job that was requeued after its last epilog has it
/// until the scheduler comes by (seen on 22.05: NonZeroExitCode), and its begin time is still to be cleared then.
fn is_of_the_last_run(reason: &str) -> bool {
    let ends = [
        "None",
        "NonZeroExitCode",
        "NodeDown",
        "JobLaunchFailure",
        "SystemFailure",
        "OutOfMemory",
        "TimeLimit",
        "InactiveLimit",
    ];
    ends.contains(&reason) || reason.starts_with("RaisedSignal")
}
