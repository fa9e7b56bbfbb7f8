//! Jobs that ask for an expedited requeue (Slurm 25.11 and later; `scripts/test-slurm forky`). Slurm puts such a job
//! back at once when somebody requeues it or an epilog fails, and *held* when nobody does.

use super::drill;
use crate::cluster::{Cluster, Options};
use crate::tend;

/// A cluster that takes `--requeue=expedite`; none on a Slurm that does not know it.
fn cluster() -> Option<Cluster> {
    let cluster = tend::up(Options::default());
    let version = cluster.scontrol(&["-V"]).success("scontrol -V");
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    let mut number = || numbers.next().and_then(|n| n.parse::<u32>().ok()).unwrap_or_default();
    if (number(), number()) < (25, 11) {
        eprintln!("left out: {version} knows no expedited requeue");
        return None;
    }
    cluster.reconfigure("SlurmctldParameters=enable_expedited_requeue");
    cluster.wait_for("the controller has taken it", || {
        let config = cluster.scontrol(&["show", "config"]).success("show config");
        config.contains("enable_expedited_requeue").then_some(())
    });
    Some(cluster)
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_whose_gpu_was_lost_runs_again_elsewhere_and_its_node_is_drained_for_our_reason() {
    let Some(cluster) = cluster() else { return };
    let id = drill::running(&cluster, &["--gres=gpu:8", "--requeue=expedite"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert_eq!(drill::again(&cluster, &id).get("NodeList"), "n2");
    drill::print_away(&cluster, &id, "expedited requeue");
    drill::wait_our_drain(&cluster, "n1");
    let settled = drill::wait_settled(&cluster, "n1");
    assert!(settled.contains(&"requeue done".to_owned()), "{settled:?}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_that_slurm_holds_because_its_program_failed_says_why() {
    let Some(cluster) = cluster() else { return };
    let id = drill::running(&cluster, &["--requeue=expedite"]);
    drill::end(&cluster, &id);
    // The record holds the job's script, which has several lines.
    let record = cluster.wait_for("the held job says why", || {
        let record = cluster.scontrol(&["show", "job", &id]).success("show job");
        record.contains("AdminComment=slurm-triage: held by Slurm").then_some(record)
    });
    assert!(record.contains("not run again: the policy does not ask for it"), "{record}");
    assert!(record.contains("Reason=job_requeued_in_held_state"), "{record}");
    assert!(!drill::is_out(&cluster, "n1"));
}
