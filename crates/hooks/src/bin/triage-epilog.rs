//! slurmd's `Epilog`: closes the job's span, looks for what broke, and on the batch host decides about the job.
use std::process::ExitCode;

fn main() -> ExitCode {
    triage_hooks::output::child().unwrap_or_else(|| triage_hooks::start::run(&triage_hooks::epilog::HOOK))
}
