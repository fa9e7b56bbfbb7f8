//! A line of ours in the job's own output file, where its owner looks first: that the job was requeued, or why not.
//!
//! A restarted job whose output is not opened for appending (`--open-mode=truncate`, and Slurm's default,
//! `JobFileAppend=0`) begins with an empty file. So after the restart the line is looked for, and appended once more where it
//! went with the rest; slurmstepd always appends, so that nothing is written over.
use std::time::Duration;

use triage_core::{JobRecord, Outcome, RunId};

use super::Executor;
use super::begin::is_new;
use super::requeue::named;
use crate::clock::Deadline;
use crate::output::OutputRequest;
use crate::slurm::ScontrolError;

/// First and longest pause between two looks at the job.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(20);

/// When the line is looked for after the job was seen running again: its output is opened after its prologs.
const AFTER_START: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(10)];

/// Longest line, bytes.
const MAX_LINE: usize = 250;

/// What is to be written, and for whom.
pub(super) struct Line<'a> {
    pub(super) run: &'a RunId,
    /// User id and name.
    pub(super) owner: (u32, &'a str),
    pub(super) text: &'a str,
    pub(super) requeued: bool,
}

impl Executor<'_> {
    pub(super) fn last_line(&self, line: &Line<'_>, deadline: Deadline) -> Outcome {
        let mut pause = FIRST;
        let mut said: Option<String> = None;
        loop {
            match self.leader(line.run) {
                // Another owner's file is safe in any case, as it is opened with the rights of ours.
                Ok(job) if is_new(line.run, &job) => {
                    let other = "the job id belongs to another job now, left alone";
                    return said.map_or_else(|| self.left_alone(other), |first| self.done(first));
                }
                Ok(job) if line.requeued && job.restarts <= line.run.restart => {}
                Ok(job) => match &said {
                    None => match self.append(line, &job, deadline) {
                        Ok(first) if !line.requeued => return self.done(first),
                        Ok(first) => said = Some(first),
                        Err(why) => return self.left_alone(why),
                    },
                    Some(first) if job.state == "RUNNING" && !job.completing => {
                        return self.after_start(line, &job, first, deadline);
                    }
                    Some(_) => {}
                },
                Err(error) if !error.may_pass_later() => {
                    return said.map_or_else(|| self.failed(&error), |first| self.done(first));
                }
                Err(_) => {}
            }
            if deadline.left(self.clock) <= pause {
                return match said {
                    Some(first) => self.done(format!("{first}; the job has not begun again since")),
                    None => self.later("the job is not requeued yet"),
                };
            }
            self.clock.sleep(pause);
            pause = (pause * 3 / 2).min(LONGEST);
        }
    }

    /// The restart may have emptied the file, now or in a moment.
    fn after_start(&self, line: &Line<'_>, job: &JobRecord, first: &str, deadline: Deadline) -> Outcome {
        let mut told = first.to_owned();
        for pause in AFTER_START {
            self.clock.sleep(pause.min(deadline.left(self.clock)));
            match self.append(line, job, deadline) {
                Ok(again) if again != crate::output::STANDS => told = format!("{again}, after the restart"),
                Ok(_) => {}
                Err(why) => return self.done(format!("{told}; after the restart: {why}")),
            }
        }
        self.done(told)
    }

    /// The record that tells where the output is: a het job's batch script runs in its first component.
    fn leader(&self, run: &RunId) -> Result<JobRecord, ScontrolError> {
        let job = self.scontrol.job_of(run)?;
        let Some(leader) = named(run, &job).het else { return Ok(job) };
        let components = self.scontrol.components(leader)?;
        Ok(components.into_iter().find(|(offset, _)| *offset == 0).map_or(job, |(_, first)| first))
    }

    fn append(&self, line: &Line<'_>, job: &JobRecord, deadline: Deadline) -> Result<String, String> {
        let writer = self.output.as_ref().ok_or("nobody here appends to a job's output")?;
        let text: String =
            line.text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(MAX_LINE).collect();
        writer.append(&OutputRequest::of_record(job, line.run, line.owner), &text, deadline)
    }
}
