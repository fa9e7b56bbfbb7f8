//! A hook that is killed at any of its calls acts once or not at all, and the next pass settles what it left.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

/// The calls of an epilog that drains and requeues: it reads node, job and the other nodes to decide, then for each
/// action reads again and acts.
const CALLS: [&str; 8] = [
    "-o show node n",
    "-o show job ",
    "-o show node",
    "-o show node n",
    "update NodeName=n",
    "-o show job ",
    "requeue ",
    "update JobId=",
];

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_epilog_killed_during_a_call_acts_once_or_not_at_all() {
    kill_at_every_call("during");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_epilog_killed_before_a_call_acts_once_or_not_at_all() {
    kill_at_every_call("before");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_epilog_killed_after_a_call_acts_once_or_not_at_all() {
    kill_at_every_call("after");
}

/// Three nodes break at a time, each under a job of its own and with another call to die at; n4 takes what moves.
fn kill_at_every_call(when: &str) {
    let cluster = shared::lend_suite();
    for first in [1, 4, 7] {
        cluster.spy();
        // Three of four nodes at a time are more than the brakes allow.
        cluster.policy(|text| text.replacen("min_nodes = 2", "min_nodes = 3", 1));
        let victims: Vec<Victim> = (first..first + 3)
            .filter(|at| *at <= CALLS.len())
            .zip(1..)
            .map(|(at, number)| Victim::begin(&cluster, number, when, at))
            .collect();
        victims.iter().for_each(|victim| victim.crash(&cluster));
        victims.iter().for_each(|victim| victim.settle(&cluster));
        drop(victims);
        again_from_the_start(&cluster);
    }
}

fn again_from_the_start(cluster: &Cluster) {
    crate::shared::put_in_order(cluster);
    crate::tend::begin_anew(cluster);
}

struct Victim {
    node: String,
    job: String,
    when: String,
    at: usize,
}

impl Victim {
    fn begin(cluster: &Cluster, number: usize, when: &str, at: usize) -> Self {
        let node = format!("n{number}");
        let others = (1..4).filter(|n| *n != number).map(|n| format!("n{n}")).collect::<Vec<_>>().join(",");
        let job = drill::running(cluster, &["--gres=gpu:2", &format!("--exclude={others}")]);
        assert_eq!(cluster.job(&job).expect("the job is known").get("NodeList"), node);
        cluster.kill_hook(&node, when, u32::try_from(at).expect("a small number"));
        Self { node, job, when: when.to_owned(), at }
    }

    /// The epilog begins, and dies at the call it was to die at.
    fn crash(&self, cluster: &Cluster) {
        drill::lose_gpu(cluster, &self.node, 3);
        drill::end(cluster, &self.job);
        let calls = cluster.wait_for("the hook dies", || {
            Some(cluster.calls(&self.node)).filter(|calls| calls.len() >= self.at)
        });
        for (made, wanted) in calls.iter().zip(CALLS).take(self.at) {
            assert!(made.starts_with(wanted), "{self}: {calls:?}");
        }
        cluster.wait_killed(&self.node);
        cluster.wait_for("the epilog is over", || {
            let job = cluster.job(&self.job)?;
            (!job.is("COMPLETING") && !job.is("RUNNING")).then_some(())
        });
        assert_eq!(cluster.calls(&self.node).len(), self.at, "{self}: it died there");
    }

    /// Health checks come, and what they find is settled.
    fn settle(&self, cluster: &Cluster) {
        // Before the third answer nothing is on record, so nobody knows of the job; the kernel's line is read again.
        let recorded = self.at > 3;
        cluster.wait_for(&format!("{self}: the next passes settle it"), || {
            cluster.health_check(&self.node);
            let open = "SELECT count(*) FROM actions WHERE state IN ('pending', 'running')";
            (cluster.ledger_value(&self.node, open) == "0" && drill::is_out(cluster, &self.node))
                .then_some(())
        });
        drill::wait_our_drain(cluster, &self.node);
        let drains = cluster.obeyed(&[&format!("NodeName={}", self.node), "State=DRAIN"]);
        assert_eq!(drains, 1, "{self}: drained once");
        if recorded {
            let job = drill::again(cluster, &self.job);
            assert_eq!(job.get("NodeList"), "n4", "{self}: {job}");
            assert!(job.get("ExcNodeList").contains("n["), "{self}: {job}");
        }
        let requeues = cluster.obeyed(&["requeue ", &self.job]);
        assert_eq!(requeues, usize::from(recorded), "{self}: requeued once or not at all");
        let restarts = cluster.job(&self.job).expect("the job is known").get("Restarts").to_owned();
        assert_eq!(restarts, usize::from(recorded).to_string(), "{self}");
    }
}

impl std::fmt::Display for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} killed {} call {} ({})", self.node, self.when, self.at, CALLS[self.at - 1])
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_whose_finisher_was_killed_does_not_wait_two_minutes() {
    let cluster = shared::lend_suite();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    // It has to call scontrol to do anything, and the spy kills whoever makes the call after the epilog's last.
    cluster.spy();
    let finishers_first = u32::try_from(CALLS.len()).expect("a small number") + 1;
    cluster.kill_hook("n1", "before", finishers_first);
    drill::end(&cluster, &id);
    cluster.wait_for("the job waits for its begin time", || {
        cluster.job(&id).filter(|job| job.get("Reason") == "BeginTime")
    });
    cluster.wait_for("the finisher is dead", || {
        let called = cluster.calls("n1").len() > CALLS.len();
        (called && cluster.hook_processes("--finish").is_empty()).then_some(())
    });
    // One of the next health checks does it: the first may find the job's second not over yet.
    cluster.wait_for("a health check has cleared it", || {
        assert!(cluster.health_check("n1").ok());
        cluster.job(&id).filter(|job| job.is("RUNNING"))
    });
    drill::again(&cluster, &id);
    assert_eq!(drill::wait_settled(&cluster, "n1"), ["clear_begin_time done", "drain done", "requeue done"]);
}
