//! How a process ended, in words.
use nix::sys::signal::Signal;
use triage_core::ExitStatus;

/// `exit 1`, `signal 9 (SIGKILL)`.
pub(crate) fn ending(exit: ExitStatus) -> String {
    match exit {
        ExitStatus::Signal(number) => match Signal::try_from(number) {
            Ok(signal) => format!("signal {number} ({signal})"),
            Err(_) => format!("signal {number}"),
        },
        ExitStatus::Exit(_) => exit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_without_a_name_keeps_its_number() {
        assert_eq!(ending(ExitStatus::Signal(9)), "signal 9 (SIGKILL)");
        assert_eq!(ending(ExitStatus::Signal(-3)), "signal -3");
        assert_eq!(ending(ExitStatus::Exit(1)), "exit 1");
    }
}
