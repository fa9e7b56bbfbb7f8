//! What a job printed, read by this program once more, with the rights of the job's owner.
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use triage_core::catalog::Catalog;
use triage_core::joblog::OutputReport;
use triage_core::{JobRecord, JobSpan};
use triage_host::clock::Deadline;
use triage_host::output::{OutputReader, OutputRequest, run_child};

use crate::ctx::Ctx;

/// The argument, alone, that makes a program of the suite the reader. Internal.
pub const READ_OUTPUT: &str = "--read-output";

/// Kept back from the pass's deadline for judging, recording and acting on what was read.
const AFTERWARDS: Duration = Duration::from_millis(2_500);

/// Where this process was started as the reader: reads, answers, and says how the process is to end.
pub fn child() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let asked = args.next().is_some_and(|arg| arg == READ_OUTPUT) && args.next().is_none();
    asked.then(|| run_child(catalog))
}

fn catalog(folder: &Path) -> Catalog {
    triage_catalog::load(Some(folder)).unwrap_or_else(|_| triage_catalog::embedded())
}

/// What reads the output of jobs, or appends to it, in a process of its own.
pub(crate) fn reader<'a>(ctx: &'a Ctx<'_>) -> OutputReader<'a> {
    OutputReader::of_this_program((ctx.runner, ctx.clock, &ctx.root), READ_OUTPUT, &ctx.config)
}

/// How much of the ends of a job's output is looked through for how far it got, bytes, and for how long at most: the job
/// waits to run again.
const END: (u64, Duration) = (1 << 20, Duration::from_millis(1_000));

/// The same of the ends of its output alone.
pub(crate) fn read_end(ctx: &Ctx<'_>, record: &JobRecord, span: &JobSpan) -> OutputReport {
    let mut reader = reader(ctx);
    (reader.limits.head, reader.limits.tail) = (0, reader.limits.tail.min(END.0));
    let left = ctx.deadline.left(ctx.clock).saturating_sub(AFTERWARDS).min(END.1);
    reader.read(&OutputRequest::new(record, span), Deadline::after(ctx.clock, left))
}

/// What the job of `span` printed, by Slurm's word of where. Whatever could not be read is told in the report.
pub fn read(ctx: &Ctx<'_>, record: &JobRecord, span: &JobSpan) -> OutputReport {
    let reader = reader(ctx);
    let left = ctx.deadline.left(ctx.clock).saturating_sub(AFTERWARDS);
    reader.read(&OutputRequest::new(record, span), Deadline::after(ctx.clock, left))
}
