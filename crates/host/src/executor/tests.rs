//! Against a small controller that keeps state, so that doing a thing twice can be seen.
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use triage_core::progress::Progress;
use triage_core::{Action, ArrayId, CaseId, DecisionId, NodeName, RunId, Stamp};

use super::*;
use crate::runner::{Command, Finished, RunError};
use crate::testkit::{FakeClock, Scripted, answered, failed};

const OURS: &str = "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]";
const AWAY: &str = "slurm_load_node error: Unable to contact slurm controller (connect failure)";

/// One node and one job, as the controller has them.
#[derive(Debug, Clone)]
struct Slurm {
    node: String,
    reason: String,
    extra: String,
    job: String,
    why: String,
    restarts: u32,
    requeue: u8,
    batch: u8,
    excluded: String,
    submitted: i64,
    started: i64,
    name: String,
    comment: String,
    /// The next changes are refused with this.
    refusal: Option<&'static str>,
    changes: Vec<String>,
}

impl Slurm {
    fn healthy() -> Self {
        Self {
            node: "MIXED".into(),
            reason: String::new(),
            extra: String::new(),
            job: "COMPLETING".into(),
            why: "NonZeroExitCode".into(),
            restarts: 0,
            requeue: 1,
            batch: 1,
            excluded: "(null)".into(),
            submitted: 1_799_999_000,
            started: 1_800_000_000,
            name: "JobId=43 ArrayJobId=42 ArrayTaskId=1".into(),
            comment: String::new(),
            refusal: None,
            changes: Vec::new(),
        }
    }

    fn answer(&mut self, command: &Command) -> Result<Finished, RunError> {
        let args: Vec<&str> = command.args.iter().map(String::as_str).collect();
        match args.as_slice() {
            ["-o", "show", "node", "n1"] => answered(&format!(
                "NodeName=n1 State={} Reason={} [root@1800000000]{}\n",
                self.node,
                self.reason,
                if self.extra.is_empty() { String::new() } else { format!(" Extra={}", self.extra) },
            )),
            ["-o", "show", "job", "42_1" | "43"] => answered(&format!(
                "{} JobName=x JobState={} Reason={} Requeue={} Restarts={} BatchFlag={} ExitCode=1:0 SubmitTime={} StartTime={} \
                 ExcNodeList={} NodeList=n[1-2]{}\n",
                self.name,
                self.job,
                self.why,
                self.requeue,
                self.restarts,
                self.batch,
                self.submitted,
                self.started,
                self.excluded,
                if self.comment.is_empty() {
                    String::new()
                } else {
                    format!(" AdminComment={}", self.comment)
                },
            )),
            ["-o", ..] => failed("slurm_load_jobs error: Invalid job id specified"),
            change => self.change(change),
        }
    }

    fn change(&mut self, args: &[&str]) -> Result<Finished, RunError> {
        if let Some(refusal) = self.refusal {
            return failed(refusal);
        }
        self.changes.push(args.join(" "));
        match args {
            ["update", "NodeName=n1", "State=DRAIN", reason] => {
                self.node = "MIXED+DRAIN".into();
                self.reason = reason.trim_start_matches("Reason=").into();
            }
            ["update", "NodeName=n1", "State=UNDRAIN"] => self.node = "MIXED".into(),
            ["update", "NodeName=n1", extra] => self.extra = extra.trim_start_matches("Extra=").into(),
            ["requeue" | "requeuehold", _] => {
                self.restarts += 1;
                self.why = "BeginTime".into();
            }
            ["update", _, list, ..] if list.starts_with("ExcNodeList=") => {
                self.excluded = list.trim_start_matches("ExcNodeList=").into();
            }
            ["update", _, said] if said.starts_with("AdminComment=") => {
                self.comment = said.trim_start_matches("AdminComment=").into();
            }
            ["update", _, "StartTime=now"] => self.job = "RUNNING".into(),
            other => panic!("unexpected: {other:?}"),
        }
        answered("")
    }
}

