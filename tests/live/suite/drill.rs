//! A job that ends when the test wants it to, and a GPU that is lost under it.

use crate::cluster::Cluster;
use crate::record::Record;
use crate::tend::replace;
use std::fs;

/// PCI addresses of the simulated GPUs, as the kernel prints them.
const PCI: [&str; 4] = ["0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00"];

/// A GPU that wants a reset, which NVML reads as healthy again afterwards.
pub(super) const XID_95: &str =
    "NVRM: Xid (PCI:0000:61:00): 95, pid=1, name=python3, Uncontained ECC error detected";

/// A batch script whose first run lasts until [`end`] and then does `ending`; a later run goes on for long. Both leave a
/// mark, for [`print_away`].
pub(super) fn script(cluster: &Cluster, ending: &str) -> String {
    script_after(cluster, ":", ending)
}

/// [`script`] with something to do first.
pub(super) fn script_after(cluster: &Cluster, beginning: &str, ending: &str) -> String {
    format!(
        "[ ${{SLURM_RESTART_COUNT:-0}} -eq 0 ] || {{ : >{0}/jobs/$SLURM_JOB_ID.again; exec sleep 300; }}
         {beginning}
         : >{0}/jobs/$SLURM_JOB_ID.begun
         until [ -e {0}/jobs/$SLURM_JOB_ID.end ]; do sleep 0.05; done
         : >{0}/jobs/$SLURM_JOB_ID.ended
         {ending}",
        cluster.dir_text()
    )
}

/// Submits a job of [`script`] that will fail with exit code 1, and waits until it runs.
pub(super) fn running(cluster: &Cluster, args: &[&str]) -> String {
    let id = cluster.sbatch(args, &script(cluster, "exit 1"));
    wait_begun(cluster, &id);
    id
}

/// Waits until a job of [`script`] runs, its prolog over: Slurm calls it RUNNING before that.
pub(super) fn wait_begun(cluster: &Cluster, id: &str) -> Record {
    cluster.wait_for(&format!("job {id} has begun"), || {
        let mark = cluster.dir().join(format!("jobs/{}.begun", cluster.job(id)?.get("JobId")));
        // The record that was read before the mark was seen may be of a job that waits.
        mark.exists().then(|| cluster.job(id)).flatten()
    })
}

/// Lets the first run of a job end.
pub(super) fn end(cluster: &Cluster, id: &str) {
    let raw = cluster.job(id).expect("the job is known").get("JobId").to_owned();
    fs::write(cluster.dir().join(format!("jobs/{raw}.end")), "").expect("the job is told to end");
}

/// Prints for docs/performance.md how long it took from the end of a job's first run to the first line of its next, on the
/// clock of the filesystem. How fast that is depends on the machine, and is no question of right or wrong.
pub(super) fn print_away(cluster: &Cluster, id: &str, path: &str) {
    let mark = |name: &str| cluster.dir().join(format!("jobs/{id}.{name}"));
    let when = |name: &str| fs::metadata(mark(name)).and_then(|meta| meta.modified()).ok();
    let again = cluster.wait_for("the next run has begun", || when("again"));
    let ended = when("ended").expect("the first run has left its mark");
    let away = again.duration_since(ended).unwrap_or_default().as_secs_f64();
    println!("{path}: {away:.2} s from the job's end to its running again");
}

/// Waits until a reboot that was asked for is under way; `RebootProgram` does nothing here, so bringing the node back into service
/// ends it. One that is cancelled before that leaves the node idle and without jobs (22.05).
pub(super) fn wait_rebooting(cluster: &Cluster, node: &str) {
    cluster.wait_node(node, "REBOOT_ISSUED");
}

/// The GPU falls off the bus: the kernel says so, and NVML no longer finds it.
pub(super) fn lose_gpu(cluster: &Cluster, node: &str, gpu: usize) {
    cluster.kernel_line(node, &xid_79(gpu));
    cluster.break_gpu(node, u32::try_from(gpu).expect("a small number"));
}

/// What the driver prints when a GPU falls off the bus.
pub(super) fn xid_79(gpu: usize) -> String {
    format!("NVRM: Xid (PCI:{}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", PCI[gpu])
}

