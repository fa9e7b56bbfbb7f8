//! Exit codes of `slurm-triage`. Documented in `docs/cli.md` and `--help`; scripts may rely on them.
use std::process::ExitCode;

/// Done, nothing to complain about.
pub(crate) const OK: u8 = 0;
/// Done, and something wants attention: an open case, a finding, a name nothing is known of.
pub(crate) const FINDINGS: u8 = 1;
// 2 is clap's: the command line was not understood.
/// Something needed could not be read or written: configuration, ledger, input.
pub(crate) const UNREADABLE: u8 = 3;
/// Refused on purpose: a drill in act mode without `--act`.
pub(crate) const REFUSED: u8 = 4;

/// What a subcommand ends with.
pub(crate) type CmdResult = anyhow::Result<u8>;

/// The process's exit code for a result; prints the error and its causes.
pub(crate) fn code(result: CmdResult) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(OK),
        Err(error) => {
            crate::render::complain(&sentence(&error));
            ExitCode::from(UNREADABLE)
        }
    }
}

/// The error and its causes on one line, without those that an error before them has told already.
fn sentence(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.contains(&cause) {
            told = if told.is_empty() { cause } else { format!("{told}: {cause}") };
        }
    }
    told
}

/// `slurm-triage events | head` is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_that_was_told_is_not_told_twice() {
        let error = Err::<(), _>(std::io::Error::other("disk on fire"))
            .context("/x: cannot look at it: disk on fire")
            .context("the ledger")
            .unwrap_err();
        assert_eq!(sentence(&error), "the ledger: /x: cannot look at it: disk on fire");
    }
}
