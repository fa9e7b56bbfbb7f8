//! `%n` in paths: the node's name, as slurm.conf has it.
use std::path::{Path, PathBuf};

use triage_core::NodeName;

use super::Config;

/// A node name that could lead out of a folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "node name {0:?} cannot stand in a path: expected letters, digits, '.', '-' and '_', as NodeName in slurm.conf"
)]
pub struct UnsafeNodeName(pub String);

impl Config {
    /// The configuration of one node: `%n` in every path becomes its name.
    ///
    /// # Errors
    /// When the name is not one Slurm allows.
    pub fn for_node(&self, node: &NodeName) -> Result<Self, UnsafeNodeName> {
        if !node.is_safe() {
            return Err(UnsafeNodeName(node.as_str().to_owned()));
        }
        let mut config = self.clone();
        for path in config.path_fields() {
            *path = expand(path, node);
        }
        Ok(config)
    }

    fn path_fields(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let Self { paths, slurm, kernel_log, nvml, metrics, .. } = self;
        [
            &mut paths.state,
            &mut paths.run,
            &mut paths.policy,
            &mut paths.catalog,
            &mut paths.libexec,
            &mut paths.checks,
        ]
        .into_iter()
        .chain([&mut slurm.scontrol, &mut kernel_log.path, &mut nvml.library])
        .chain(slurm.conf.as_mut())
        .chain(slurm.topology.as_mut())
        .chain(nvml.scenario.as_mut())
        .chain(metrics.textfile.as_mut())
    }
}

fn expand(path: &Path, node: &NodeName) -> PathBuf {
    // Paths come from TOML, which is UTF-8.
    path.to_str().map_or_else(|| path.to_owned(), |text| text.replace("%n", node.as_str()).into())
}