/// Runs `action` against `slurm` as often as said; gives the outcomes and the controller afterwards.
fn execute(slurm: Slurm, action: &Action, times: usize) -> (Vec<Outcome>, Slurm) {
    let slurm = Rc::new(RefCell::new(slurm));
    let answering = Rc::clone(&slurm);
    let runner = Scripted::new(move |command| answering.borrow_mut().answer(command));
    let outcomes = (0..times).map(|_| once(&runner, action)).collect();
    let after = slurm.borrow().clone();
    (outcomes, after)
}

fn once(runner: &Scripted, action: &Action) -> Outcome {
    let clock = FakeClock::at(Stamp::from_secs(1_800_000_100));
    let deadline = Duration::from_secs(3);
    let scontrol = Scontrol { runner, program: "/usr/bin/scontrol".into(), conf: None, deadline };
    Executor { scontrol, clock: &clock, output: None, site: None }
        .execute(action, Deadline::after(&clock, Duration::from_secs(600)))
}

fn ids() -> (NodeName, CaseId, DecisionId) {
    (NodeName::from("n1"), CaseId::from("0a1b2c3d"), DecisionId::from("d"))
}

fn drain() -> Action {
    let (node, case, decision) = ids();
    Action::Drain { node, reason: OURS.into(), case, decision }
}

fn resume() -> Action {
    let (node, case, decision) = ids();
    Action::Resume { node, case, from_down: false, decision }
}

fn publish(body: &str) -> Action {
    let (node, _, decision) = ids();
    Action::Publish { node, body: body.into(), decision }
}

fn run() -> RunId {
    let start = Stamp::from_secs(1_800_000_001);
    RunId { cluster: "c".into(), job: 43, array: None, het: None, restart: 0, start }
}

fn requeue(hold: bool) -> Action {
    Action::Requeue {
        run: run(),
        exclude: vec!["n1".into()],
        hold,
        progress: Progress::default(),
        decision: ids().2,
    }
}

fn begin() -> Action {
    Action::ClearBeginTime { run: run(), not_before: None, decision: ids().2 }
}

#[test]
fn a_node_is_drained_once_however_often_it_is_asked() {
    let (outcomes, after) = execute(Slurm::healthy(), &drain(), 3);
    assert!(outcomes.iter().all(|outcome| outcome.done));
    assert_eq!(after.changes, [format!("update NodeName=n1 State=DRAIN Reason={OURS}")]);
}

#[test]
fn a_node_that_is_out_for_another_reason_is_not_touched() {
    for state in ["IDLE+DRAIN", "MIXED+DRAIN", "DOWN*", "FAIL", "DOWN+DRAIN"] {
        for reason in ["bad fan", "Not responding", "", "NHC: slurm-triage: x"] {
            let slurm = Slurm { node: state.into(), reason: reason.into(), ..Slurm::healthy() };
            for action in [drain(), resume()] {
                let (outcomes, after) = execute(slurm.clone(), &action, 1);
                assert!(!outcomes[0].done && !outcomes[0].retry, "{state} {reason}");
                assert!(after.changes.is_empty(), "{state} {reason}");
            }
        }
    }
}

#[test]
fn our_drain_for_another_case_is_neither_replaced_nor_lifted() {
    let reason = "slurm-triage: xid.48 gpu:0000:62:00.0 [case ffffffff]";
    let slurm = Slurm { node: "IDLE+DRAIN".into(), reason: reason.into(), ..Slurm::healthy() };
    let (outcomes, after) = execute(slurm.clone(), &drain(), 1);
    assert!(outcomes[0].done && after.changes.is_empty());
    let (outcomes, after) = execute(slurm, &resume(), 1);
    assert!(!outcomes[0].done && after.changes.is_empty());
}

