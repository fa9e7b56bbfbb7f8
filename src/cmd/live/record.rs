//! The job as Slurm still has it, and what of it the ledger does not know.
use triage_core::pipeline::Asked;
use triage_core::{ExitStatus, JobRecord, JobSpan, Stamp};
use triage_host::slurm::Scontrol;

/// Asks, and completes a span whose epilog has not run: its end and exit, where Slurm knows them. Of a run that another one
/// followed Slurm knows no more than that it is over.
pub(super) fn of(scontrol: &Scontrol<'_>, span: &mut JobSpan, now: Stamp) -> Asked<JobRecord> {
    let record = match scontrol.job_of(&span.run) {
        Ok(record) => record,
        Err(error) => return Asked::NoAnswer(error.to_string()),
    };
    if record.restarts > span.run.restart {
        span.end.get_or_insert(now);
    } else if span.end.is_none() && is_over(&record) {
        span.end = seconds(&record, "EndTime");
        span.exit = record.fields.get("ExitCode").and_then(|text| exit(text));
    }
    Asked::Answer(record)
}

fn is_over(record: &JobRecord) -> bool {
    !matches!(record.state.as_str(), "RUNNING" | "PENDING" | "SUSPENDED" | "CONFIGURING" | "COMPLETING")
}

fn seconds(record: &JobRecord, name: &str) -> Option<Stamp> {
    record.fields.get(name)?.parse().ok().filter(|seconds| *seconds > 0).map(Stamp::from_secs)
}

/// `1:0`: exit code and signal.
fn exit(text: &str) -> Option<ExitStatus> {
    let (code, signal) = text.split_once(':')?;
    match (code.parse().ok()?, signal.parse().ok()?) {
        (code, 0) => Some(ExitStatus::Exit(code)),
        (_, signal) => Some(ExitStatus::Signal(signal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurms_exit_word_is_read() {
        assert_eq!(exit("1:0"), Some(ExitStatus::Exit(1)));
        assert_eq!(exit("0:9"), Some(ExitStatus::Signal(9)));
        assert_eq!(exit("x:0"), None);
        assert_eq!(exit(""), None);
    }
}
