use proptest::prelude::*;
use triage_core::ArrayId;

use super::*;

/// As 22.05.8 prints a job, shortened in the middle.
fn line(name: &str, comment: &str) -> String {
    format!(
        "JobId=43 ArrayJobId=42 ArrayTaskId=1 JobName={name} UserId=u(1000) GroupId=u(1000) MCS_label=N/A \
         Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) Requeue=1 \
         Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:02 SubmitTime=1795970767 StartTime=1795970767 \
         AllocNode:Sid=login:9766 ReqNodeList=(null) ExcNodeList=n[3-4] NodeList=n[1-2] BatchHost=n1 CPUs/Task=1 \
         ReqB:S:C:T=0:0:*:* Socks/Node=* NtasksPerN:B:S:C=0:0:*:* Command=/jobs/j.sh lr=0.1 WorkDir=/jobs \
         Comment={comment}  StdErr=/jobs/e-1 StdIn=/dev/null StdOut=/jobs/o 1 Power= \n"
    )
}

const NODE: &str = "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=5 Gres=gpu:8 OS=Linux 6.1 #1 SMP @0  State=IDLE*+DRAIN \
     ThreadsPerCore=1 CfgTRES=cpu=2,gres/gpu=8 AllocTRES= Reason=slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d] \
     [root@1795970769] Comment=x";

#[test]
fn a_job_with_blanks_and_equal_signs_in_its_values() {
    let job = job(&line("a b=c", "x y=z"), 43).unwrap();
    assert_eq!((job.job, job.array), (43, Some(ArrayId { job: 42, task: 1 })));
    assert_eq!((job.state.as_str(), job.completing, job.restarts), ("RUNNING", false, 2));
    assert_eq!((job.excluded.len(), job.nodes.len()), (2, 2));
    assert!(job.requeue && job.batch);
    assert_eq!((job.stdout.as_str(), job.stderr.as_str()), ("/jobs/o 1", "/jobs/e-1"));
    assert_eq!(job.fields["JobName"], "a b=c");
    assert_eq!(job.fields["Command"], "/jobs/j.sh lr=0.1");
    assert_eq!(job.fields["ReqB:S:C:T"], "0:0:*:*");
    assert_eq!(job.fields["NtasksPerN:B:S:C"], "0:0:*:*");
    assert_eq!(job.fields["Power"], "");
}

#[test]
fn a_name_or_comment_that_imitates_a_record_makes_it_unbelievable() {
    for (name, comment, what) in [
        ("x Requeue=0", "", "Requeue"),
        ("x JobState=COMPLETED", "", "JobState"),
        ("x", "y Restarts=9", "Restarts"),
        ("x", "y\nNodeList=n9", "NodeList"),
        ("x ExcNodeList=n1", "", "ExcNodeList"),
        ("x", "y\nJobId=43 JobState=FAILED", "JobId"),
        ("x\nJobId=43 JobState=PENDING Restarts=0 Comment=y", "", "JobId"),
    ] {
        let error = job(&line(name, comment), 43).unwrap_err();
        assert!(
            matches!(&error, RecordError::Contradiction { what: w, .. } if *w == what),
            "{name:?} {comment:?}: {error}"
        );
    }
}

#[test]
fn a_name_cannot_make_the_job_another_users() {
    let plain =
        "JobId=43 JobName=x HetJobId=1 ArrayJobId=5 ArrayTaskId=7 UserId=u(1) JobState=FAILED Requeue=1";
    let job = job(plain, 43).unwrap();
    assert_eq!((job.array, job.het), (None, None));
    assert_eq!(
        super::job("JobId=10 HetJobId=9 HetJobOffset=1 JobName=x JobState=FAILED", 10).unwrap().het,
        Some(9)
    );
}

#[test]
fn a_record_torn_by_its_own_name_is_missing_and_no_other_job() {
    let torn = line("x\nJobId=77 JobName=y", "");
    assert_eq!(job(&torn, 43), Err(RecordError::Missing("job 43".into())));
    assert!(job("", 43).is_err());
    assert!(job("slurm_load_jobs error", 43).is_err());
}