#[test]
fn our_own_drain_is_lifted_once() {
    let slurm = Slurm { node: "IDLE+DRAIN".into(), reason: OURS.into(), ..Slurm::healthy() };
    let (outcomes, after) = execute(slurm, &resume(), 2);
    assert!(outcomes.iter().all(|outcome| outcome.done));
    assert_eq!(after.changes, ["update NodeName=n1 State=UNDRAIN"]);
}

#[test]
fn a_controller_that_is_away_is_asked_again_later() {
    let all = [drain(), resume(), publish("{}"), requeue(false)];
    for action in &all {
        let runner = Scripted::new(|_| failed(AWAY));
        let outcome = once(&runner, action);
        assert!(!outcome.done && outcome.retry, "{}", action.kind());
        assert_eq!(runner.asked().len(), 1, "nothing is changed that could not be read: {}", action.kind());
    }
    for (refusal, retry) in [(AWAY, true), ("Access/permission denied", false), ("something new", true)] {
        let (outcomes, _) = execute(Slurm { refusal: Some(refusal), ..Slurm::healthy() }, &drain(), 1);
        assert_eq!((outcomes[0].done, outcomes[0].retry), (false, retry), "{refusal}");
    }
}

#[test]
fn our_word_is_put_beside_others_and_taken_away_again() {
    let theirs = "{\"rack\": \"r 7\"}";
    let slurm = Slurm { extra: theirs.into(), ..Slurm::healthy() };
    let (outcomes, after) = execute(slurm, &publish("{\"v\":1}"), 2);
    assert!(outcomes.iter().all(|outcome| outcome.done));
    assert_eq!(after.extra, "{\"rack\":\"r 7\",\"slurm_triage\":{\"v\":1}}");
    assert_eq!(after.changes.len(), 1);
    let (_, after) = execute(after, &publish(""), 1);
    assert_eq!(after.extra, "{\"rack\":\"r 7\"}");
    let (outcomes, after) = execute(Slurm { extra: "rack 7".into(), ..after }, &publish("{\"v\":1}"), 1);
    assert!(!outcomes[0].done && !outcomes[0].retry);
    assert_eq!(after.extra, "rack 7");
}

#[test]
fn a_job_is_requeued_once_by_the_name_that_means_it_alone() {
    let (outcomes, after) = execute(Slurm::healthy(), &requeue(false), 3);
    assert!(outcomes.iter().all(|outcome| outcome.done), "{outcomes:?}");
    assert_eq!(after.changes.len(), 2, "{:?}", after.changes);
    assert_eq!(after.changes[0], "requeue 42_1");
    assert!(after.changes[1].starts_with("update JobId=42_1 ExcNodeList=n1 "), "{:?}", after.changes);
    let (_, after) = execute(Slurm::healthy(), &requeue(true), 1);
    assert_eq!(after.changes[0], "requeuehold 42_1");
}

/// What `show job 42` prints of a het job whose second component is [`Slurm`]'s own job.
fn het(states: [&str; 2], excluded: [&str; 2]) -> String {
    let line = |job: u32, offset: usize| {
        format!(
            "JobId={job} HetJobId=42 HetJobOffset={offset} JobName=x JobState={} Reason=BeginTime Requeue=1 Restarts=1 \
             BatchFlag=1 ExitCode=1:0 ExcNodeList={} NodeList=n{job}\n",
            states[offset], excluded[offset]
        )
    };
    line(42, 0) + &line(43, 1)
}

#[test]
fn a_het_job_is_requeued_by_its_leader_and_what_each_component_excludes_is_kept() {
    let mut slurm = Slurm { name: "JobId=43 HetJobId=42 HetJobOffset=1".into(), ..Slurm::healthy() };
    let runner = Scripted::new(move |command| match command.args.last().map(String::as_str) {
        Some("42") if command.args[0] == "-o" => answered(&het(["COMPLETING", "COMPLETING"], ["n4", "n3"])),
        _ if command.args[0] == "update" => answered(""),
        _ => slurm.answer(command),
    });
    assert!(once(&runner, &requeue(false)).done);
    let said = "AdminComment=slurm-triage: requeued, kept off n1 after its fault; slurm-triage why 42";
    let asked = runner.asked();
    assert_eq!(asked[1], "requeue 42", "the leader");
    assert_eq!(asked[3], format!("update JobId=42+0 ExcNodeList=n[4,1] {said}"));
    assert_eq!(asked[4], format!("update JobId=42+1 ExcNodeList=n[3,1] {said}"));
}

