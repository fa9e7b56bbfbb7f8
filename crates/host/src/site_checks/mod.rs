//! The site's own checks: executables in a folder, run one after the other under a deadline each and one in total. They
//! answer as Nagios plugins do, or in JSON (`answer.rs`).
//!
//! They run as root, so folder and files must be root's and nobody else's to write: a file that is not is refused, by
//! name and with the reason, and the others run.
mod answer;

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use triage_core::NodeName;
use triage_core::facts::Sheet;
use triage_core::facts::site::{SiteAnswer, SiteFacts, SiteStatus};

use crate::clock::{Clock, Deadline};
use crate::runner::{Command, RunError, Runner};

/// Most checks of one folder.
const MAX_CHECKS: usize = 64;

/// Most that is kept of what one writes.
const OUTPUT_CAP: usize = 256 * 1024;

/// What they find programs by. Nothing of slurmd's environment is passed on.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// How to run them.
pub struct SiteChecks<'a> {
    /// Runs them.
    pub runner: &'a dyn Runner,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The folder.
    pub folder: PathBuf,
    /// The node, which they are told as `SLURMD_NODENAME`.
    pub node: &'a NodeName,
    /// Whether the check of this name is to be run.
    pub enabled: Box<dyn Fn(&str) -> bool + 'a>,
    /// How long one may take.
    pub each: Duration,
    /// How long all of them may take.
    pub total: Duration,
}

impl SiteChecks<'_> {
    /// Runs them. A folder that is not there is no site's wish, and no blindness.
    pub fn run(&self) -> Sheet<SiteFacts> {
        let names = match self.names() {
            Ok(names) => names,
            Err(why) => return Sheet::blind(why),
        };
        let end = Deadline::after(self.clock, self.total);
        let answers =
            names.iter().filter(|name| (self.enabled)(name)).map(|name| self.one(name, end)).collect();
        Sheet::read(SiteFacts { answers })
    }

    /// The files of the folder that mean to be checks, in order.
    fn names(&self) -> Result<Vec<String>, String> {
        let shown = self.folder.display();
        let meta = match fs::symlink_metadata(&self.folder) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("{shown}: {error}")),
        };
        if !meta.is_dir() {
            return Err(format!(
                "{shown}: is no folder: make it one, or correct paths.checks in triage.toml"
            ));
        }
        if let Some(why) = unsafe_to_trust(&meta) {
            return Err(format!("{shown}: {why}; no check of it is run"));
        }
        let entries = fs::read_dir(&self.folder).map_err(|error| format!("{shown}: {error}"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_plain(name)).collect();
        names.sort_unstable();
        names.truncate(MAX_CHECKS);
        Ok(names.into_iter().filter(|name| self.is_meant(name)).collect())
    }

    /// Text files beside the checks (a README) are none; a link that leads nowhere is one that is broken.
    fn is_meant(&self, name: &str) -> bool {
        let meta = fs::symlink_metadata(self.folder.join(name));
        meta.is_ok_and(|meta| meta.is_symlink() || (meta.is_file() && meta.mode() & 0o111 != 0))
    }

    fn one(&self, name: &str, end: Deadline) -> SiteAnswer {
        let begun = self.clock.monotonic();
        let (status, text, resource) = self.ask(name, end);
        let cost = self.clock.monotonic().saturating_sub(begun);
        let cost_us = u64::try_from(cost.as_micros()).unwrap_or(u64::MAX);
        SiteAnswer { name: name.to_owned(), status, text, resource, cost_us }
    }

    fn ask(&self, name: &str, end: Deadline) -> (SiteStatus, String, Option<String>) {
        let unknown = |text: String| (SiteStatus::Unknown, text, None);
        let program = self.folder.join(name);
        if let Some(why) = refused(&program) {
            return unknown(format!("refused: {why}"));
        }
        let left = end.left(self.clock).min(self.each);
        if left.is_zero() {
            return unknown(format!("not run: the {} ms for all of them were over", self.total.as_millis()));
        }
        let mut command = Command::new(program, left)
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .env("SLURMD_NODENAME", self.node.as_str());
        command.output_cap = OUTPUT_CAP;
        match self.runner.run(&command) {
            Ok(finished) => answer::read(&finished),
            Err(RunError::Deadline { deadline, .. }) => {
                unknown(format!("no answer within {} ms: it was killed", deadline.as_millis()))
            }
            Err(error) => unknown(error.to_string()),
        }
    }
}

/// Names as run-parts(8) takes them: what an editor or a package manager leaves beside a file is none.
fn is_plain(name: &str) -> bool {
    let left_over = [".bak", ".dpkg-old", ".dpkg-new", ".rpmsave", ".rpmnew", ".orig", ".swp"];
    !name.is_empty()
        && name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        && !left_over.iter().any(|end| name.ends_with(end))
}

fn refused(program: &Path) -> Option<String> {
    match fs::symlink_metadata(program) {
        Ok(meta) if meta.is_symlink() => Some(
            "it is a link, and what it leads to may be anybody's: copy it, or write a script that runs it"
                .to_owned(),
        ),
        Ok(meta) => unsafe_to_trust(&meta),
        Err(error) => Some(error.to_string()),
    }
}

/// Why root should not run what is there. A test that is not root may trust its own files.
fn unsafe_to_trust(meta: &Metadata) -> Option<String> {
    if meta.uid() != 0 && meta.uid() != nix::unistd::geteuid().as_raw() {
        return Some(format!("it belongs to user {} and would run as root: chown root it", meta.uid()));
    }
    (meta.mode() & 0o022 != 0).then(|| "others than root can write it: chmod go-w it".to_owned())
}

/// What an answer means: status, words, resource. For the fuzz target `site_answer`.
#[cfg(any(test, feature = "testkit"))]
pub fn read_answer(finished: &crate::runner::Finished) -> (SiteStatus, String, Option<String>) {
    answer::read(finished)
}

#[cfg(test)]
mod tests;
