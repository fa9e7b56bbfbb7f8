//! Exit codes of `slurm-triage`. Documented in `docs/cli.md` and `--help`; scripts may rely on them.
use std::process::ExitCode;

/// Done, nothing to complain about.
pub(crate) const OK: u8 = 0;
/// Done, and something was found that wants attention (`doctor`: a problem; `why`: nothing known by that name).
pub(crate) const FINDINGS: u8 = 1;
/// The command line was not understood. clap uses the same number.
pub(crate) const USAGE: u8 = 2;
/// Something needed could not be read: configuration, ledger, input.
pub(crate) const UNREADABLE: u8 = 3;
/// Refused on purpose, such as a drill in act mode without `--act`.
pub(crate) const REFUSED: u8 = 4;

/// What a subcommand ends with.
pub(crate) type CmdResult = anyhow::Result<u8>;

/// The process's exit code for a result; prints the error and its causes.
pub(crate) fn code(result: CmdResult) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(OK),
        Err(error) => {
            eprintln!("slurm-triage: {error:#}");
            ExitCode::from(UNREADABLE)
        }
    }
}

/// `slurm-triage events | head` is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