#[test]
fn the_begin_time_of_a_het_job_is_cleared_when_its_last_component_has_left_completing() {
    let looks = Rc::new(RefCell::new(0_u32));
    let count = Rc::clone(&looks);
    let mut slurm = Slurm {
        name: "JobId=43 HetJobId=42 HetJobOffset=1".into(),
        job: "PENDING".into(),
        why: "BeginTime".into(),
        restarts: 1,
        ..Slurm::healthy()
    };
    let runner = Scripted::new(move |command| match command.args.last().map(String::as_str) {
        Some("42") if command.args[0] == "-o" => {
            *count.borrow_mut() += 1;
            let leader = if *count.borrow() < 5 { "COMPLETING" } else { "PENDING" };
            answered(&het([leader, "PENDING"], ["n1", "n1"]))
        }
        Some("StartTime=now") => answered(""),
        _ => slurm.answer(command),
    });
    assert!(once(&runner, &begin()).done);
    assert_eq!(*looks.borrow(), 6, "once more after the credentials' two seconds");
    assert_eq!(runner.asked().last().unwrap(), "update JobId=42 StartTime=now");
}

#[test]
fn what_the_owner_excludes_is_kept() {
    let (_, after) = execute(Slurm { excluded: "n[7-8]".into(), ..Slurm::healthy() }, &requeue(false), 1);
    assert_eq!(after.excluded, "n[7-8,1]");
    let unreadable = Slurm { excluded: "n[7".into(), ..Slurm::healthy() };
    let (outcomes, after) = execute(unreadable, &requeue(false), 1);
    assert!(outcomes[0].done && outcomes[0].answer.contains("cannot be read"), "{}", outcomes[0].answer);
    assert_eq!(after.excluded, "n[7");
}

#[test]
fn a_job_that_may_not_be_run_again_is_left_alone() {
    let healthy = Slurm::healthy;
    for slurm in [
        Slurm { batch: 0, ..healthy() },
        Slurm { requeue: 0, ..healthy() },
        Slurm { job: "CANCELLED".into(), ..healthy() },
        Slurm { job: "COMPLETED".into(), ..healthy() },
        Slurm { why: "TimeLimit".into(), ..healthy() },
        Slurm { started: 1_800_000_001 + 3_600, ..healthy() },
        Slurm { name: "JobId=44".into(), ..healthy() },
    ] {
        let (outcomes, after) = execute(slurm.clone(), &requeue(false), 1);
        assert!(!outcomes[0].done, "{slurm:?}");
        assert!(after.changes.is_empty(), "{slurm:?}");
    }
}

/// Slurm gives an id again after a loss of its state. The new job has never been restarted, as the old one had not.
#[test]
fn a_new_job_under_the_old_id_is_neither_requeued_nor_kept_off_nor_hurried() {
    let later = 1_800_000_000 + 3_600;
    let new = Slurm { submitted: later, started: later + 60, ..Slurm::healthy() };
    for slurm in [
        Slurm { job: "PENDING".into(), why: "BeginTime".into(), ..new.clone() },
        Slurm { job: "PENDING".into(), why: "JobHeldUser".into(), ..new.clone() },
        Slurm { job: "RUNNING".into(), why: "None".into(), ..new.clone() },
        Slurm { job: "FAILED".into(), ..new },
    ] {
        for action in [requeue(false), begin()] {
            let (outcomes, after) = execute(slurm.clone(), &action, 2);
            assert!(after.changes.is_empty(), "{slurm:?}: {:?}", after.changes);
            for outcome in outcomes {
                assert!(!outcome.done && !outcome.retry, "{slurm:?}: {}", outcome.answer);
                assert!(outcome.answer.contains("another"), "{}", outcome.answer);
            }
        }
    }
}

