//! What a person says holds against everything the suite would do.

use super::drill;
use crate::cluster::Cluster;
use crate::shared;

/// `slurm-triage` on a node of the cluster.
pub(super) fn say(cluster: &Cluster, node: &str, args: &[&str]) -> String {
    cluster.triage(node, args).success(args[0])
}

/// A word of the lost GPU's case; the machine that plays the nodes may have faults of its own.
fn gpu_case(cluster: &Cluster, word: &str) -> String {
    cluster.ledger_value("n1", &format!("SELECT {word} FROM cases WHERE resource LIKE 'gpu:%'"))
}

fn wait_our_drain(cluster: &Cluster) {
    let reason = cluster.wait_node("n1", "DRAIN").get("Reason").to_owned();
    assert!(reason.contains(&format!("[case {}]", gpu_case(cluster, "id"))), "{reason}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_node_on_hold_is_left_alone_until_it_is_released() {
    let cluster = shared::lend_suite();
    cluster.spy();
    let id = drill::running(&cluster, &["--gres=gpu:8"]);
    say(&cluster, "n1", &["hold", "n1", "--reason", "burn-in"]);
    drill::lose_gpu(&cluster, "n1", 3);
    drill::end(&cluster, &id);
    assert!(cluster.wait_done(&id).is("FAILED"), "nor is its job run again");
    cluster.health_check("n1");
    assert!(!drill::is_out(&cluster, "n1"));
    assert_eq!(drill::held_by(&cluster, "n1", "drain"), "operator_hold");
    assert_eq!(drill::held_by(&cluster, "n1", "requeue"), "operator_hold");
    let next = cluster.sbatch(&["--nodelist=n1"], "true");
    assert!(cluster.wait_done(&next).is("COMPLETED"), "nor does it refuse jobs");
    assert_eq!(cluster.obeyed(&["update"]), 0, "nothing was changed in Slurm");
    say(&cluster, "n1", &["release", "n1", "--reason", "it is over"]);
    cluster.health_check("n1");
    wait_our_drain(&cluster);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_intent_that_waits_is_not_carried_out_once_its_case_is_closed_or_its_node_held() {
    let cluster = shared::lend_suite();
    drill::lose_gpu(&cluster, "n1", 3);
    // The controller is away, so that the drain is wanted and not done.
    cluster.configure("slurm", "command_deadline_ms", "3000");
    cluster.stop("slurmctld");
    cluster.health_check("n1");
    assert_eq!(cluster.ledger_value("n1", "SELECT state FROM actions WHERE kind = 'drain'"), "pending");
    say(&cluster, "n1", &["hold", "n1", "--reason", "I look at it myself"]);
    cluster.start("slurmctld");
    cluster.wait_for("the controller answers", || cluster.scontrol(&["ping"]).ok().then_some(()));
    cluster.health_check("n1");
    assert!(!drill::is_out(&cluster, "n1"));
    let case = gpu_case(&cluster, "id");
    cluster.mend("n1");
    let said = say(&cluster, "n1", &["acquit", &case, "--reason", "I pulled it out myself"]);
    assert!(said.contains("given up: drain:n1:"), "{said}");
    say(&cluster, "n1", &["release", "n1", "--reason", "done"]);
    cluster.health_check("n1");
    assert!(!drill::is_out(&cluster, "n1"));
    let trail =
        "SELECT what || ' ' || who AS line FROM v_trail WHERE what LIKE 'hold.%' OR what = 'case.acquitted'";
    let rows = cluster.ledger("n1", trail);
    let lines: Vec<&str> = rows.iter().filter_map(|row| row["line"].as_str()).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("hold.placed ") && lines[1].starts_with("case.acquitted "), "{lines:?}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn an_acknowledged_repair_closes_the_case_and_leaves_the_drain_to_who_may_lift_it() {
    let cluster = shared::lend_suite();
    drill::lose_gpu(&cluster, "n1", 3);
    cluster.health_check("n1");
    wait_our_drain(&cluster);
    let case = gpu_case(&cluster, "id");
    cluster.mend("n1");
    let said = say(&cluster, "n1", &["ack", &case, "--reason", "riser replaced"]);
    assert!(said.contains("stays so") && said.contains("state=undrain"), "{said}");
    assert!(drill::is_out(&cluster, "n1"));
    assert_eq!(gpu_case(&cluster, "state"), "resolved");
    // What Slurm said of the node is kept for the report.
    let seen = cluster.ledger("n1", "SELECT * FROM v_sightings WHERE is_out = 0");
    assert!(!seen.is_empty(), "the node was in service before");
    let told = say(&cluster, "n1", &["--json", "report"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["decisions"][0]["grade"], "right", "{told}");
    assert!(!told["decisions"][0]["done_at"].is_null(), "{told}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_word_on_a_gpu_that_is_still_lost_brings_no_node_back() {
    for (word, gate, open) in [("ack", "other_case", "1"), ("acquit", "sensor", "0")] {
        let cluster = shared::lend_suite();
        cluster.policy(|text| text.replacen("resume = \"monitor\"", "resume = \"act\"", 1));
        drill::lose_gpu(&cluster, "n1", 3);
        cluster.health_check("n1");
        wait_our_drain(&cluster);
        let case = gpu_case(&cluster, "id");
        let said = say(&cluster, "n1", &[word, &case, "--reason", "riser reseated"]);
        assert!(said.contains("check gpu_lost read it as bad"), "{said}");
        for _ in 0..3 {
            cluster.health_check("n1");
            assert!(drill::is_out(&cluster, "n1"), "{word}");
        }
        assert_eq!(drill::held_by(&cluster, "n1", "resume"), gate);
        let now = "SELECT count(*) FROM cases WHERE state IN ('open', 'acted') AND resource LIKE 'gpu:%'";
        assert_eq!(cluster.ledger_value("n1", now), open, "{word}");
        cluster.mend("n1");
    }
}