/// Waits until a job runs again for the first time. A requeued job whose begin time nobody clears waits two
/// minutes, which is longer than a test has patience.
pub(super) fn again(cluster: &Cluster, id: &str) -> Record {
    cluster.wait_for(&format!("job {id} runs again"), || {
        cluster.job(id).filter(|job| job.is("RUNNING") && job.get("Restarts") == "1")
    })
}

/// The drain reason that the node's one case calls for, as the ledger knows it. What state checks find is left out: this
/// machine, which plays the nodes, may have faults of its own.
pub(super) fn reason(cluster: &Cluster, node: &str) -> String {
    let sql = "SELECT id, code, resource FROM v_cases WHERE code NOT LIKE 'check.%'";
    let cases = cluster.ledger(node, sql);
    assert_eq!(cases.len(), 1, "{cases:?}");
    let word = |key: &str| cases[0][key].as_str().unwrap_or_default().to_owned();
    format!("slurm-triage: {} {} [case {}]", word("code"), word("resource"), word("id"))
}

/// From now on the epilog of a job's first node begins once these of its peers have told of the job. As shipped it waits for
/// them a moment only, and a busy machine may well have other things to do in that.
pub(super) fn hear_first(cluster: &Cluster, host: &str, peers: &[&str]) {
    let bin = cluster.dir().join("bin/epilog");
    let hook = fs::read_to_string(&bin).expect("the epilog's wrapper");
    let ours = |line: &&str| !line.starts_with("[ \"$SLURMD_NODENAME\"");
    let mut lines: Vec<String> = hook.lines().filter(ours).map(str::to_owned).collect();
    let told = "grep -q \"slurm_triage.*\\\"job\\\":$SLURM_JOB_ID[,}]\"";
    let waits = peers.iter().map(|peer| {
        format!(
            "[ \"$SLURMD_NODENAME\" != {host} ] || (PATH=/usr/bin:/bin; i=0; until scontrol -o show node {peer} | {told} || \
             [ $i -ge 300 ]; do sleep 0.1; i=$((i+1)); done)"
        )
    });
    let at = lines.len() - 1;
    lines.splice(at..at, waits);
    replace(&bin, &(lines.join("\n") + "\n"));
}

/// Waits until the node is drained, by us and with the reason that its case calls for.
pub(super) fn wait_our_drain(cluster: &Cluster, node: &str) -> Record {
    let record = cluster.wait_node(node, "DRAIN");
    let wanted = format!("{} [root@", reason(cluster, node));
    assert!(record.get("Reason").starts_with(&wanted), "{} is not {wanted}", record.get("Reason"));
    record
}

/// Whether the node is out, for whatever reason.
pub(super) fn is_out(cluster: &Cluster, node: &str) -> bool {
    cluster.node(node).is("DRAIN")
}

/// The gate that held the node's one decision with this intent; empty when none did.
pub(super) fn held_by(cluster: &Cluster, node: &str, intent: &str) -> String {
    let sql = format!("SELECT held_by FROM v_decisions WHERE intent = '{intent}'");
    let rows = cluster.ledger(node, &sql);
    assert_eq!(rows.len(), 1, "decisions to {intent}: {rows:?}");
    rows[0]["held_by"].as_str().unwrap_or_default().to_owned()
}

/// Waits until every intent of the node is settled, and returns kind and state of each, in the order of their kinds. The
/// second look after a drain, which changes nothing where there is only one, is left out.
pub(super) fn wait_settled(cluster: &Cluster, node: &str) -> Vec<String> {
    let sql =
        "SELECT kind || ' ' || state AS line FROM actions WHERE kind <> 'confirm_drain' ORDER BY kind, id";
    cluster.wait_for("every intent is settled", || {
        let rows = cluster.ledger(node, sql);
        let lines: Vec<String> =
            rows.iter().filter_map(|row| row["line"].as_str().map(str::to_owned)).collect();
        let open = |line: &String| line.ends_with(" pending") || line.ends_with(" running");
        (!lines.is_empty() && !lines.iter().any(open)).then_some(lines)
    })
}

/// Puts a rule with these lines before all others.
pub(super) fn first_rule(cluster: &Cluster, lines: &str) {
    cluster.policy(|text| {
        text.replacen("\n[[rule]]\n", &format!("\n[[rule]]\nname = \"as-asked\"\n{lines}\n\n[[rule]]\n"), 1)
    });
}