#[test]
fn slurms_own_refusals_are_told_apart() {
    for (refusal, done, retry) in [
        ("Job is pending execution for job 42_1", true, false),
        ("Requested operation is presently disabled for job 43", false, false),
        ("Only batch jobs are accepted or processed for job 43", false, false),
        ("Invalid job id specified for job 43", false, false),
        (AWAY, false, true),
        ("something new", false, false),
    ] {
        let (outcomes, _) = execute(Slurm { refusal: Some(refusal), ..Slurm::healthy() }, &requeue(false), 1);
        assert_eq!((outcomes[0].done, outcomes[0].retry), (done, retry), "{refusal}");
    }
}

#[test]
fn a_known_array_task_is_named_without_asking() {
    let array = Some(ArrayId { job: 42, task: 1 });
    let action = Action::Requeue {
        run: RunId { array, ..run() },
        exclude: Vec::new(),
        hold: false,
        progress: Progress::default(),
        decision: ids().2,
    };
    let (_, after) = execute(Slurm::healthy(), &action, 1);
    assert_eq!(after.changes, ["requeue 42_1"]);
}

#[test]
fn the_begin_time_is_cleared_when_the_job_has_left_completing() {
    let looks =
        Rc::new(RefCell::new((0_u32, Slurm { restarts: 1, why: "BeginTime".into(), ..Slurm::healthy() })));
    let inner = Rc::clone(&looks);
    let runner = Scripted::new(move |command| {
        let (count, slurm) = &mut *inner.borrow_mut();
        *count += 1;
        slurm.job = if *count < 9 { "COMPLETING".into() } else { "PENDING".into() };
        slurm.answer(command)
    });
    assert!(once(&runner, &begin()).done);
    let (count, slurm) = looks.borrow().clone();
    assert_eq!((count, slurm.changes), (11, vec!["update JobId=42_1 StartTime=now".to_owned()]));
}

#[test]
fn a_job_does_not_come_back_in_the_second_in_which_its_credentials_were_revoked() {
    let clock = Rc::new(FakeClock::at(Stamp::from_secs(1_800_000_100)));
    let begun = clock.monotonic();
    let cleared_at = Rc::new(RefCell::new(None));
    let (seen, ticking) = (Rc::clone(&cleared_at), Rc::clone(&clock));
    let mut slurm = Slurm { restarts: 1, job: "PENDING".into(), why: "BeginTime".into(), ..Slurm::healthy() };
    let runner = Scripted::new(move |command| {
        if command.args.iter().any(|arg| arg == "StartTime=now") {
            *seen.borrow_mut() = Some(ticking.monotonic());
        }
        slurm.answer(command)
    });
    let scontrol = Scontrol {
        runner: &runner,
        program: "/usr/bin/scontrol".into(),
        conf: None,
        deadline: Duration::from_secs(3),
    };
    let executor = Executor { scontrol, clock: &*clock, output: None, site: None };
    assert!(executor.execute(&begin(), Deadline::after(&*clock, Duration::from_secs(600))).done);
    let waited = cleared_at.borrow().expect("the begin time is cleared").saturating_sub(begun);
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
    // A health check that finds the step undone has little time for it, and must be able to do it all the same.
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}

