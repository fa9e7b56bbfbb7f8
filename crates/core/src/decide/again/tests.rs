use super::*;
use crate::{CauseClass, Confidence, Culprit, Resource, RunId, VerdictId};

fn limits() -> JobLimits {
    JobLimits::default()
}

fn verdict(node: &str) -> Verdict {
    let run = RunId {
        cluster: String::new(),
        job: 1,
        array: None,
        het: None,
        restart: 0,
        start: Stamp::from_secs(0),
    };
    Verdict {
        id: VerdictId::from("v"),
        run,
        at: Stamp::from_secs(0),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        culprits: vec![Culprit {
            node: NodeName::from(node),
            resource: Some(Resource::from("gpu:0000:61:00.0")),
        }],
        victims: Vec::new(),
        cases: Vec::new(),
        evidence: Vec::new(),
        synthetic: false,
        story: Vec::new(),
        grounds: crate::Grounds::default(),
    }
}

fn run(restart: u32, nodes: &[&str], codes: &[&str]) -> PastRun {
    PastRun {
        restart,
        start: Stamp::from_secs(0),
        end: Some(Stamp::from_secs(60)),
        cause: Some(PastCause {
            class: Some(CauseClass::Hardware),
            codes: codes.iter().map(|code| Code::from(*code)).collect(),
            kinds: vec!["gpu".to_owned()],
            nodes: nodes.iter().map(|node| NodeName::from(*node)).collect(),
        }),
        requeued_at: None,
    }
}

fn follows(runs: &[PastRun]) -> bool {
    !same_fault(&limits(), runs, &verdict("n3"), &Code::from("xid.79")).0.passed
}

#[test]
fn a_job_that_loses_a_gpu_on_every_node_it_goes_to_is_not_sent_to_the_next() {
    assert!(follows(&[run(0, &["n1"], &["xid.79"]), run(1, &["n2"], &["xid.79"])]));
    // A fault of another node is known by its part alone.
    assert!(follows(&[run(0, &["n1"], &[]), run(1, &["n2"], &[])]));
}

#[test]
fn one_bad_node_met_again_and_different_faults_are_no_fault_of_the_job() {
    assert!(!follows(&[run(0, &["n3"], &["xid.79"]), run(1, &["n3"], &["xid.79"])]));
    assert!(!follows(&[run(0, &["n1"], &["xid.79"]), run(1, &["n1"], &["xid.79"])]), "n1 twice is one node");
    assert!(!follows(&[run(0, &["n1"], &["xid.48"]), run(1, &["n2"], &["xid.79"])]));
    assert!(!follows(&[run(0, &[], &["xid.79"]), run(1, &[], &["xid.79"])]), "nobody was to blame");
    assert!(!follows(&[]));
}

#[test]
fn restarts_that_die_at_once_use_the_budget_up_twice_as_fast() {
    let stop = |count, short| tries(&limits(), count, short).1;
    assert_eq!(stop(0, 0), None);
    assert_eq!(stop(1, 1), None, "one bad start is bad luck");
    assert!(stop(2, 1).unwrap().contains("count double"));
    assert_eq!(stop(2, 0), None);
    assert!(!tries(&limits(), 3, 0).0.passed);
}

#[test]
fn the_wait_between_requeues_doubles_and_never_overflows() {
    let wait = |count| {
        let mut run = run(0, &[], &[]);
        run.requeued_at = Some(Stamp::from_secs(1_000));
        not_before(&limits(), count, &span(), &[run]).map(|at| at.micros() / 1_000_000 - 1_000)
    };
    assert_eq!([wait(0), wait(1), wait(2), wait(3)], [None, Some(60), Some(120), Some(240)]);
    assert_eq!(wait(u32::MAX), Some(60 << 16));
}

fn span() -> JobSpan {
    JobSpan {
        run: verdict("n1").run,
        node: NodeName::from("n1"),
        boot: crate::BootId::from("b"),
        uid: 0,
        user: String::new(),
        partition: String::new(),
        nodes: Vec::new(),
        gpus: Vec::new(),
        ask: crate::JobAsk::Default,
        end: None,
        exit: None,
        state: String::new(),
    }
}
