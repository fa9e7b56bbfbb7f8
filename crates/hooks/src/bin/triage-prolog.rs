//! slurmd's `Prolog`: opens the job's span, and can refuse a job on a node that is known to be bad.
use std::process::ExitCode;

fn main() -> ExitCode {
    triage_hooks::start::run(&triage_hooks::prolog::HOOK)
}
