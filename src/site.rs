//! Where this call looks: configuration, node, ledger, moment.
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use triage_catalog::Error as CatalogError;
use triage_core::catalog::Catalog;
use triage_core::{NodeName, Stamp};
use triage_hooks::open;
use triage_host::clock::{Clock, SystemClock};
use triage_host::config::{Config, ConfigError, DEFAULT_PATH};
use triage_host::runner::Command;
use triage_ledger::{Error as LedgerError, Ledger, OpenOptions};

use crate::args::Common;
use crate::render;

/// Longest wait for a program that writes the ledger. A person waits that long; a hook never does.
pub(crate) const LEDGER_WAIT: Duration = Duration::from_secs(5);

/// Where this call looks.
#[derive(Debug)]
pub(crate) struct Site {
    /// The configuration of the node, `%n` expanded.
    pub(crate) config: Config,
    /// The file it came from.
    pub(crate) config_path: PathBuf,
    /// The node.
    pub(crate) node: NodeName,
    /// Its ledger.
    pub(crate) ledger: PathBuf,
    /// The moment "ago" counts from.
    pub(crate) now: Stamp,
}

impl Site {
    /// From the command line. Without a file at the default path the built-in defaults hold, as they do for the hooks.
    pub(crate) fn find(common: &Common) -> anyhow::Result<Self> {
        let config = match Config::load(&config_path(common)) {
            Ok(loaded) => loaded.config,
            Err(ConfigError::Missing { .. }) if common.config.is_none() => Config::default(),
            Err(error) => {
                let ledger = Config::default().paths.state.join("ledger.db");
                return Err(anyhow!(
                    "{:#}; until that is mended hooks use built-in defaults: --ledger {} reads what they write",
                    anyhow!(error),
                    ledger.display()
                ));
            }
        };
        Self::with(common, &config)
    }

    /// From the command line, with this configuration.
    pub(crate) fn with(common: &Common, config: &Config) -> anyhow::Result<Self> {
        let node = node_name(common)?;
        let config = config.for_node(&node).map_err(|error| anyhow!("{error}: name the node with --node"))?;
        let ledger = common.ledger.clone().unwrap_or_else(|| config.paths.state.join("ledger.db"));
        Ok(Self { config, config_path: config_path(common), node, ledger, now: now(common) })
    }

    /// Opens the ledger for reading.
    pub(crate) fn open(&self) -> anyhow::Result<Ledger> {
        let opened = Ledger::open(&self.ledger, &OpenOptions::reader(LEDGER_WAIT, self.now));
        let ledger = opened.map_err(|error| match error {
            // Nobody notices a node that is misspelt but by its absence.
            LedgerError::Missing { .. } => anyhow!("{error}; {}", self.whose()),
            error => explained(error),
        })?;
        if let Ok(Some(node)) = ledger.node()
            && node != self.node
        {
            let path = self.ledger.display();
            render::complain(&format!("{path} is the ledger of {node}, not of {}: --node {node}", self.node));
        }
        Ok(ledger)
    }

    /// Which node was meant, where its ledger is not there.
    pub(crate) fn whose(&self) -> String {
        format!("it was looked for as that of {}: --node gives the NodeName of slurm.conf", self.node)
    }

    /// Opens the ledger for writing, as a hook would; `what` says what is written. One that is not there is not begun:
    /// the node may be misspelt.
    pub(crate) fn open_to_write(&self, what: &'static str) -> anyhow::Result<Ledger> {
        if !self.ledger.exists() {
            return Err(anyhow!(
                "{}: there is no ledger yet: {what}, and a hook of this node begins it; {}",
                self.ledger.display(),
                self.whose()
            ));
        }
        let options = open::options(&self.config, LEDGER_WAIT, SystemClock.now());
        Ledger::open(&self.ledger, &options).map_err(explained).context(what)
    }

    /// What codes mean here, and what is wrong with the site's own part of it.
    pub(crate) fn catalog(&self) -> (Catalog, Option<CatalogError>) {
        match triage_catalog::load(Some(&self.config.paths.catalog)) {
            Ok(catalog) => (catalog, None),
            Err(error) => (triage_catalog::embedded(), Some(error)),
        }
    }
}

/// A program of ours runs in another folder than this process: what it is told of is named from the root, and it finds
/// Slurm's configuration as this process does.
pub(crate) fn elsewhere(command: Command) -> Command {
    match std::env::var("SLURM_CONF") {
        Ok(conf) => command.env("SLURM_CONF", absolute(Path::new(&conf))),
        Err(_) => command,
    }
}

/// A path as a program in another folder has to name it.
pub(crate) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The configuration file that is meant.
pub(crate) fn config_path(common: &Common) -> PathBuf {
    common.config.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_PATH))
}

/// The moment that is meant.
pub(crate) fn now(common: &Common) -> Stamp {
    common.now.unwrap_or_else(|| SystemClock.now())
}

/// The node that is meant: as told, as slurmd tells its hooks, else this host's name up to the first dot, which is
/// what slurmd takes too unless it is started with `-N`.
pub(crate) fn node_name(common: &Common) -> anyhow::Result<NodeName> {
    let told =
        common.node.clone().or_else(|| std::env::var("SLURMD_NODENAME").ok()).filter(|name| !name.is_empty());
    let name = match told {
        Some(name) => name,
        None => host_name().context("this host's name cannot be read: name the node with --node")?,
    };
    Ok(NodeName::new(name))
}

fn host_name() -> std::io::Result<String> {
    let name = std::fs::read_to_string(Path::new("/proc/sys/kernel/hostname"))?;
    Ok(name.trim().split('.').next().unwrap_or_default().to_owned())
}

/// The ledger's error with what a person can do about it.
pub(crate) fn explained(error: LedgerError) -> anyhow::Error {
    let denied = match &error {
        LedgerError::NoPermission { .. } => true,
        LedgerError::Io { source, .. } => source.kind() == std::io::ErrorKind::PermissionDenied,
        _ => false,
    };
    if denied {
        return anyhow!(
            "{error}: run this as root, or as a member of the group that owns the ledger's folder"
        );
    }
    anyhow!(error)
}
