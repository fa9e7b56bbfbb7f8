//! What every pass of a hook has at hand.
use std::cell::{Cell, OnceCell};
use std::path::PathBuf;
use std::time::Duration;

use triage_core::catalog::Catalog;
use triage_core::policy::Policy;
use triage_core::{BootId, NodeName, Stamp};
use triage_host::clock::{Clock, Deadline};
use triage_host::config::Config;
use triage_host::proc::Root;
use triage_host::runner::Runner;
use triage_ledger::{AuditNote, Level, ProcessId};

use crate::policy_file;

/// What every pass has at hand. The clock, the runner and the root are the seams for tests.
pub struct Ctx<'a> {
    /// The program's name, for the audit.
    pub program: &'static str,
    /// The configuration of this node.
    pub config: Config,
    /// Where the configuration came from; a detached helper is given the same.
    pub config_path: PathBuf,
    /// What the site wants.
    pub policy: Policy,
    /// This node.
    pub node: NodeName,
    /// This boot.
    pub boot: BootId,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Runs commands.
    pub runner: &'a dyn Runner,
    /// Where the filesystem begins.
    pub root: Root,
    /// When the pass must have ended.
    pub deadline: Deadline,
    /// What a person should be able to look up later: troubles met on the way.
    pub notes: Vec<AuditNote>,
    /// The controller did not answer in this pass: what is left for it waits for the next one.
    pub controller_is_away: Cell<bool>,
    catalog: OnceCell<Catalog>,
}

/// The node or the boot cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum CtxError {
    /// The name is not one of a node.
    #[error(transparent)]
    Node(#[from] triage_host::config::UnsafeNodeName),
    /// `/proc` does not tell the boot.
    #[error("/proc/sys/kernel/random/boot_id cannot be read: is /proc mounted?")]
    Boot(#[source] std::io::Error),
}

impl<'a> Ctx<'a> {
    /// Puts together what a pass needs. Trouble with the policy is noted, not an error: monitor mode holds then.
    ///
    /// # Errors
    /// When the node or the boot cannot be told.
    pub fn new(
        program: &'static str,
        (config_path, config): (PathBuf, &Config),
        node: NodeName,
        root: Root,
        (clock, runner): (&'a dyn Clock, &'a dyn Runner),
        limit: Duration,
    ) -> Result<Self, CtxError> {
        let config = config.for_node(&node)?;
        let boot = root.boot_id().map_err(CtxError::Boot)?;
        let mut notes = Vec::new();
        let policy = policy_file::load(&config.paths.policy).unwrap_or_else(|error| {
            notes.push(note(Level::Error, "policy.unusable", error.in_force()));
            Policy::default()
        });
        let deadline = Deadline::after(clock, limit);
        Ok(Self {
            program,
            config,
            config_path,
            policy,
            node,
            boot,
            clock,
            runner,
            root,
            deadline,
            notes,
            controller_is_away: Cell::new(false),
            catalog: OnceCell::new(),
        })
    }

    /// The moment.
    pub fn now(&self) -> Stamp {
        self.clock.now()
    }

    /// Where the ledger is.
    pub fn ledger_path(&self) -> PathBuf {
        self.config.paths.state.join("ledger.db")
    }

    /// What events mean. Read when first needed: a healthy prolog needs none of it.
    pub fn catalog(&self) -> &Catalog {
        self.catalog.get_or_init(|| {
            triage_catalog::load(Some(&self.config.paths.catalog)).unwrap_or_else(|error| {
                log::error!("{error}; the shipped catalogue holds until it is mended");
                triage_catalog::embedded()
            })
        })
    }

    /// This process, for claims.
    pub fn me(&self) -> ProcessId {
        let pid = std::process::id();
        let start = self.root.process(pid).map_or(0, |stat| stat.start_ticks);
        ProcessId { pid, start, boot: self.boot.clone() }
    }

    /// Whether a process of this boot still runs.
    pub fn is_alive(&self, process: &ProcessId) -> bool {
        is_alive(&self.root, process)
    }

    /// Says it in slurmd's log and keeps it for the audit.
    pub fn trouble(&mut self, kind: &str, text: String) {
        log::warn!("{text}");
        self.notes.push(note(Level::Warning, kind, text));
    }
}

/// A process that has ended does nothing any more, though nobody may ever have waited for it: the process 1 of a
/// container often waits for none.
fn is_alive(root: &Root, process: &ProcessId) -> bool {
    let same = |stat: &triage_host::proc::ProcStat| stat.start_ticks == process.start && !stat.has_ended();
    root.process(process.pid).as_ref().is_some_and(same)
}

pub(crate) fn note(level: Level, kind: &str, text: String) -> AuditNote {
    AuditNote { level, text, ..AuditNote::info(kind, "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_nobody_waited_for_owns_nothing_any_more() {
        let root = Root::default();
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let start = root.process(child.id()).unwrap().start_ticks;
        let process = ProcessId { pid: child.id(), start, boot: BootId::new("b") };
        assert!(is_alive(&root, &process));
        assert!(!is_alive(&root, &ProcessId { start: start + 1, ..process.clone() }));
        drop(child.stdin.take());
        while !root.process(child.id()).unwrap().has_ended() {
            std::thread::yield_now();
        }
        assert!(!is_alive(&root, &process));
        child.wait().unwrap();
    }
}
