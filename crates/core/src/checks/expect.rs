//! `[expect]` in triage.toml: what the site says this node has. What is not said there is taken from the node's own
//! files (`/etc/fstab`, enabled units, slurm.conf), else learned.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the node is expected to have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Expect {
    /// Filesystems besides those of `/etc/fstab`.
    pub mounts: Vec<ExpectMount>,
    /// Services, by unit name without `.service`, besides those that are enabled.
    pub services: Vec<String>,
    /// The CPU frequency governor of every CPU; empty: whichever, as long as all have the same.
    pub governor: String,
    /// Huge pages by page size in KiB (`{ "2048" = 512 }`).
    pub hugepages: BTreeMap<String, u64>,
}

/// One filesystem that should be there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpectMount {
    /// Where it is mounted.
    pub path: String,
    /// Its type; any when not said.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// It is meant to be mounted read-only.
    pub read_only: bool,
    /// Also write a file there and remove it again, in a process that may hang.
    pub write: bool,
}
