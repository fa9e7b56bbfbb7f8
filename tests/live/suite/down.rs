//! Rules that ask for more than a drain: the node set down, or booted again once it is idle.

use super::{drill, people};
use crate::cluster::Cluster;
use crate::shared;

/// Two jobs on n1: one dies of its GPU, the other one would run on. Returns both.
fn one_of_two_dies(cluster: &Cluster) -> [String; 2] {
    let dies = drill::running(cluster, &["--gres=gpu:4"]);
    let goes_on = drill::running(cluster, &["--gres=gpu:4"]);
    assert_eq!(cluster.job(&goes_on).expect("the job is known").get("NodeList"), "n1");
    drill::lose_gpu(cluster, "n1", 3);
    drill::end(cluster, &dies);
    [dies, goes_on]
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_rule_that_says_down_ends_what_runs_on_the_node_and_brings_it_up_after_the_repair() {
    let cluster = shared::lend_suite();
    cluster.policy(|text| text.replacen("resume = \"monitor\"", "resume = \"act\"", 1));
    drill::first_rule(&cluster, "class = [\"hardware\"]\nnode = \"down\"\njob = \"requeue\"");
    cluster.spy();
    let [dies, goes_on] = one_of_two_dies(&cluster);
    assert_eq!(drill::again(&cluster, &dies).get("NodeList"), "n2");
    let node = cluster.wait_node("n1", "DOWN");
    assert!(node.is("DRAIN"), "a controller that returns nodes by itself is not to return this one: {node}");
    assert!(node.get("Reason").starts_with(&drill::reason(&cluster, "n1")), "{node}");
    // Its GPUs are well, so Slurm itself puts it back, and no fault of its own is held against it.
    let job = cluster.wait_for("the other job is ended and put back", || {
        cluster.job(&goes_on).filter(|job| job.is("PENDING") && !job.is("COMPLETING"))
    });
    assert_eq!(job.get("Restarts"), "1", "{job}");
    let settled = drill::wait_settled(&cluster, "n1");
    assert!(settled.contains(&"down done".to_owned()), "{settled:?}");
    for _ in 0..2 {
        cluster.health_check("n1");
    }
    assert_eq!((cluster.obeyed(&["State=DRAIN"]), cluster.obeyed(&["State=DOWN"])), (1, 1));
    let decided = "SELECT count(*) FROM v_decisions WHERE intent IN ('drain', 'down')";
    assert_eq!(cluster.ledger_value("n1", decided), "2", "what is decided is not decided again by each pass");
    cluster.mend("n1");
    let case = cluster.ledger_value("n1", "SELECT id FROM cases WHERE resource LIKE 'gpu:%'");
    people::say(&cluster, "n1", &["ack", &case, "--reason", "board reseated"]);
    cluster.wait_for("the node is up again", || {
        cluster.health_check("n1");
        (cluster.node("n1").states() == ["IDLE"]).then_some(())
    });
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_site_that_does_not_set_nodes_down_has_its_jobs_run_on() {
    let cluster = shared::lend_suite();
    drill::first_rule(&cluster, "class = [\"hardware\"]\nnode = \"down\"\njob = \"requeue\"");
    cluster.policy(|text| text.replacen("# down = \"act\"", "down = \"monitor\"", 1));
    let [dies, goes_on] = one_of_two_dies(&cluster);
    drill::again(&cluster, &dies);
    drill::wait_our_drain(&cluster, "n1");
    assert_eq!(drill::held_by(&cluster, "n1", "down"), "mode");
    let job = cluster.job(&goes_on).expect("the job is known");
    assert_eq!(
        (job.states(), job.get("NodeList"), job.get("Restarts")),
        (vec!["RUNNING"], "n1", "0"),
        "{job}"
    );
    assert!(!cluster.node("n1").is("DOWN"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_rule_that_says_reboot_when_idle_waits_for_the_job_and_asks_once() {
    let cluster = shared::lend_suite();
    drill::first_rule(&cluster, "class = [\"hardware\"]\nnode = \"reboot_when_idle\"\njob = \"requeue\"");
    cluster.spy();
    let id = drill::running(&cluster, &["--gres=gpu:4", "--no-requeue"]);
    drill::lose_gpu(&cluster, "n1", 3);
    cluster.health_check("n1");
    drill::wait_our_drain(&cluster, "n1");
    cluster.health_check("n1");
    assert_eq!(drill::held_by(&cluster, "n1", "reboot"), "idle");
    assert_eq!(cluster.obeyed(&["reboot"]), 0);
    assert!(cluster.job(&id).expect("the job is known").is("RUNNING"));
    drill::end(&cluster, &id);
    cluster.wait_done(&id);
    for _ in 0..3 {
        cluster.health_check("n1");
    }
    assert_eq!(cluster.obeyed(&["reboot", "n1"]), 1, "{:?}", cluster.calls("n1"));
    assert!(drill::is_out(&cluster, "n1"));
    assert!(cluster.node("n1").get("Reason").starts_with(&drill::reason(&cluster, "n1")));
    drill::wait_rebooting(&cluster, "n1");
}
