//! A word for the owner and the operator on a job that Slurm holds. A job submitted with `--requeue=expedite` (25.11 and
//! later) that fails while no epilog does is put back *held*: nobody says why, and it waits for ever (tried on 26.05).
use std::time::Duration;

use triage_core::reason::PREFIX;
use triage_core::{JobRecord, Outcome, RunId};

use super::Executor;
use super::begin::is_new;
use super::requeue::named;
use crate::clock::Deadline;
use crate::slurm::{Refusal, ScontrolError};

/// First and longest pause between two looks: the last epilog of a job can be late.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(20);

/// Longest comment, bytes: Slurm keeps 1024.
const MAX_COMMENT: usize = 250;

impl Executor<'_> {
    pub(super) fn explain(&self, run: &RunId, text: &str, deadline: Deadline) -> Outcome {
        let mut pause = FIRST;
        loop {
            match self.scontrol.job_of(run) {
                Ok(job) if is_new(run, &job) => {
                    return self.left_alone("the job id belongs to another job now, left alone");
                }
                Ok(job) if is_held(run, &job) => {
                    let name = named(run, &job).scontrol_name();
                    let Some(comment) = comment(&job, text) else {
                        return self.left_alone("the job has an AdminComment of somebody else");
                    };
                    return match self.scontrol.admin_comment(&name, &comment) {
                        Ok(()) => self.done(format!("said on the held job: \"{comment}\"")),
                        Err(error) => self.failed(&error),
                    };
                }
                Ok(job) if job.restarts > run.restart && !job.completing => {
                    return self.done(format!("the job is {} and not held", job.state));
                }
                Ok(_) => {}
                Err(ScontrolError::Refused { refusal: Refusal::NoSuchJob, .. }) => {
                    return self.left_alone("slurmctld no longer knows the job");
                }
                Err(error) if !error.may_pass_later() => return self.failed(&error),
                Err(_) => {}
            }
            if deadline.left(self.clock) <= pause {
                return self.later("the job is not back yet");
            }
            self.clock.sleep(pause);
            pause = (pause * 3 / 2).min(LONGEST);
        }
    }
}

/// Held by the controller after a failure. A hold of the owner's or of an operator has other reasons.
fn is_held(run: &RunId, job: &JobRecord) -> bool {
    job.restarts > run.restart && !job.completing && job.reason == "job_requeued_in_held_state"
}

/// The comment to write, or none where somebody else's stands.
pub(super) fn comment(job: &JobRecord, text: &str) -> Option<String> {
    let theirs = job.fields.get("AdminComment").map_or("", String::as_str);
    if !matches!(theirs, "" | "(null)") && !theirs.starts_with(PREFIX.trim_end()) {
        return None;
    }
    let said: String = text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    let whole = format!("{PREFIX}{said}");
    Some(whole.get(..MAX_COMMENT).map_or(whole.clone(), str::to_owned))
}
