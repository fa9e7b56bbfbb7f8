//! The other nodes of the cluster, as far as a drain has to know of them.
use serde::{Deserialize, Serialize};

use crate::policy::Brakes;
use crate::{JobSpan, NodeName, NodeRecord, Stamp, reason};

/// The name of the gate that says whether a brake holds a drain.
pub const BRAKE: &str = "brake";

/// The nodes' records, and the leaf switch of the node that asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// All nodes of the cluster; where `few`, some of them.
    pub nodes: Vec<NodeRecord>,
    /// Only some nodes were asked for, and how large a partition is cannot be told from them.
    pub few: bool,
    /// The leaf switch this node hangs on, from `topology.yaml` or `topology.conf`, where there is one.
    pub switch: Option<Switch>,
    /// Why no switch is known, where there is such a file and it does not tell.
    pub no_switch: Option<String>,
}

/// A leaf switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// The nodes below it.
    pub nodes: Vec<NodeName>,
}

/// One brake: at most so many of those in its scope are out by us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// At most so many.
    pub most: u32,
    /// Whom it counts.
    pub scope: Scope,
}

/// Whom a brake counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every node.
    Cluster,
    /// Nodes taken out since then.
    Window(Stamp),
    /// Nodes of a partition.
    Partition(String),
    /// Nodes below a switch.
    Switch {
        /// Its name.
        name: String,
        /// The nodes below it.
        nodes: Vec<NodeName>,
    },
    /// Nodes of a run, taken out since it began.
    Job {
        /// Its job id.
        job: u32,
        /// When it began.
        since: Stamp,
        /// Its nodes.
        nodes: Vec<NodeName>,
    },
}

/// Clocks of a node and of the controller may differ by so much, seconds.
const CLOCKS_APART_S: i64 = 60;

/// The brakes that a drain of `node` has to pass. `spans` are the runs that may have to do with it.
pub fn limits<'a>(
    brakes: &Brakes,
    fleet: &Fleet,
    node: &NodeName,
    now: Stamp,
    spans: impl IntoIterator<Item = &'a JobSpan>,
) -> Vec<Limit> {
    let since = now.plus_secs(-i64::from(brakes.window_s));
    let mut limits = vec![
        Limit { most: brakes.max_nodes, scope: Scope::Cluster },
        Limit { most: brakes.max_in_window, scope: Scope::Window(since) },
    ];
    limits.extend(of_place(brakes, fleet, node));
    limits.extend(spans.into_iter().filter(|span| span.nodes.len() > 1).map(|span| Limit {
        most: brakes.max_per_job,
        scope: Scope::Job {
            job: span.run.job,
            since: span.run.start.plus_secs(-CLOCKS_APART_S),
            nodes: span.nodes.clone(),
        },
    }));
    limits
}

/// Those of its partitions and its leaf switch, which can only be told from all the nodes' records.
pub fn of_place(brakes: &Brakes, fleet: &Fleet, node: &NodeName) -> Vec<Limit> {
    let mine = fleet.nodes.iter().filter(|record| !fleet.few && record.node == *node);
    let partitions = mine.flat_map(|record| &record.partitions);
    let partitions = partitions.map(|name| {
        let size = fleet.nodes.iter().filter(|record| record.partitions.contains(name)).count();
        Limit { most: brakes.of_partition(size), scope: Scope::Partition(name.clone()) }
    });
    let switch = fleet.switch.iter().map(|switch| Limit {
        most: brakes.max_per_switch,
        scope: Scope::Switch { name: switch.name.clone(), nodes: switch.nodes.clone() },
    });
    partitions.chain(switch).collect()
}

/// The first brake that holds `node`, in words. A node in service counts everybody that is out by us. One that is out
/// by us itself counts those that went before it, by the controller's time and then by name: of many that went at
/// once, all see the same order, so exactly those beyond the limit find themselves beyond it.
pub fn held(limits: &[Limit], nodes: &[NodeRecord], node: &NodeName) -> Option<String> {
    let order = |record: &NodeRecord| (record.reason_at.unwrap_or_default(), record.node.clone());
    let mine = nodes.iter().find(|record| record.node == *node && is_out_by_us(record)).map(order);
    let before = |record: &&NodeRecord| {
        record.node != *node && is_out_by_us(record) && mine.as_ref().is_none_or(|mine| order(record) < *mine)
    };
    let out: Vec<&NodeRecord> = nodes.iter().filter(before).collect();
    limits.iter().find_map(|limit| {
        let count = out.iter().filter(|record| limit.scope.counts(record)).count();
        (u32::try_from(count).unwrap_or(u32::MAX) >= limit.most)
            .then(|| format!("{} out by us already, at most {}", limit.scope.words(count), limit.most))
    })
}

/// Whether the node is out of service for a reason of ours.
pub fn is_out_by_us(record: &NodeRecord) -> bool {
    record.is_out() && reason::is_ours(&record.reason)
}

