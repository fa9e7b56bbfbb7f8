//! Running the checks, each in a process of its own under a deadline.
use std::path::PathBuf;
use std::time::Duration;

use triage_core::ExitStatus;
use triage_host::runner::{Command, Finished, RunError, Runner, SystemRunner};

use super::Part;
use super::finding::{Finding, Level};
use crate::args::Common;
use crate::site::{Site, absolute, config_path, elsewhere};

/// Makes the checks, all at once, and tells their findings in the order asked for.
pub(super) fn all(common: &Common, site: &Site, offline: bool, parts: &[Part]) -> Vec<Finding> {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            let broken = |part| one(part, format!("could not be started: {error}"));
            return parts.iter().map(|part| broken(*part)).collect();
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .map(|part| {
                let command = command(program.clone(), common, site, offline, *part);
                (*part, scope.spawn(move || findings(*part, &command)))
            })
            .collect();
        let outcome = |(part, thread): (Part, std::thread::ScopedJoinHandle<'_, Vec<Finding>>)| {
            thread.join().unwrap_or_else(|_| vec![one(part, "ended in a panic".to_owned())])
        };
        running.into_iter().flat_map(outcome).collect()
    })
}

fn command(program: PathBuf, common: &Common, site: &Site, offline: bool, part: Part) -> Command {
    let mut args = vec![
        "--config".to_owned(),
        absolute(&config_path(common)),
        format!("--node={}", site.node),
        "--now".to_owned(),
        site.now.to_string(),
    ];
    if let Some(ledger) = &common.ledger {
        args.extend(["--ledger".to_owned(), absolute(ledger)]);
    }
    args.extend(["doctor".to_owned(), "--here".to_owned(), part.to_string()]);
    if offline {
        args.push("--offline".to_owned());
    }
    elsewhere(Command::new(program, part.deadline(&site.config)).args(args))
}

fn findings(part: Part, command: &Command) -> Vec<Finding> {
    match SystemRunner.run(command) {
        Ok(Finished { status: ExitStatus::Exit(0), stdout, .. }) => triage_core::json::from_bytes(&stdout)
            .unwrap_or_else(|error| vec![one(part, format!("answered what cannot be read: {error}"))]),
        Ok(Finished { status, stderr, .. }) => {
            let words = String::from_utf8_lossy(&stderr);
            vec![one(part, format!("ended with {status}: {}", words.trim()))]
        }
        Err(RunError::Deadline { deadline, stuck, .. }) => vec![hung(part, deadline, stuck.wchan.as_deref())],
        Err(error) => vec![one(part, error.to_string())],
    }
}

fn one(part: Part, what: String) -> Finding {
    let remedy = "report it with the output of slurm-triage --version".to_owned();
    Finding { part, level: Level::Fail, what: format!("this check itself {what}"), remedy }
}

fn hung(part: Part, deadline: Duration, wchan: Option<&str>) -> Finding {
    let place = wchan.map(|function| format!(", in the kernel's {function}")).unwrap_or_default();
    let remedy = match part {
        Part::Slurm | Part::Plugin => "see that slurmctld answers, or leave it out with --offline",
        Part::Nvml => "a GPU or its driver hangs: see dmesg, and boot the node",
        _ => "a disk or a server of a filesystem hangs: see dmesg and the mounts of the paths in triage.toml",
    };
    Finding {
        part,
        level: Level::Fail,
        what: format!("no answer within {} ms{place}", deadline.as_millis()),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str, args: &[&str]) -> Finding {
        let command = Command::new(program, Duration::from_millis(200)).args(args.iter().copied());
        let mut found = findings(Part::Ledger, &command);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn a_check_that_does_not_come_back_is_a_finding_and_holds_nobody() {
        let finding = of("/bin/sleep", &["600"]);
        assert!(
            finding.level == Level::Fail && finding.what.starts_with("no answer within 200 ms"),
            "{finding:?}"
        );
        assert!(finding.remedy.contains("a disk or a server"));
    }

    #[test]
    fn a_check_that_fails_or_talks_nonsense_is_a_finding() {
        assert!(of("/bin/sh", &["-c", "echo oh >&2; exit 7"]).what.contains("exit 7: oh"));
        assert!(of("/bin/sh", &["-c", "kill -9 $$"]).what.contains("signal 9"));
        assert!(of("/bin/echo", &["{}"]).what.contains("cannot be read"));
        assert!(of("/nonexistent", &[]).what.contains("/nonexistent"));
    }
}
