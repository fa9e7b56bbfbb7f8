//! Clusters lent to one test after the other: bringing one up once is quicker.

use crate::cluster::{Cluster, Options};
use crate::{stub, tend};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

type Shared = LazyLock<Mutex<Cluster>>;

static STUBS: Shared = LazyLock::new(|| {
    let hooks = stub::folder();
    let path = hooks.path().to_str().expect("the temporary folder's path is UTF-8");
    let options =
        Options::default().with("--hooks", path).with("--health-interval", "2").switch("--no-plugin");
    Mutex::new(Cluster::up(&options))
});

/// Two, so that one test's waiting is another's working.
static SUITES: [Shared; 2] = [LazyLock::new(suite), LazyLock::new(suite)];

/// The suite itself, allowed to act; health checks run when a test runs them.
fn suite() -> Mutex<Cluster> {
    let cluster = tend::up(Options::default());
    tend::remember(&cluster);
    Mutex::new(cluster)
}

/// A shared cluster, this test's alone until dropped.
pub(crate) struct Lent(MutexGuard<'static, Cluster>);

/// Borrows the cluster with stub hooks: no jobs, every node idle, hooks that do nothing.
pub(crate) fn lend() -> Lent {
    // A test that failed before this one says nothing about the cluster, which is put in order anyway.
    let cluster = STUBS.lock().unwrap_or_else(PoisonError::into_inner);
    stub::forget_all(&cluster);
    put_in_order(&cluster);
    Lent(cluster)
}

/// Borrows a cluster with the suite on it, in act mode: no jobs, every node idle and healthy, empty ledgers.
pub(crate) fn lend_suite() -> Lent {
    let cluster = free(&SUITES);
    tend::stop(&cluster);
    put_in_order(&cluster);
    tend::begin_anew(&cluster);
    Lent(cluster)
}

/// The first that nobody has.
fn free(clusters: &'static [Shared]) -> MutexGuard<'static, Cluster> {
    loop {
        for cluster in clusters {
            match cluster.try_lock() {
                Ok(cluster) => return cluster,
                Err(TryLockError::Poisoned(error)) => return error.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Deref for Lent {
    type Target = Cluster;
    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.show_logs();
        }
    }
}

/// Ends every job and brings every node back into service.
pub(crate) fn put_in_order(cluster: &Cluster) {
    // A test that failed may have left it without its controller.
    if !cluster.scontrol(&["ping"]).out.contains("UP") {
        cluster.up_again(&Options::default());
    }
    cluster.wait_for("the queue is empty", || {
        let queue = cluster.run(&["squeue", "--noheader", "--all", "--format=%A"]);
        let jobs: Vec<&str> = queue.out.split_whitespace().collect();
        if queue.ok() && jobs.is_empty() {
            return Some(());
        }
        // More than once: the epilog of a job may still put it back into the queue. By their ids: scancel of 26.05 knows no
        // user nobody.
        cluster.run(&["scancel", "--quiet", "--full", "--signal=KILL", "--state=RUNNING"]);
        cluster.run(&[&["scancel", "--quiet"], &jobs[..]].concat());
        std::thread::sleep(Duration::from_millis(200));
        None
    });
    // What a test that failed has left.
    cluster.scontrol(&["delete", "reservationname=test"]);
    for name in ["n1", "n2", "n3", "n4"] {
        if !cluster.node(name).get("Reason").is_empty() {
            cluster.scontrol(&["update", &format!("nodename={name}"), "state=resume"]).success("resume");
        }
        cluster.scontrol(&["update", &format!("nodename={name}"), "comment=", "extra="]);
        // A resumed node is IDLE+NOT_RESPONDING, and gets no job, until it has answered a ping.
        cluster.wait_for("the node is idle", || (cluster.node(name).states() == ["IDLE"]).then_some(()));
    }
}