impl Scope {
    fn counts(&self, record: &NodeRecord) -> bool {
        let since = |since: &Stamp| record.reason_at.is_none_or(|at| at >= *since);
        match self {
            Self::Cluster => true,
            Self::Window(from) => since(from),
            Self::Partition(name) => record.partitions.contains(name),
            Self::Switch { nodes, .. } => nodes.contains(&record.node),
            Self::Job { since: from, nodes, .. } => since(from) && nodes.contains(&record.node),
        }
    }

    fn words(&self, count: usize) -> String {
        let (nodes, are) = if count == 1 { ("node", "is") } else { ("nodes", "are") };
        let scope = match self {
            Self::Cluster => "of the cluster".to_owned(),
            Self::Window(since) => format!("since {since}"),
            Self::Partition(name) => format!("of partition {name}"),
            Self::Switch { name, .. } => format!("on switch {name}"),
            Self::Job { job, .. } => format!("of job {job}"),
        };
        format!("{count} {nodes} {scope} {are}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(name: &str, out_at: Option<i64>) -> NodeRecord {
        NodeRecord {
            node: NodeName::from(name),
            state: vec![if out_at.is_some() { "DRAINED" } else { "IDLE" }.to_owned()],
            reason: out_at.map(|_| "slurm-triage: xid.79 gpu [case 1]".to_owned()).unwrap_or_default(),
            reason_at: out_at.map(Stamp::from_secs),
            partitions: vec!["p".to_owned()],
            ..NodeRecord::default()
        }
    }

    fn cluster(most: u32) -> Vec<Limit> {
        vec![Limit { most, scope: Scope::Cluster }]
    }

    #[test]
    fn a_node_in_service_waits_while_as_many_as_allowed_are_out() {
        let nodes = [record("n1", Some(5)), record("n2", Some(9)), record("n3", None)];
        let me = NodeName::from("n3");
        let told = |nodes: &[NodeRecord], most| held(&cluster(most), nodes, &me).unwrap();
        assert_eq!(told(&nodes, 2), "2 nodes of the cluster are out by us already, at most 2");
        assert_eq!(told(&nodes[1..], 1), "1 node of the cluster is out by us already, at most 1");
        assert_eq!(held(&cluster(3), &nodes, &me), None);
        assert!(held(&cluster(0), &nodes, &me).is_some(), "none at all may go");
    }

    #[test]
    fn drains_of_others_are_not_ours_to_count() {
        let foreign = NodeRecord { reason: "bad fan".to_owned(), ..record("n1", Some(1)) };
        assert_eq!(held(&cluster(1), &[foreign, record("n2", None)], &NodeName::from("n2")), None);
    }

    #[test]
    fn windows_runs_and_switches_count_their_own() {
        let nodes = [record("n1", Some(100)), record("n2", Some(900)), record("n3", None)];
        let me = NodeName::from("n3");
        let is_held = |scope| held(&[Limit { most: 1, scope }], &nodes, &me).is_some();
        assert!(is_held(Scope::Window(Stamp::from_secs(900))));
        assert!(!is_held(Scope::Window(Stamp::from_secs(901))));
        assert!(!is_held(Scope::Partition("q".to_owned())));
        assert!(is_held(Scope::Partition("p".to_owned())));
        let n1 = vec![NodeName::from("n1")];
        assert!(is_held(Scope::Switch { name: "s1".to_owned(), nodes: n1.clone() }));
        assert!(!is_held(Scope::Job { job: 1, since: Stamp::from_secs(101), nodes: n1 }));
    }

    #[test]
    fn defaults_leave_a_small_cluster_most_of_its_nodes_and_a_large_one_a_bound() {
        for (size, most) in [(1, 2), (8, 2), (20, 2), (64, 6), (100, 10), (5_000, 500)] {
            assert_eq!(Brakes::default().of_partition(size), most, "{size}");
        }
        let nodes: Vec<NodeRecord> = (0..8).map(|n| record(&format!("n{n}"), None)).collect();
        let fleet = Fleet { nodes, ..Fleet::default() };
        let limits = limits(&Brakes::default(), &fleet, &NodeName::from("n1"), Stamp::from_secs(0), []);
        assert_eq!(limits.iter().map(|limit| limit.most).collect::<Vec<_>>(), [32, 4, 2]);
    }

    proptest! {
        /// Whatever the order of the controller's clock: of those that went at once exactly the allowed number stays.
        #[test]
        fn of_many_that_went_at_once_exactly_the_allowed_number_stays(
            times in proptest::collection::vec(0_i64..4, 1..40),
            most in 0_u32..12,
        ) {
            let nodes: Vec<NodeRecord> =
                times.iter().enumerate().map(|(n, at)| record(&format!("n{n}"), Some(*at))).collect();
            let stay = nodes.iter().filter(|r| held(&cluster(most), &nodes, &r.node).is_none()).count();
            prop_assert_eq!(stay, nodes.len().min(most as usize));
        }
    }
}
