//! NVML that does not answer: jobs go on, the hang is on record, and nobody is drained for it.

use super::drill;
use crate::shared;
use std::thread;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_hung_nvml_delays_no_job_and_is_probed_by_one_process() {
    let cluster = shared::lend_suite();
    // Short enough for a test, longer than two jobs, of whose epilogs one waits four seconds less than it may take: the simulated
    // NVML hangs until it is mended.
    cluster.configure("deadlines", "probe_ms", "25000");
    cluster.configure("deadlines", "epilog_ms", "8000");
    cluster.hang_nvml("n1");
    thread::scope(|scope| {
        let check = scope.spawn(|| cluster.health_check("n1"));
        let probes = || cluster.hook_processes("/nodes/n1/gpus.toml");
        let hung = cluster.wait_for("the probe hangs", || probes().first().map(|(pid, _)| *pid));
        // A job that fails has its epilog look at NVML, one that goes well does not.
        for (script, state) in [("exit 7", "FAILED"), ("exit 0", "COMPLETED")] {
            let id = cluster.sbatch(&["--gres=gpu:8"], script);
            let job = cluster.wait_done(&id);
            assert_eq!((job.states(), job.get("NodeList")), (vec![state], "n1"));
        }
        let pids: Vec<u32> = probes().iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids, [hung], "the jobs did not wait for it, and nobody started another");
        assert!(check.join().expect("the health check was run").ok());
    });
    let blind =
        "SELECT hung_pid IS NOT NULL AS hung FROM sources WHERE source = 'nvml' AND blind_since IS NOT NULL";
    assert_ne!(cluster.ledger_value("n1", blind), "", "NVML counts as not read");
    let events = cluster.ledger_value("n1", "SELECT count(*) FROM events WHERE code = 'triage.source_hung'");
    assert_ne!(events, "0", "the hang is on record");
    assert!(!drill::is_out(&cluster, "n1"));
    assert_eq!(cluster.ledger("n1", "SELECT * FROM actions").len(), 0);
    cluster.mend("n1");
    cluster.wait_for("the probe that hung is gone", || {
        cluster.hook_processes("/nodes/n1/gpus.toml").is_empty().then_some(())
    });
    assert!(cluster.health_check("n1").ok());
    assert_eq!(cluster.ledger_value("n1", blind), "", "NVML is read again");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_epilog_ends_at_its_deadline_when_nvml_hangs_under_its_own_probe() {
    let cluster = shared::lend_suite();
    cluster.configure("deadlines", "epilog_ms", "6000");
    cluster.hang_nvml("n1");
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::end(&cluster, &id);
    assert!(cluster.wait_done(&id).is("FAILED"));
    let hung = "SELECT count(*) FROM events WHERE code = 'triage.source_hung'";
    assert_eq!(cluster.ledger_value("n1", hung), "1");
    assert_eq!(
        cluster.ledger_value("n1", "SELECT ended_with FROM v_jobs"),
        "exit 1",
        "the pass was finished"
    );
    assert!(!drill::is_out(&cluster, "n1"));
}