#[test]
fn repeating_what_slurm_says_contradicts_nothing() {
    assert!(job(&line("x Requeue=1", "JobState=RUNNING"), 43).is_ok());
}

#[test]
fn the_right_task_of_an_array_is_picked() {
    let other = line("x", "").replace("JobId=43", "JobId=44").replace("ArrayTaskId=1", "ArrayTaskId=2");
    let rest =
        "JobId=42 ArrayJobId=42 ArrayTaskId=3-9%4 JobName=x JobState=PENDING Reason=JobArrayTaskLimit\n";
    let answer = [other, line("x", ""), rest.to_owned()].concat();
    assert_eq!(job(&answer, 43).unwrap().array, Some(ArrayId { job: 42, task: 1 }));
    assert_eq!(job(&answer, 42).unwrap().array, None, "tasks that are not split off have no number");
}

#[test]
fn how_a_completing_job_ended_is_told_from_its_reason() {
    for (shown, reason, exit, state) in [
        ("COMPLETING", "NonZeroExitCode", "3:0", "FAILED"),
        ("COMPLETING", "None", "0:15", "CANCELLED"),
        ("COMPLETING", "JobLaunchFailure", "0:6", "FAILED"),
        ("COMPLETING", "RaisedSignal:9(Killed)", "0:9", "FAILED"),
        ("COMPLETING", "TimeLimit", "0:15", "TIMEOUT"),
        ("COMPLETING", "None", "0:0", "COMPLETED"),
        ("COMPLETING", "SomethingNew", "1:0", "CANCELLED"),
        ("FAILED,COMPLETING", "None", "0:0", "FAILED"),
        ("PENDING+COMPLETING", "None", "0:0", "PENDING"),
    ] {
        let job = job(&format!("JobId=1 JobState={shown} Reason={reason} ExitCode={exit}"), 1).unwrap();
        assert_eq!((job.state.as_str(), job.completing), (state, true), "{shown} {reason} {exit}");
    }
}

#[test]
fn a_drained_node_and_its_reason() {
    let node = &nodes(NODE)[0];
    assert!(node.is_out());
    assert_eq!(node.state, ["IDLE", "DRAIN"]);
    assert_eq!(node.reason, "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]");
    assert_eq!(node.extra, "");
}

#[test]
fn several_nodes_and_a_reason_over_two_lines() {
    let answer = format!(
        "{NODE}\nNodeName=n2 State=MIXED+PLANNED Reason=bad fan\nsee ticket 7 [bob@2026-01-01T00:00:00]\nNodeName=n3 State=DOWN$\n"
    );
    let nodes = nodes(&answer);
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[1].reason, "bad fan\nsee ticket 7");
    assert_eq!(nodes[2].state, ["DOWN"]);
}

#[test]
fn a_reason_that_only_looks_stamped_is_kept_whole() {
    let reason = |text: &str| nodes(&format!("NodeName=n1 State=DOWN Reason={text}"))[0].reason.clone();
    assert_eq!(reason("bad [gpu 3]"), "bad [gpu 3]");
    assert_eq!(reason("bad [gpu 3] [root@now]"), "bad [gpu 3]");
    assert_eq!(reason("State=IDLE"), "State=IDLE");
}

#[test]
fn extra_is_taken_whole_whatever_is_in_it() {
    let extra = |tail: &str| nodes(&format!("{NODE} {tail}"))[0].extra.clone();
    let json = r#"{"a": "b C=d State=IDLE", "slurm_triage":{"v":1}, "n": [1, {"x": "}"}]}"#;
    assert_eq!(extra(&format!("Extra={json}")), json);
    assert_eq!(extra(&format!("Extra={json} InstanceId=i-7 InstanceType=x")), json);
    assert_eq!(extra("Extra=rack 7 InstanceId=i-7"), "rack 7");
    assert_eq!(extra("Extra={broken InstanceId=i-7"), "{broken");
    assert_eq!(extra("Extra="), "");
    let state = nodes(&format!("NodeName=n1 State=IDLE Extra={json}"))[0].state.clone();
    assert_eq!(state, ["IDLE"]);
}

