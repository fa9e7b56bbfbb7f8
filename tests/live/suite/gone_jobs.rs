//! An action that is settled late: the controller has forgotten the job, or given its id to another one.

use super::drill;
use crate::cluster::{Cluster, Options};
use crate::command::run;
use crate::tend;

/// Three nodes under the suite in act mode, with more lines in slurm.conf.
fn cluster(lines: &str) -> Cluster {
    let cluster = tend::up(Options::default().with("--nodes", "3"));
    cluster.reconfigure(lines);
    cluster.spy();
    cluster
}

/// Waits until whatever the epilog has left waits for a health check.
fn wait_left(cluster: &Cluster, node: &str, kind: &str) {
    let sql =
        format!("SELECT count(*) FROM actions WHERE kind = '{kind}' AND state IN ('pending', 'running')");
    cluster.wait_for(&format!("{node} has left a {kind}"), || {
        let dead = cluster.hook_processes("triage-").is_empty();
        (dead && cluster.ledger_value(node, &sql) != "0").then_some(())
    });
}

/// What came of the node's one action of this kind for the job: its state and answer.
fn settled(cluster: &Cluster, node: &str, kind: &str, job: &str) -> String {
    let sql = format!(
        "SELECT a.state || ': ' || a.answer FROM actions a JOIN runs r ON r.id = a.run
         WHERE a.kind = '{kind}' AND r.job = {job}"
    );
    cluster.ledger_value(node, &sql)
}

/// A job of which the hook on `node` dies right before the call that holds `word`, which leaves an intent of this `kind`.
fn abandoned(cluster: &Cluster, args: &[&str], (node, word, kind): (&str, &str, &str)) -> String {
    let id = drill::running(cluster, args);
    assert_eq!(cluster.job(&id).expect("the job is known").get("NodeList"), node);
    cluster.kill_hook(node, "before", word);
    drill::lose_gpu(cluster, node, 3);
    drill::end(cluster, &id);
    wait_left(cluster, node, kind);
    id
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn what_was_wanted_for_a_job_that_slurmctld_has_forgotten_is_given_up_once() {
    let cluster = cluster("MinJobAge=2");
    let first = abandoned(&cluster, &["--gres=gpu:8"], ("n1", "requeue ", "requeue"));
    let second =
        abandoned(&cluster, &["--gres=gpu:8", "--exclude=n1"], ("n2", "StartTime=", "clear_begin_time"));
    cluster.run(&["scancel", &second]).success("scancel");
    cluster.wait_for("slurmctld has forgotten both", || {
        (cluster.job(&first).is_none() && cluster.job(&second).is_none()).then_some(())
    });
    for round in 1..=2 {
        assert!(cluster.health_check("n1").ok() && cluster.health_check("n2").ok());
        let gone = settled(&cluster, "n1", "requeue", &first);
        assert!(gone.starts_with("failed: ") && gone.contains("Invalid job id"), "{round}: {gone}");
        let gone = settled(&cluster, "n2", "clear_begin_time", &second);
        assert_eq!(gone, "failed: slurmctld no longer knows the job", "{round}");
        drill::wait_our_drain(&cluster, "n1");
        drill::wait_our_drain(&cluster, "n2");
    }
    assert_eq!((cluster.obeyed(&["requeue "]), cluster.obeyed(&["StartTime="])), (1, 0));
    assert_eq!(cluster.obeyed(&["State=DRAIN"]), 2);
}

/// As far as the node's ledger knows, the runs it wants requeued began an hour ago: clocks of node and controller may be five
/// minutes apart, and a test does not wait that long.
fn begun_an_hour_ago(cluster: &Cluster, node: &str) {
    let path = cluster.node_dir(node).join("state/ledger.db");
    let sql = "UPDATE actions SET
        action = json_set(action, '$.run.start', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hour')),
        key = 'requeue:triage:' || json_extract(action, '$.run.job') || ':0:' || unixepoch('now', '-1 hour') || '000000'
        WHERE kind = 'requeue'";
    run(&["sqlite3", path.to_str().expect("UTF-8"), sql], &[]).success(sql);
}

/// Submits a job that gets `id`, the numbers having come round.
fn given_again(cluster: &Cluster, id: &str, args: &[&str]) -> String {
    cluster.wait_for(&format!("{id} is given again"), || {
        let new = cluster.sbatch(args, "sleep 300");
        if new == id {
            return Some(new);
        }
        cluster.run(&["scancel", &new]).success("scancel");
        None
    })
}

/// What of a job an action of ours could have changed.
fn traces(cluster: &Cluster, id: &str) -> [String; 4] {
    let job = cluster.job(id).expect("the job is known");
    ["JobState", "Restarts", "ExcNodeList", "AdminComment"].map(|key| job.get(key).to_owned())
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_new_job_under_the_id_of_an_old_one_is_left_alone() {
    let cluster = cluster("MinJobAge=2\nFirstJobId=1\nMaxJobId=4");
    let half = ["--gres=gpu:4"];
    let other = drill::running(&cluster, &half);
    let lost = abandoned(&cluster, &half, ("n1", "requeue ", "requeue"));
    cluster.kill_hook("n1", "before", "requeue ");
    drill::end(&cluster, &other);
    cluster.wait_for("two jobs wait to be requeued", || {
        let sql = "SELECT count(*) FROM actions WHERE kind = 'requeue' AND state = 'running'";
        (cluster.ledger_value("n1", sql) == "2").then_some(())
    });
    wait_left(&cluster, "n1", "requeue");
    cluster.wait_for("slurmctld has forgotten both", || {
        (cluster.job(&lost).is_none() && cluster.job(&other).is_none()).then_some(())
    });
    begun_an_hour_ago(&cluster, "n1");
    let runs = given_again(&cluster, &other, &[]);
    let waits = given_again(&cluster, &lost, &["--hold"]);
    cluster.wait_job(&runs, "RUNNING");
    let before = [&runs, &waits].map(|id| traces(&cluster, id));
    assert!(cluster.health_check("n1").ok());
    for (id, did) in [(&runs, "begun"), (&waits, "submitted")] {
        let sql =
            format!("SELECT state || ': ' || answer FROM actions WHERE key LIKE 'requeue:triage:{id}:%'");
        let told = cluster.ledger_value("n1", &sql);
        assert!(told.starts_with(&format!("failed: job {id} is another one now, {did} at ")), "{told}");
    }
    assert!(cluster.health_check("n1").ok());
    assert_eq!([&runs, &waits].map(|id| traces(&cluster, id)), before);
    assert_eq!((cluster.obeyed(&["requeue "]), cluster.obeyed(&["JobId="])), (0, 0));
    drill::wait_our_drain(&cluster, "n1");
}
