//! One cluster with stub hooks, lent to one test after the other: bringing it up once is quicker.

use crate::cluster::{Cluster, Options};
use crate::stub;
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static CLUSTER: LazyLock<Mutex<Cluster>> = LazyLock::new(|| {
    let hooks = stub::folder();
    let path = hooks.path().to_str().expect("the temporary folder's path is UTF-8");
    let options =
        Options::default().with("--hooks", path).with("--health-interval", "2").switch("--no-plugin");
    Mutex::new(Cluster::up(&options))
});

/// The shared cluster, this test's alone until dropped.
pub(crate) struct Lent(MutexGuard<'static, Cluster>);

/// Borrows the shared cluster: no jobs, every node idle, hooks that do nothing.
pub(crate) fn lend() -> Lent {
    // A test that failed before this one says nothing about the cluster, which is put in order anyway.
    let cluster = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    put_in_order(&cluster);
    Lent(cluster)
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

fn put_in_order(cluster: &Cluster) {
    stub::forget_all(cluster);
    cluster.run(&["scancel", "--quiet", "--full", "--signal=KILL", "--state=RUNNING"]);
    cluster.run(&["scancel", "--quiet", "--user=root"]);
    cluster.run(&["scancel", "--quiet", "--user=nobody"]);
    cluster.wait_for("the queue is empty", || {
        let queue = cluster.run(&["squeue", "--noheader", "--all"]);
        (queue.ok() && queue.out.trim().is_empty()).then_some(())
    });
    for name in ["n1", "n2", "n3", "n4"] {
        if !cluster.node(name).get("Reason").is_empty() {
            cluster.scontrol(&["update", &format!("nodename={name}"), "state=resume"]).success("resume");
        }
        cluster.scontrol(&["update", &format!("nodename={name}"), "comment=", "extra="]);
        // A resumed node is IDLE+NOT_RESPONDING, and gets no job, until it has answered a ping.
        cluster.wait_for("the node is idle", || (cluster.node(name).states() == ["IDLE"]).then_some(()));
    }
}