/// A job that is requeued after its last epilog keeps the reason of its last run until the scheduler comes by.
#[test]
fn the_reason_of_the_last_run_is_no_other_reason_to_wait() {
    for reason in ["NonZeroExitCode", "None", "NodeDown", "RaisedSignal:9(Killed)", "OutOfMemory"] {
        let slurm = Slurm { restarts: 1, job: "PENDING".into(), ..Slurm::healthy() };
        let looks = Rc::new(RefCell::new((0_u32, slurm)));
        let inner = Rc::clone(&looks);
        let runner = Scripted::new(move |command| {
            let (count, slurm) = &mut *inner.borrow_mut();
            *count += 1;
            slurm.why = if *count < 4 { reason.into() } else { "BeginTime".into() };
            slurm.answer(command)
        });
        assert!(once(&runner, &begin()).done, "{reason}");
        assert_eq!(looks.borrow().1.changes, ["update JobId=42_1 StartTime=now"], "{reason}");
    }
}

#[test]
fn a_job_that_waits_for_something_else_or_runs_is_not_hurried() {
    let pending = Slurm { restarts: 1, job: "PENDING".into(), ..Slurm::healthy() };
    for (slurm, done) in [
        (Slurm { why: "JobHeldUser".into(), ..pending.clone() }, true),
        (Slurm { why: "Resources".into(), ..pending.clone() }, true),
        (Slurm { job: "RUNNING".into(), ..pending.clone() }, true),
        (Slurm { job: "CANCELLED".into(), ..pending.clone() }, true),
        (Slurm { name: "JobId=44".into(), ..pending.clone() }, false),
        (Slurm { restarts: 0, ..pending }, false),
    ] {
        let (outcomes, after) = execute(slurm.clone(), &begin(), 1);
        assert_eq!(outcomes[0].done, done, "{slurm:?}: {}", outcomes[0].answer);
        assert!(after.changes.is_empty(), "{slurm:?}");
    }
}

#[test]
fn waiting_for_the_epilog_ends_with_the_deadline_and_asks_ever_more_rarely() {
    let runner = Scripted::new(|command| Slurm { restarts: 1, ..Slurm::healthy() }.answer(command));
    let outcome = once(&runner, &begin());
    assert!(!outcome.done && outcome.retry);
    assert!(runner.asked().len() < 80, "{} questions in ten minutes", runner.asked().len());
}

#[test]
fn a_refusal_is_carried_out_by_the_exit_code_alone() {
    let (_, case, decision) = ids();
    let (outcomes, after) = execute(Slurm::healthy(), &Action::RefuseJob { run: run(), case, decision }, 1);
    assert!(outcomes[0].done && after.changes.is_empty());
}

#[test]
fn a_requeued_job_says_why_where_its_operators_look() {
    let (_, after) = execute(Slurm::healthy(), &requeue(false), 1);
    let said = "AdminComment=slurm-triage: requeued, kept off n1 after its fault; slurm-triage why 42_1";
    assert_eq!(after.changes.last().unwrap(), &format!("update JobId=42_1 ExcNodeList=n1 {said}"));
}

#[test]
fn an_operators_word_on_a_job_is_not_overwritten() {
    for comment in ["watched by Ann", "x slurm-triage: y"] {
        let slurm = Slurm { comment: comment.into(), ..Slurm::healthy() };
        let (_, after) = execute(slurm, &requeue(false), 1);
        assert_eq!(after.changes.last().unwrap(), "update JobId=42_1 ExcNodeList=n1");
        let held = Slurm { comment: comment.into(), ..held() };
        let (outcomes, after) = execute(held, &explain(), 1);
        assert!(!outcomes[0].done && after.changes.is_empty(), "{comment}");
    }
}

/// A job that asked for an expedited requeue and failed while no epilog did, as 26.05 shows it.
fn held() -> Slurm {
    let why = "job_requeued_in_held_state".to_owned();
    Slurm { job: "REQUEUE_HOLD".into(), why, restarts: 1, ..Slurm::healthy() }
}

fn explain() -> Action {
    Action::Explain { run: run(), text: "an application's fault\n\u{1b}[31m".into(), decision: ids().2 }
}

