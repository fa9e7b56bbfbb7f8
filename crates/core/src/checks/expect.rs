//! `[expect]` in triage.toml: what the site says this node has. What is not said there is taken from the node's own
//! files (`/etc/fstab`, enabled units, slurm.conf), else learned.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the node is expected to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expect {
    /// Filesystems besides those of `/etc/fstab`.
    pub mounts: Vec<ExpectMount>,
    /// Services, by unit name without `.service`, besides those that are enabled.
    pub services: Vec<String>,
    /// The CPU frequency governor of every CPU; empty: whichever, as long as all have the same.
    pub governor: String,
    /// How many NVIDIA GPUs; 0: not said.
    pub gpus: u32,
    /// Their product name: `NVIDIA H100 80GB HBM3`; empty: not said.
    pub gpu_model: String,
    /// Driver version; empty: not said.
    pub driver: String,
    /// VBIOS version; empty: not said.
    pub vbios: String,
    /// Network adapters.
    pub nics: Vec<ExpectNic>,
    /// Version of `mlx5_core`, as NVIDIA's package (OFED, DOCA) gives it one; empty: not said.
    pub ofed: String,
    /// BIOS version; empty: not said.
    pub bios: String,
    /// Main board, by `/sys/class/dmi/id/board_name`; empty: not said.
    pub board: String,
    /// Kernel modules, of those in `triage_core::facts::driver::MODULES`.
    pub modules: Vec<String>,
    /// Learn a baseline from the first healthy look where there is none yet and no case is open.
    pub learn: bool,
    /// The same keys for some nodes, by node list: `[expect.on."gpu[001-064]"]`. What is said there holds over the rest.
    pub on: BTreeMap<String, Self>,
    /// Huge pages by page size in KiB (`{ "2048" = 512 }`).
    pub hugepages: BTreeMap<String, u64>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            mounts: Vec::new(),
            services: Vec::new(),
            governor: String::new(),
            gpus: 0,
            gpu_model: String::new(),
            driver: String::new(),
            vbios: String::new(),
            ofed: String::new(),
            bios: String::new(),
            board: String::new(),
            nics: Vec::new(),
            modules: Vec::new(),
            learn: true,
            on: BTreeMap::new(),
            hugepages: BTreeMap::new(),
        }
    }
}

impl Expect {
    /// What holds on one node: `named` says whether a node list names it. Later lists, in alphabetical order, hold over
    /// earlier ones. A list of mounts, services or adapters replaces the one before it.
    #[must_use]
    pub fn on_node(&self, named: impl Fn(&str) -> bool) -> Self {
        let mut all = Self { on: BTreeMap::new(), ..self.clone() };
        for (_, part) in self.on.iter().filter(|(list, _)| named(list)) {
            let part = part.clone();
            let Self {
                mounts,
                services,
                governor,
                gpus,
                gpu_model,
                driver,
                vbios,
                nics,
                modules,
                ofed,
                bios,
                board,
                ..
            } = part;
            for (all, part) in [
                (&mut all.governor, governor),
                (&mut all.gpu_model, gpu_model),
                (&mut all.driver, driver),
                (&mut all.vbios, vbios),
                (&mut all.ofed, ofed),
                (&mut all.bios, bios),
                (&mut all.board, board),
            ] {
                if !part.is_empty() {
                    *all = part;
                }
            }
            if gpus > 0 {
                all.gpus = gpus;
            }
            all.learn &= part.learn;
            all.hugepages.extend(part.hugepages);
            replace(&mut all.mounts, mounts);
            replace(&mut all.services, services);
            replace(&mut all.nics, nics);
            replace(&mut all.modules, modules);
        }
        all
    }
}

fn replace<T>(all: &mut Vec<T>, part: Vec<T>) {
    if !part.is_empty() {
        *all = part;
    }
}

/// A text that says something.
pub(super) fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// One network adapter that should be there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpectNic {
    /// `mlx5_0`, `eth0`.
    pub name: String,
    /// Least rate, Gbit/s.
    pub rate_gbps: Option<u32>,
    /// `up`, the default, or `down` for one that is not connected.
    pub state: Option<String>,
    /// Firmware version.
    pub firmware: Option<String>,
}

impl ExpectNic {
    /// Whether the link should be up.
    pub fn wants_up(&self) -> bool {
        self.state.as_deref() != Some("down")
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_list_holds_over_the_rest_on_its_nodes_only() {
        let nic = |name: &str| ExpectNic { name: name.to_owned(), ..ExpectNic::default() };
        let part = Expect { gpus: 4, nics: vec![nic("eth1")], learn: false, ..Expect::default() };
        let all = Expect {
            gpus: 8,
            driver: "580.95.05".to_owned(),
            nics: vec![nic("mlx5_0"), nic("mlx5_1")],
            on: std::iter::once(("old[1-4]".to_owned(), part)).collect(),
            ..Expect::default()
        };
        let old = all.on_node(|list| list == "old[1-4]");
        assert_eq!((old.gpus, old.driver.as_str(), old.nics.len(), old.learn), (4, "580.95.05", 1, false));
        let new = all.on_node(|_| false);
        assert_eq!((new.gpus, new.nics.len(), new.learn, new.on.is_empty()), (8, 2, true, true));
    }
}
