//! GPUs as Slurm hands them out.

use crate::cluster::Cluster;
use crate::shared;
use std::collections::BTreeSet;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn every_node_is_idle_with_all_its_gpus() {
    let cluster = shared::lend();
    for name in ["n1", "n2", "n3", "n4"] {
        let node = cluster.node(name);
        assert_eq!(node.get("Gres"), "gpu:8");
        assert_eq!(node.states(), ["IDLE"]);
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn two_jobs_on_a_node_never_share_a_gpu() {
    let cluster = shared::lend();
    let script = "echo $CUDA_VISIBLE_DEVICES; sleep 300";
    let args = ["--gres=gpu:4", "--nodelist=n1"];
    let jobs = [cluster.sbatch(&args, script), cluster.sbatch(&args, script)];
    let devices: Vec<BTreeSet<String>> = jobs.iter().map(|id| devices(&cluster, id)).collect();
    assert_eq!(devices[0].len(), 4, "{devices:?}");
    assert_eq!(devices[0].union(&devices[1]).count(), 8, "{devices:?}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_runs_and_writes_as_its_user() {
    let cluster = shared::lend();
    let id = cluster.submit("nobody", &["--gres=gpu:1", "--nodes=2"], "srun --ntasks-per-node=1 id -un");
    assert!(cluster.wait_done(&id).is("COMPLETED"));
    assert_eq!(cluster.output(&id), "nobody\nnobody\n");
}

fn devices(cluster: &Cluster, id: &str) -> BTreeSet<String> {
    let line = cluster.wait_for("the job names its GPUs", || {
        let text = cluster.output(id);
        text.lines().next().filter(|_| text.ends_with('\n')).map(str::to_owned)
    });
    line.split(',').map(str::to_owned).collect()
}