#[test]
fn a_comment_that_poses_as_extra_is_not_taken_for_json() {
    let node = &nodes(&format!("{NODE} Extra={{}} y Extra={{\"a\":1}}"))[0];
    assert!(serde_json::from_str::<serde_json::Value>(&node.extra).is_err(), "{}", node.extra);
}

const JOBS: &str = include_str!("fixtures/22.05-jobs.txt");
const NODES: &str = include_str!("fixtures/22.05-nodes.txt");

#[test]
fn whole_jobs_as_slurm_prints_them() {
    let imitates = job(JOBS, 1).unwrap_err();
    assert!(matches!(imitates, RecordError::Contradiction { what: "Requeue", .. }), "{imitates}");

    let array = job(JOBS, 2).unwrap();
    assert_eq!(array.fields["JobName"], "NodeList=evil");
    assert!(array.nodes.is_empty(), "a name that is a field is still a name: {:?}", array.nodes);
    assert_eq!((array.state.as_str(), array.requeue), ("PENDING", true));

    let leader = job(JOBS, 3).unwrap();
    let other = job(JOBS, 4).unwrap();
    assert_eq!((leader.het, other.het), (Some(3), Some(3)));
    for job in [&leader, &other] {
        assert!(job.batch && job.requeue && job.array.is_none() && !job.completing);
        assert!(job.excluded.is_empty() && job.nodes.is_empty());
        assert_eq!((job.state.as_str(), job.restarts), ("PENDING", 0));
        assert_eq!(job.fields["Command"], "/jobs/j.sh");
    }
    assert!(job(JOBS, 5).is_err());
}

#[test]
fn whole_nodes_as_slurm_prints_them() {
    let nodes = nodes(NODES);
    let [first, second] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((first.state.as_slice(), first.reason.as_str()), (["IDLE".to_owned()].as_slice(), ""));
    assert_eq!(first.extra, "");
    assert_eq!(second.state, ["IDLE", "DRAIN"]);
    assert!(!second.reason.starts_with("slurm-triage"), "{}", second.reason);
    assert!(
        serde_json::from_str::<serde::de::IgnoredAny>(&second.extra).is_err(),
        "which Extra is Slurm's cannot be told, so none is written over: {}",
        second.extra
    );
}

proptest! {
    #[test]
    fn any_answer_is_answered(answer in "(\\PC|\n|=| (Extra|JobId|State|NodeName)=){0,120}") {
        let _ = (job(&answer, 7), nodes(&answer));
    }

    #[test]
    fn no_name_and_comment_make_us_believe_something_else(
        name in "[ -~\n]{0,20}( (Requeue|JobState|Restarts|NodeList|HetJobId|ArrayJobId)=[a-zA-Z0-9]{1,4})?",
        comment in "[ -~\n]{0,20}(\nJobId=43 JobState=FAILED)?",
    ) {
        let real = job(&line("x", ""), 43).unwrap();
        if let Ok(found) = job(&line(&name, &comment), 43) {
            prop_assert_eq!(
                (found.state, found.requeue, found.restarts, found.nodes, found.excluded, found.array, found.het),
                (real.state, real.requeue, real.restarts, real.nodes, real.excluded, real.array, real.het)
            );
        }
    }

    #[test]
    fn extra_of_any_content_comes_back(text in "[ -~]{0,30}") {
        let json = serde_json::json!({ "k": text, "slurm_triage": { "v": 1 } }).to_string();
        let node = &nodes(&format!("{NODE} Extra={json} InstanceId=x"))[0];
        if !json.contains(" Extra=") {
            prop_assert_eq!(&node.extra, &json);
        }
    }
}