#[test]
fn a_job_that_slurm_holds_is_told_why() {
    let (outcomes, after) = execute(held(), &explain(), 2);
    assert!(outcomes.iter().all(|outcome| outcome.done), "{outcomes:?}");
    assert_eq!(after.comment, "slurm-triage: an application's fault[31m");
}

#[test]
fn a_job_that_is_not_held_by_slurm_gets_no_word() {
    for (job, why) in [
        ("RUNNING", "None"),
        ("PENDING", "JobHeldUser"),
        ("PENDING", "JobHeldAdmin"),
        ("PENDING", "Priority"),
    ] {
        let slurm = Slurm { job: job.into(), why: why.into(), restarts: 1, ..Slurm::healthy() };
        let (_, after) = execute(slurm, &explain(), 1);
        assert!(after.changes.is_empty(), "{job} {why}");
    }
}

fn kill() -> Action {
    Action::KillSteps { run: run(), decision: ids().2 }
}

/// SIGKILL to a job as such cancels it: only its steps and its batch script may be named.
#[test]
fn the_steps_of_a_running_job_are_killed_one_by_one_and_its_batch_script_last() {
    let mut slurm = Slurm { job: "RUNNING".into(), why: "None".into(), ..Slurm::healthy() };
    let runner = Scripted::new(move |command| match command.args.first().map(String::as_str) {
        Some("-o") if command.args[2] == "step" => answered(
            "StepId=42_1.batch State=RUNNING\nStepId=42_1.0 State=RUNNING Name=x\nStepId=42_1.11 State=RUNNING\n\
             StepId=42_2.0 State=RUNNING\nStepId=42_1.extern State=RUNNING\n",
        ),
        Some("-o") => slurm.answer(command),
        _ => answered(""),
    });
    let outcome = once(&runner, &kill());
    assert!(outcome.done, "{}", outcome.answer);
    let asked = runner.asked();
    assert_eq!(asked[1], "-o show step 42_1");
    assert_eq!(asked[2..], ["--signal=KILL 42_1.0 42_1.11", "--batch --signal=KILL 42_1"]);
    let programs: Vec<_> = runner.commands().iter().map(|command| command.program.clone()).collect();
    assert_eq!(programs[2], std::path::Path::new("/usr/bin/scancel"));
}

#[test]
fn nothing_of_a_job_that_does_not_run_or_is_another_run_is_killed() {
    let runs = Slurm { job: "RUNNING".into(), why: "None".into(), ..Slurm::healthy() };
    for slurm in [
        Slurm::healthy(),
        Slurm { job: "PENDING".into(), ..runs.clone() },
        Slurm { restarts: 1, ..runs.clone() },
        Slurm { requeue: 0, ..runs.clone() },
        Slurm { batch: 0, ..runs.clone() },
        Slurm { started: 1_800_000_001 + 3_600, ..runs.clone() },
        Slurm { name: "JobId=43 HetJobId=42 HetJobOffset=1".into(), ..runs },
    ] {
        let (outcomes, after) = execute(slurm.clone(), &kill(), 1);
        assert!(!outcomes[0].done && !outcomes[0].retry, "{slurm:?}");
        assert!(after.changes.is_empty(), "{slurm:?}");
    }
}

/// Slurm gives ids again: whatever is still to be done about the run that had it before is not done to the one that has it now.
#[test]
fn nothing_is_done_to_another_job_with_the_same_id() {
    let line = |requeued| Action::LastLine {
        run: run(),
        uid: 1_000,
        user: "ann".to_owned(),
        text: "x".to_owned(),
        requeued,
        decision: ids().2,
    };
    let begin = Action::ClearBeginTime { run: run(), not_before: None, decision: ids().2 };
    let actions = [requeue(false), requeue(true), kill(), begin, line(false), line(true), explain()];
    let late = 1_800_000_001 + 3_600;
    for (job, why) in
        [("FAILED", "None"), ("RUNNING", "None"), ("PENDING", "BeginTime"), ("REQUEUE_HOLD", "x")]
    {
        for action in &actions {
            let slurm = Slurm {
                job: job.into(),
                why: why.into(),
                started: late,
                submitted: late,
                ..Slurm::healthy()
            };
            let (outcomes, after) = execute(slurm, action, 1);
            assert!(!outcomes[0].done && !outcomes[0].retry, "{job} {action:?}: {outcomes:?}");
            assert!(after.changes.is_empty(), "{job} {action:?}: {:?}", after.changes);
        }
    }
}

