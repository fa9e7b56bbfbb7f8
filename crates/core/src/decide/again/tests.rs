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
        progress: Progress::default(),
    }
}

/// Runs that printed these checkpoints, each an hour long, and how many of their restarts got no further; the last is the
/// one that just ended.
fn stuck(checkpoints: &[Option<u64>]) -> u32 {
    let got = |checkpoint: &Option<u64>| Progress { step: None, checkpoint: *checkpoint };
    let (last, earlier) = checkpoints.split_last().unwrap();
    let past = |(restart, checkpoint)| {
        let mut past = run(u32::try_from(restart).unwrap(), &["n1"], &["xid.79"]);
        past.end = Some(Stamp::from_secs(3_600));
        past.progress = got(checkpoint);
        past
    };
    let runs: Vec<PastRun> = earlier.iter().enumerate().map(past).collect();
    let restart = u32::try_from(earlier.len()).unwrap();
    let mut span = span();
    span.run.restart = restart;
    no_further((Stamp::from_secs(3_600), &got(last), None), &span, &runs, 600, restart)
}

#[test]
fn hours_of_work_that_are_lost_each_time_are_no_progress() {
    assert_eq!(stuck(&[Some(1000), Some(1000), Some(1000)]), 2);
    assert_eq!(stuck(&[Some(1000), Some(2000), Some(2000)]), 1);
    assert_eq!(stuck(&[Some(1000), Some(2000), Some(3000)]), 0);
    assert_eq!(stuck(&[Some(1000), Some(900), Some(950)]), 1, "less than before, then more than that");
    assert_eq!(stuck(&[None, Some(5), None]), 0, "what nobody told is judged by its hour");
}

/// The batch host of the run before was another node, whose ledger is not here.
#[test]
fn what_the_job_itself_carries_stands_in_for_another_nodes_ledger() {
    let mut span = span();
    span.run.restart = 2;
    let at = |checkpoint| Progress { step: None, checkpoint: Some(checkpoint) };
    let count = |got| no_further((Stamp::from_secs(3_600), &got, Some(at(80))), &span, &[], 600, 2);
    assert_eq!((count(at(80)), count(at(90))), (1, 0));
}

#[test]
fn a_short_restart_that_saved_a_checkpoint_got_further() {
    let mut past = run(0, &["n1"], &["xid.79"]);
    past.progress = Progress { step: Some(90), checkpoint: Some(80) };
    let mut span = span();
    span.run.restart = 1;
    let count =
        |got| no_further((Stamp::from_secs(60), &got, None), &span, std::slice::from_ref(&past), 600, 1);
    assert_eq!(count(Progress { step: Some(130), checkpoint: Some(120) }), 0);
    assert_eq!(count(Progress { step: Some(130), checkpoint: Some(80) }), 1);
    assert_eq!(count(Progress::default()), 1);
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
