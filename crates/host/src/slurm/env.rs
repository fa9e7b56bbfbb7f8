//! The environment slurmd gives its hooks, read once. Names and presence differ by release (22.05 to 26.05); values a
//! user can set (`SPANK_*`, comments) are not read.
use std::collections::BTreeMap;

use triage_core::{ExitStatus, NodeName, Stamp};

use super::hostlist;

/// Stands for the nodes of a list that could not be read. No node has this name.
pub const UNREADABLE: &str = "(unreadable)";

/// What slurmd tells a prolog or epilog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEnv {
    /// `SLURMD_NODENAME`.
    pub node: NodeName,
    /// `SLURM_CLUSTER_NAME`; empty where it is not set.
    pub cluster: String,
    /// `SLURM_JOB_ID`. Of an array task this is the task's own id, except for the last one, which has the array's.
    pub job: u32,
    /// `SLURM_JOB_UID`.
    pub uid: u32,
    /// `SLURM_JOB_USER`; may be empty.
    pub user: String,
    /// `SLURM_JOB_PARTITION`; may be empty.
    pub partition: String,
    /// `SLURM_JOB_RESTART_COUNT`.
    pub restart: u32,
    /// `SLURM_JOB_NODELIST` (23.02 and later), else `SLURM_NODELIST`, expanded; the first one is the batch host. Empty
    /// where neither is set; [`UNREADABLE`] alone where it is no list.
    pub nodes: Vec<NodeName>,
    /// `SLURM_JOB_GPUS`: GRES indices on this node. Only numbers: UUID forms of other variables are no indices.
    pub gpus: Vec<u32>,
    /// `SLURM_JOB_EXIT_CODE`, the raw wait status; epilog only.
    pub exit: Option<ExitStatus>,
    /// `SLURM_HET_JOB_ID`: the leader's id.
    pub het: Option<u32>,
    /// `SLURM_JOB_START_TIME` (23.02 and later).
    pub start: Option<Stamp>,
    /// `SLURM_CONF`, passed on to scontrol.
    pub slurm_conf: Option<String>,
}

/// A variable that no hook can do without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// It is missing.
    #[error("{0} is not set: this program is run by slurmd as Prolog or Epilog")]
    Missing(&'static str),
    /// It is not what it should be.
    #[error("{name} is \"{value}\", which is no {expected}")]
    Bad {
        /// The variable.
        name: &'static str,
        /// Its value, cut.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

impl HookEnv {
    /// From the process's environment.
    ///
    /// # Errors
    /// When node or job are missing or no such thing.
    pub fn from_process() -> Result<Self, EnvError> {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let wanted = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with("SLURM"))?;
            Some((name, text(value)))
        });
        Self::from_map(&wanted.collect())
    }

    /// From a map of variables.
    ///
    /// # Errors
    /// When node or job are missing or no such thing.
    pub fn from_map(vars: &BTreeMap<String, String>) -> Result<Self, EnvError> {
        let get = |name: &str| vars.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let node = NodeName::new(get("SLURMD_NODENAME").ok_or(EnvError::Missing("SLURMD_NODENAME"))?);
        if !node.is_safe() {
            return Err(bad("SLURMD_NODENAME", node.as_str(), "node name"));
        }
        let job =
            get("SLURM_JOB_ID").or_else(|| get("SLURM_JOBID")).ok_or(EnvError::Missing("SLURM_JOB_ID"))?;
        let job = job.parse().map_err(|_| bad("SLURM_JOB_ID", job, "job id"))?;
        let list = get("SLURM_JOB_NODELIST").or_else(|| get("SLURM_NODELIST"));
        Ok(Self {
            cluster: get("SLURM_CLUSTER_NAME").unwrap_or_default().to_owned(),
            job,
            uid: number(get("SLURM_JOB_UID").or_else(|| get("SLURM_UID"))).unwrap_or(u32::MAX),
            user: get("SLURM_JOB_USER").unwrap_or_default().to_owned(),
            partition: get("SLURM_JOB_PARTITION").unwrap_or_default().to_owned(),
            restart: number(get("SLURM_JOB_RESTART_COUNT")).unwrap_or(0),
            nodes: list.map(nodes).unwrap_or_default(),
            gpus: get("SLURM_JOB_GPUS").map(indices).unwrap_or_default(),
            exit: number::<i32>(get("SLURM_JOB_EXIT_CODE")).map(ExitStatus::from_wait),
            het: number(get("SLURM_HET_JOB_ID")).filter(|leader| *leader != 0),
            start: number::<i64>(get("SLURM_JOB_START_TIME")).filter(|s| *s > 0).map(Stamp::from_secs),
            slurm_conf: get("SLURM_CONF").map(str::to_owned),
            node,
        })
    }
}

/// A list that cannot be read has a first node all the same, and this one must not take itself for it: then every node
/// of the job would decide about the job.
fn nodes(list: &str) -> Vec<NodeName> {
    hostlist::expand(list).unwrap_or_else(|_| vec![NodeName::new(UNREADABLE)])
}