#[test]
fn how_far_a_job_got_goes_with_it() {
    let (node, _, decision) = ids();
    let progress = Progress { step: Some(90), checkpoint: Some(80) };
    let action = Action::Requeue { run: run(), exclude: vec![node], hold: false, progress, decision };
    let (_, after) = execute(Slurm::healthy(), &action, 1);
    let said = "slurm-triage: requeued, kept off n1 after its fault [at step 90, checkpoint 80]; slurm-triage why 42_1";
    assert_eq!(
        after.changes.last().unwrap(),
        &format!("update JobId=42_1 ExcNodeList=n1 AdminComment={said}")
    );
}

/// Whoever asked for it may have died before it could say so.
#[test]
fn a_node_that_is_to_be_booted_already_is_not_asked_for_again() {
    let (node, case, decision) = ids();
    let action =
        Action::Reboot { node, case, boot: triage_core::BootId::from("b1"), reason: OURS.into(), decision };
    for state in ["IDLE+DRAIN+REBOOT_REQUESTED", "DOWN+DRAIN+REBOOT_ISSUED"] {
        let slurm = Slurm { node: state.into(), reason: OURS.into(), ..Slurm::healthy() };
        let (outcomes, after) = execute(slurm, &action, 2);
        assert!(outcomes.iter().all(|outcome| outcome.done), "{state}: {outcomes:?}");
        assert!(after.changes.is_empty(), "{state}: {:?}", after.changes);
    }
}

/// A controller that is being upgraded, for one, answers reads with words that nobody knows here.
#[test]
fn a_read_that_is_refused_for_an_unknown_reason_gives_nothing_up() {
    let (node, case, decision) = (NodeName::from("n1"), CaseId::from("0a1b2c3d"), DecisionId::from("d"));
    let drain = Action::Drain { node: node.clone(), reason: OURS.into(), case: case.clone(), decision };
    let resume = Action::Resume { node, case, from_down: false, decision: DecisionId::from("d") };
    for action in [drain, resume] {
        let words = "slurm_load_node error: Incompatible versions of client and server code";
        let runner = Scripted::new(move |_| failed(words));
        let outcome = once(&runner, &action);
        assert_eq!((outcome.done, outcome.retry), (false, true), "{}: {}", action.kind(), outcome.answer);
    }
}

/// The first of two broken GPUs is mended, and its case is what the reason goes on naming.
#[test]
fn a_node_is_booted_for_a_case_under_our_drain_for_another_and_under_nobody_elses() {
    let (node, case, decision) = ids();
    let action = Action::Reboot { node, case, boot: "b1".into(), reason: OURS.into(), decision };
    let other = "slurm-triage: xid.48 gpu:0000:62:00.0 [case ffffffff]";
    let taken_over = format!("{other} keep out, Ann");
    for (reason, asked) in [(other, true), (&taken_over, false), ("bad fan", false)] {
        let told = reason.to_owned();
        let runner = Scripted::new(move |command| match command.args.first().map(String::as_str) {
            Some("reboot") => answered(""),
            _ => answered(&format!("NodeName=n1 State=IDLE+DRAIN Reason={told} [root@1800000000]\n")),
        });
        assert_eq!(once(&runner, &action).done, asked, "{reason}");
        assert_eq!(runner.asked().iter().any(|words| words.starts_with("reboot")), asked, "{reason}");
    }
}
