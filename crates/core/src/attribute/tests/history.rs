//! What earlier runs tell.
use super::*;

fn past(user: &str, nodes: &[&str], signature: &str, culprit: Option<(&str, Resource)>) -> PastRun {
    PastRun {
        job: "600".to_owned(),
        user: user.to_owned(),
        at: at(-86_400.0),
        nodes: nodes.iter().map(|n| NodeName::from(*n)).collect(),
        class: "unknown".to_owned(),
        signature: signature.to_owned(),
        culprits: culprit
            .into_iter()
            .map(|(node, resource)| PastCulprit { node: node.into(), resource: Some(resource) })
            .collect(),
    }
}

fn one_gpu_exception() -> Job {
    let mut job = Job::running(2);
    job.kernel(1, 400.0, event("xid.13", gpu(1), CauseClass::Application, Advice::None))
        .prints(400.1, line("cuda.illegal_access", CauseClass::Application, Role::Root, Some(5)))
        .dies(5, 401.0, ABORT)
        .all_killed(403.0, 15);
    job
}

#[test]
fn one_gpu_exception_alone_is_the_programs() {
    assert_eq!(attribute(&one_gpu_exception().evidence).class, CauseClass::Application);
}

#[test]
fn the_same_gpu_in_the_jobs_of_several_users_is_hardware() {
    let mut job = one_gpu_exception();
    job.evidence.history = vec![
        past("bob", &["n2"], "xid.13", Some(("n2", gpu(1)))),
        past("eve", &["n2", "n9"], "xid.13", Some(("n2", gpu(1)))),
    ];
    let found = attribute(&job.evidence);
    assert_eq!(
        (found.class, found.culprits.clone()),
        (CauseClass::Hardware, culprit("n2", "gpu:0000:11:00.0"))
    );
    assert_eq!(drained(&found), ["n2"]);
    job.evidence.history.iter_mut().for_each(|past| past.user = "bob".to_owned());
    assert_eq!(attribute(&job.evidence).class, CauseClass::Application, "one other user proves nothing");
}

#[test]
fn the_same_failure_of_the_same_user_elsewhere_is_the_program() {
    let mut job = Job::running(2);
    job.all_time_out(900.0, 600, &[]).all_killed(905.0, 6);
    job.evidence.history = vec![
        past("ann", &["n7", "n8"], "nccl.watchdog_timeout", None),
        past("ann", &["n5", "n6"], "nccl.watchdog_timeout", None),
    ];
    assert_eq!(attribute(&job.evidence).rule, "same_failure_elsewhere");
}

#[test]
fn a_node_in_failed_jobs_of_several_users_is_suspect_when_nothing_else_speaks() {
    let mut job = Job::running(3);
    job.all_time_out(900.0, 600, &[]).all_killed(905.0, 6);
    for (user, other) in [("bob", "n7"), ("eve", "n8"), ("joe", "n9")] {
        job.evidence.history.push(past(user, &["n2", other], "nccl.watchdog_timeout", None));
    }
    assert_eq!(attribute(&job.evidence).culprits, culprit("n2", ""));
}