fn bad(name: &'static str, value: &str, expected: &'static str) -> EnvError {
    EnvError::Bad { name, value: value.chars().take(80).collect(), expected }
}

fn number<T: std::str::FromStr>(text: Option<&str>) -> Option<T> {
    text.and_then(|text| text.trim().parse().ok())
}

/// `0,2,5-7` as numbers. What is no number is left out; more GPUs than any node has are cut.
fn indices(text: &str) -> Vec<u32> {
    const MAX_GPUS: usize = 256;
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse().ok()?..=high.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().take(MAX_GPUS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn env(vars: &[(&str, &str)]) -> Result<HookEnv, EnvError> {
        let base = [("SLURMD_NODENAME", "n2"), ("SLURM_JOB_ID", "42")];
        HookEnv::from_map(&base.iter().chain(vars).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn an_epilog_of_22_05() {
        let env = env(&[
            ("SLURM_CLUSTER_NAME", "c"),
            ("SLURM_JOB_UID", "1000"),
            ("SLURM_NODELIST", "n[1-3]"),
            ("SLURM_JOB_GPUS", "0,2,5-7"),
            ("SLURM_JOB_EXIT_CODE", "256"),
            ("SLURM_JOB_RESTART_COUNT", "2"),
        ])
        .unwrap();
        assert_eq!(env.nodes.len(), 3);
        assert_eq!(env.gpus, [0, 2, 5, 6, 7]);
        assert_eq!(env.exit, Some(ExitStatus::Exit(1)));
        assert_eq!((env.restart, env.start, env.het), (2, None, None));
    }

    #[test]
    fn an_epilog_of_24_11() {
        let env = env(&[
            ("SLURM_JOB_NODELIST", "n2,n[5-6]"),
            ("SLURM_NODELIST", "other"),
            ("SLURM_JOB_START_TIME", "1800000000"),
            ("SLURM_HET_JOB_ID", "40"),
            ("SLURM_CONF", "/run/slurm/conf/slurm.conf"),
        ])
        .unwrap();
        assert_eq!(env.nodes, ["n2", "n5", "n6"].map(NodeName::from));
        assert_eq!(env.start, Some(Stamp::from_secs(1_800_000_000)));
        assert_eq!((env.het, env.slurm_conf.as_deref()), (Some(40), Some("/run/slurm/conf/slurm.conf")));
    }

    #[test]
    fn a_node_list_that_cannot_be_read_makes_nobody_the_batch_host() {
        assert_eq!(env(&[("SLURM_NODELIST", "n[1-")]).unwrap().nodes, [NodeName::from(UNREADABLE)]);
        assert_eq!(env(&[]).unwrap().nodes, []);
    }

    #[test]
    fn what_slurm_leaves_out_is_not_made_up() {
        let env =
            env(&[("SLURM_JOB_UID", ""), ("SLURM_HET_JOB_ID", "0"), ("SLURM_JOB_START_TIME", "0")]).unwrap();
        assert_eq!((env.uid, env.het, env.start, env.exit), (u32::MAX, None, None, None));
        assert_eq!((env.cluster.as_str(), env.restart), ("", 0));
    }

    #[test]
    fn a_job_ended_by_a_signal() {
        assert_eq!(env(&[("SLURM_JOB_EXIT_CODE", "9")]).unwrap().exit, Some(ExitStatus::Signal(9)));
    }

    #[test]
    fn gpus_by_uuid_are_no_indices() {
        assert_eq!(env(&[("SLURM_JOB_GPUS", "GPU-1234,MIG-1")]).unwrap().gpus, Vec::<u32>::new());
    }

    #[test]
    fn gpus_made_to_fill_memory_are_cut() {
        assert!(env(&[("SLURM_JOB_GPUS", "0-4294967295")]).unwrap().gpus.len() <= 256);
    }

    #[test]
    fn a_node_name_that_leaves_its_folder_is_refused() {
        let vars = BTreeMap::from([
            ("SLURMD_NODENAME".to_owned(), "../../etc".to_owned()),
            ("SLURM_JOB_ID".to_owned(), "1".to_owned()),
        ]);
        assert!(matches!(HookEnv::from_map(&vars), Err(EnvError::Bad { .. })));
    }

    #[test]
    fn outside_of_slurmd_it_says_what_is_missing() {
        assert!(HookEnv::from_map(&BTreeMap::new()).unwrap_err().to_string().contains("run by slurmd"));
    }

    proptest! {
        #[test]
        fn any_environment_is_answered(values in proptest::collection::vec(".{0,40}", 6)) {
            let names = ["SLURM_NODELIST", "SLURM_JOB_GPUS", "SLURM_JOB_EXIT_CODE", "SLURM_HET_JOB_ID",
                "SLURM_JOB_START_TIME", "SLURM_JOB_UID"];
            let vars: Vec<(&str, &str)> = names.into_iter().zip(values.iter().map(String::as_str)).collect();
            let _ = env(&vars);
        }
    }
}
