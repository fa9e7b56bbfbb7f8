//! Hooks that do what a test writes into a file, so that facts about Slurm can be tried without the suite.

use crate::cluster::Cluster;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// Each stub runs DIR/stub/NAME if a test has put it there; DIR is the cluster's folder.
const STUB: &str = "#!/bin/sh
dir=${0%/hooks/*} name=${0##*/triage-}
[ ! -e \"$dir/stub/$name\" ] || . \"$dir/stub/$name\"
exit 0
";

/// A folder that `scripts/cluster up --hooks` takes for a build of the suite.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let programs = ["triage-prolog", "triage-epilog", "triage-healthcheck", "triage-probe", "slurm-triage"];
    for program in programs {
        let path = folder.path().join(program);
        fs::write(&path, STUB).expect("a stub is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a stub is made executable");
    }
    fs::write(folder.path().join("libnvidia_ml.so"), "").expect("a stub is written");
    folder
}

/// From now on the hook (`prolog`, `epilog`, `healthcheck`) runs this shell text; `$dir` is the cluster's folder.
pub(crate) fn set(cluster: &Cluster, hook: &str, text: &str) {
    let folder = cluster.dir().join("stub");
    fs::create_dir_all(&folder).expect("the stub folder is made");
    let new = folder.join(format!("{hook}.new"));
    fs::write(&new, text).expect("a stub's text is written");
    fs::rename(&new, folder.join(hook)).expect("a stub's text is put in place");
}

/// From now on every hook does nothing.
pub(crate) fn forget_all(cluster: &Cluster) {
    let folder = cluster.dir().join("stub");
    cluster.wait_for("the stubs are gone", || {
        // A hook that still runs may write while the folder goes. Missing is what we want.
        let _ = fs::remove_dir_all(&folder);
        (!folder.exists()).then_some(())
    });
}
