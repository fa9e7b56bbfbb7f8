//! What holds an action back that every piece of evidence asks for, gate by gate. Others are in `left_alone`, `foreign`,
//! `people`, `plugin`, `monitor` and `brakes`.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

/// n1's GPU is lost while it is idle; the gate that held its drain.
fn lose_n1_idle(cluster: &Cluster) -> String {
    drill::lose_gpu(cluster, "n1", 3);
    assert!(cluster.health_check("n1").ok());
    drill::held_by(cluster, "n1", "drain")
}

/// A job on n1 whose GPU is lost fails; the gate that held its requeue.
fn lose_n1_under_a_job(cluster: &Cluster, user: &str, args: &[&str]) -> String {
    let args = [&["--gres=gpu:8"], args].concat();
    let id = cluster.submit(user, &args, &drill::script(cluster, "exit 1"));
    drill::wait_begun(cluster, &id);
    drill::lose_gpu(cluster, "n1", 3);
    drill::end(cluster, &id);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "0"), "{job}");
    drill::held_by(cluster, "n1", "requeue")
}

/// Puts a line behind the head of a section of the policy.
fn section(cluster: &Cluster, name: &str, line: &str) {
    cluster.policy(|text| text.replacen(&format!("\n[{name}]\n"), &format!("\n[{name}]\n{line}\n"), 1));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_on_the_list_of_exceptions_stays_and_its_job_goes_on_elsewhere() {
    let cluster = shared::lend_suite();
    section(&cluster, "except", "nodes = [\"n[1,4]\"]");
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert_eq!(drill::again(&cluster, &id).get("NodeList"), "n2");
    assert_eq!(drill::held_by(&cluster, "n1", "drain"), "exception");
    assert!(!drill::is_out(&cluster, "n1"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_partition_on_the_list_of_exceptions_keeps_its_nodes_and_jobs_as_they_are() {
    let cluster = shared::lend_suite();
    section(&cluster, "except", "partitions = [\"ma*\"]");
    cluster.spy();
    assert_eq!(lose_n1_under_a_job(&cluster, "nobody", &[]), "exception");
    assert_eq!(drill::held_by(&cluster, "n1", "drain"), "exception");
    assert!(!drill::is_out(&cluster, "n1"));
    assert_eq!((cluster.obeyed(&["State="]), cluster.obeyed(&["requeue"])), (0, 0));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn jobs_of_an_excepted_user_or_account_end_as_they_ended() {
    let cluster = shared::lend_suite();
    section(&cluster, "except", "users = [\"nobody\"]");
    assert_eq!(lose_n1_under_a_job(&cluster, "nobody", &[]), "exception");
    drill::wait_our_drain(&cluster, "n1");
    drop(cluster);
    let cluster = shared::lend_suite();
    section(&cluster, "except", "accounts = [\"phys*\"]");
    assert_eq!(lose_n1_under_a_job(&cluster, "daemon", &["--account=physics"]), "exception");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_that_somebody_has_reserved_is_left_to_them() {
    for flags in ["maint,ignore_jobs", "ignore_jobs"] {
        let cluster = shared::lend_suite();
        let asked = format!("flags={flags}");
        let reservation = ["create", "reservation", "reservationname=test", "user=daemon", "nodes=n1"];
        let when = ["starttime=now", "duration=10", &asked];
        cluster.scontrol(&[&reservation[..], &when].concat()).success("create reservation");
        let told = cluster.wait_for("the reservation begins", || {
            let node = cluster.node("n1");
            (node.is("MAINT") || node.is("MAINTENANCE") || node.is("RESERVED")).then_some(node)
        });
        assert_eq!(lose_n1_idle(&cluster), "reservation", "{told}");
        assert!(!drill::is_out(&cluster, "n1"));
        cluster.scontrol(&["delete", "reservationname=test"]).success("delete reservation");
        cluster.wait_node("n1", "IDLE");
        cluster.wait_for("the node is nobody's again", || {
            cluster.health_check("n1");
            drill::is_out(&cluster, "n1").then_some(())
        });
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_rule_that_cannot_be_ruled_out_holds_the_wider_one() {
    let cluster = shared::lend_suite();
    // Nobody's job is on the idle node, so whose it is cannot be told.
    drill::first_rule(&cluster, "user = [\"daemon\"]\nnode = \"note\"");
    assert_eq!(lose_n1_idle(&cluster), "facts");
    assert!(!drill::is_out(&cluster, "n1"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_site_that_asks_for_more_certainty_than_there_is_gets_no_drain() {
    let cluster = shared::lend_suite();
    drill::first_rule(&cluster, "confidence = \"probable\"\nnode = \"drain\"\njob = \"note\"");
    cluster.policy(|text| text.replace("min_confidence = \"probable\"", "min_confidence = \"confirmed\""));
    // An interrupt alone that does not say which device raised it: likely, not sure.
    cluster.kernel_line("n1", "NMI: PCI system error (SERR) for reason b1 on CPU 0.");
    assert!(cluster.health_check("n1").ok());
    assert_eq!(drill::held_by(&cluster, "n1", "drain"), "confidence");
    assert!(!drill::is_out(&cluster, "n1"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_whose_nodes_break_all_at_once_is_suspected_itself() {
    let cluster = shared::lend_suite();
    cluster.policy(|text| {
        text.replacen("suspect_nodes = 4", "suspect_nodes = 2", 1).replacen(
            "min_nodes = 2",
            "min_nodes = 4",
            1,
        )
    });
    let id = drill::running(&cluster, &["--nodes=3", "--gres=gpu:8"]);
    drill::hear_first(&cluster, "n1", &["n2", "n3"]);
    for node in ["n2", "n3"] {
        drill::lose_gpu(&cluster, node, 3);
    }
    drill::end(&cluster, &id);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "0"), "{job}");
    assert_eq!(drill::held_by(&cluster, "n1", "requeue"), "many_nodes");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_job_without_a_culprit_is_not_run_into_the_same_fault_again() {
    let cluster = shared::lend_suite();
    drill::first_rule(&cluster, "job = \"requeue\"");
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    drill::end(&cluster, &id);
    let job = cluster.wait_done(&id);
    assert_eq!((job.states(), job.get("Restarts")), (vec!["FAILED"], "0"), "{job}");
    assert_eq!(drill::held_by(&cluster, "n1", "requeue"), "culprit");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_check_in_monitor_mode_takes_no_node_out() {
    let cluster = shared::lend_suite();
    cluster.configure("expect", "mounts", "[{ path = \"/never-mounted\" }]");
    cluster.configure("checks.mounts", "action", "\"drain\"");
    cluster.configure("checks.mounts", "mode", "\"monitor\"");
    assert!(cluster.health_check("n1").ok());
    let held = "SELECT count(*) FROM v_decisions WHERE intent = 'drain' AND held_by = 'check'";
    assert_eq!(cluster.ledger_value("n1", held), "1");
    assert!(!drill::is_out(&cluster, "n1"));
    assert!(
        cluster.wait_done(&cluster.sbatch(&["--nodelist=n1"], "true")).is("COMPLETED"),
        "nor refuses jobs"
    );
}
