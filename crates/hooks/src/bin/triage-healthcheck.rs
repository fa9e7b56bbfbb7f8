//! slurmd's `HealthCheckProgram`: the sweep over all sources, the ledger's upkeep, and what was left over.
use std::process::ExitCode;

fn main() -> ExitCode {
    triage_hooks::start::run(&triage_hooks::healthcheck::HOOK)
}
