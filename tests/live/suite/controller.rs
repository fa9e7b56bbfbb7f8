//! A controller that does not answer: nothing waits for it, and what was wanted is done once it is back.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;
use crate::tend::replace;
use std::fs;
use std::path::PathBuf;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_epilog_without_its_controller_ends_and_its_wishes_are_done_later() {
    let cluster = shared::lend_suite();
    cluster.configure("slurm", "command_deadline_ms", "3000");
    cluster.spy();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    // slurmd runs the epilog because the controller told it to: so the controller goes only then.
    let gate = Gate::put_before_the_epilog(&cluster);
    drill::end(&cluster, &id);
    gate.wait_for_the_epilog(&cluster);
    cluster.stop("slurmctld");
    gate.open();
    cluster.wait_for("the epilog has ended", || gate.rc());
    assert_eq!(gate.rc().as_deref(), Some("0"));
    let waiting = "SELECT count(*) FROM actions WHERE state = 'pending' AND kind IN ('drain', 'requeue')";
    assert_eq!(cluster.ledger_value("n1", waiting), "2");
    // Health checks without a controller change nothing and lose nothing.
    assert!(cluster.health_check("n1").ok());
    assert_eq!(cluster.ledger_value("n1", waiting), "2");
    cluster.start("slurmctld");
    cluster
        .wait_for("the controller answers", || cluster.scontrol(&["ping"]).out.contains("UP").then_some(()));
    let job = cluster.wait_for("the job runs again", || {
        cluster.health_check("n1");
        cluster.job(&id).filter(|job| job.is("RUNNING") && job.get("Restarts") == "1")
    });
    assert_eq!((job.get("NodeList"), job.get("ExcNodeList")), ("n2", "n1"), "{job}");
    drill::wait_our_drain(&cluster, "n1");
    assert_eq!((cluster.obeyed(&["State=DRAIN"]), cluster.obeyed(&["requeue "])), (1, 1));
}

/// Stands before the epilog of every node until it is opened.
struct Gate {
    folder: PathBuf,
}

impl Gate {
    fn put_before_the_epilog(cluster: &Cluster) -> Self {
        let folder = cluster.dir().join("jobs/gate");
        fs::create_dir_all(&folder).expect("a folder for the gate");
        let bin = cluster.dir().join("bin/epilog");
        let hook = fs::read_to_string(&bin).expect("the epilog's wrapper").replace("exec ", "");
        let text = format!(
            "#!/bin/sh
PATH=/usr/bin:/bin gate={}
: >$gate/begun; i=0
while [ ! -e $gate/open ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done
(unset PATH
{hook})
rc=$?
echo $rc >$gate/rc.new; mv $gate/rc.new $gate/rc
exit $rc
",
            folder.display()
        );
        replace(&bin, &text);
        Self { folder }
    }

    fn wait_for_the_epilog(&self, cluster: &Cluster) {
        cluster.wait_for("the epilog begins", || self.folder.join("begun").exists().then_some(()));
    }

    fn open(&self) {
        fs::write(self.folder.join("open"), "").expect("the gate opens");
    }

    fn rc(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("rc")).ok().map(|text| text.trim().to_owned())
    }
}
