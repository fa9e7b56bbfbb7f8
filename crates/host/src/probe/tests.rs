use std::rc::Rc;

use proptest::prelude::*;
use triage_core::Stamp;
use triage_core::reading::NvmlState;

use super::*;
use crate::testkit::{FakeClock, Scripted, answered, failed};

const OK: &str = r#"{"state":"ok","gpus":[{"index":0,"lost":true}]}"#;

fn run(runner: &dyn Runner, pid_file: PathBuf) -> Result<NvmlReading, ProbeFailure> {
    run_under(&Root::default(), runner, pid_file)
}

fn run_under(root: &Root, runner: &dyn Runner, pid_file: PathBuf) -> Result<NvmlReading, ProbeFailure> {
    let probe = Probe {
        runner,
        clock: &FakeClock::at(Stamp::from_secs(1_800_000_000)),
        root,
        program: "/x/triage-probe".into(),
        library: "libnvidia-ml.so.1".into(),
        scenario: Some("/s.toml".into()),
        pid_file,
        deadline: Duration::from_secs(1),
    };
    probe.run()
}

/// What a program gets that wants a sweep while another one's probe runs, with its pid on file or without.
fn beside_another(deadline: Duration, noted: bool) -> ProbeFailure {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.pid");
    let seen = Rc::new(std::cell::RefCell::new(None));
    let inner = Rc::clone(&seen);
    let pid_file = file.clone();
    let first = Scripted::new(move |_| {
        let (pid, start) = me();
        if noted {
            fs::write(&pid_file, format!("{pid} {start}\n")).unwrap();
        }
        let probe = Probe {
            runner: &Scripted::in_order([]),
            clock: &FakeClock::at(Stamp::from_secs(1_800_000_000)),
            root: &Root::default(),
            program: "/x/triage-probe".into(),
            library: "libnvidia-ml.so.1".into(),
            scenario: None,
            pid_file: pid_file.clone(),
            deadline,
        };
        *inner.borrow_mut() = Some(probe.run());
        let _ = fs::remove_file(&pid_file);
        answered(OK)
    });
    assert!(run(&first, file).is_ok());
    seen.borrow_mut().take().unwrap().unwrap_err()
}

#[test]
fn a_probe_of_another_program_that_outlasts_a_whole_deadline_is_called_hung() {
    let whole = Duration::from_secs(20);
    let still = beside_another(whole, true);
    assert!(still.hung() && matches!(still, ProbeFailure::StillHung { .. }), "{still}");
    assert!(still.to_string().contains("still hangs"), "{still}");
    let killed = beside_another(whole, false);
    assert!(killed.hung(), "{killed}");
    assert_eq!(killed.to_string(), "another program's probe hung: no answer after 20000 ms");
    let short = beside_another(Duration::from_secs(1), true);
    assert!(!short.hung(), "{short}");
    assert_eq!(short.to_string(), "another program's probe was still running after 1000 ms");
}

fn nowhere() -> PathBuf {
    "/nonexistent/probe.pid".into()
}

fn me() -> (u32, u64) {
    let pid = std::process::id();
    (pid, Root::default().process(pid).unwrap().start_ticks)
}

#[test]
fn a_reading_is_passed_on() {
    let runner = Scripted::in_order([answered(OK)]);
    assert!(run(&runner, nowhere()).unwrap().gpus[0].lost);
    assert_eq!(runner.asked(), ["--library libnvidia-ml.so.1 --scenario /s.toml --json"]);
}

#[test]
fn what_is_no_reading_is_a_failure_and_not_health() {
    for answer in [
        answered(""),
        answered("[]"),
        answered("{}"),
        answered("null"),
        answered("{\"gpus\":[]}"),
        answered("{\"state\":\"ok\""),
        answered("{\"state\":\"splendid\"}"),
        answered("{\"state\":\"ok\"} trailing"),
        failed("no"),
        Err(RunError::NotFound { program: "/x".into() }),
    ] {
        let shown = format!("{answer:?}");
        let runner = Scripted::in_order([answer]);
        assert!(matches!(run(&runner, nowhere()), Err(ProbeFailure::Failed(_))), "{shown}");
    }
}

#[test]
fn a_library_that_crashes_it_is_a_failure_with_its_signal() {
    let crash = Finished {
        status: ExitStatus::Signal(11),
        stdout: OK.as_bytes().to_vec(),
        stderr: Vec::new(),
        truncated: false,
    };
    let runner = Scripted::in_order([Ok(crash)]);
    assert_eq!(run(&runner, nowhere()), Err(ProbeFailure::Died(11)));
}

#[test]
fn a_hang_is_told_with_the_place_where_it_happened() {
    let stuck = Stuck {
        pid: 7,
        state: Some('D'),
        wchan: Some("os_acquire_mutex".into()),
        comm: Some("nvml gpu 3".into()),
        left_behind: true,
    };
    let deadline = Duration::from_secs(1);
    let hang =
        RunError::Deadline { program: "/x".into(), deadline, stuck: Box::new(stuck), stdout: Vec::new() };
    let failure = run(&Scripted::in_order([Err(hang)]), nowhere()).unwrap_err();
    assert!(failure.hung());
    assert_eq!(failure.to_string(), "no answer within 1000 ms (at nvml gpu 3, state D, in os_acquire_mutex)");
}

#[test]
fn no_second_probe_is_started_beside_one_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.pid");
    let (pid, start) = me();
    fs::write(&file, format!("{pid} {start}\n")).unwrap();
    let runner = Scripted::in_order([]);
    let failure = run(&runner, file.clone()).unwrap_err();
    assert!(matches!(failure, ProbeFailure::StillHung { .. }) && failure.hung());
    assert!(runner.asked().is_empty() && file.exists());
}

#[test]
fn an_earlier_hang_still_names_the_gpu_it_was_at() {
    let folder = tempfile::tempdir().unwrap();
    let proc = folder.path().join("proc/7");
    fs::create_dir_all(&proc).unwrap();
    let stat =
        "7 (nvml gpu 3) D 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 777 4096 1 18446744073709551615\n";
    for (name, text) in [("stat", stat), ("wchan", "os_acquire_mutex"), ("comm", "nvml gpu 3\n")] {
        fs::write(proc.join(name), text).unwrap();
    }
    let file = folder.path().join("probe.pid");
    fs::write(&file, "7 777\n").unwrap();
    let root = Root::new(folder.path());
    let again = || run_under(&root, &Scripted::in_order([]), file.clone()).unwrap_err();
    assert_eq!(
        again().to_string(),
        "an earlier probe (pid 7) still hangs (at nvml gpu 3, in os_acquire_mutex)"
    );
    fs::write(proc.join("comm"), "triage-probe\n").unwrap();
    assert_eq!(again().to_string(), "an earlier probe (pid 7) still hangs (in os_acquire_mutex)");
}

#[test]
fn a_pid_that_another_process_has_now_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.pid");
    for noted in [format!("{} 1\n", me().0), "4194304 7\n".into(), "x".into(), String::new(), "1".into()] {
        fs::write(&file, noted).unwrap();
        assert!(run(&Scripted::in_order([answered(OK)]), file.clone()).is_ok());
    }
}

#[test]
fn two_that_want_a_sweep_take_turns_and_neither_calls_the_other_hung() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.pid");
    let inner_file = file.clone();
    let seen = Rc::new(std::cell::RefCell::new(None));
    let inner_seen = Rc::clone(&seen);
    // While the first one's probe runs, with its pid on file, a second program wants one.
    let first = Scripted::new(move |_| {
        let (pid, start) = me();
        fs::write(&inner_file, format!("{pid} {start}\n")).unwrap();
        *inner_seen.borrow_mut() = Some(run(&Scripted::in_order([]), inner_file.clone()));
        fs::remove_file(&inner_file).unwrap();
        answered(OK)
    });
    assert!(run(&first, file.clone()).is_ok());
    let second = seen.borrow_mut().take().unwrap().unwrap_err();
    assert_eq!(second, ProbeFailure::Busy(Duration::from_secs(1)));
    assert!(!second.hung());
    assert!(run(&Scripted::in_order([answered(OK)]), file).is_ok(), "the turn is given back");
}

#[test]
fn a_node_without_the_library_is_a_state() {
    let runner = Scripted::in_order([answered(r#"{"state":"library_missing"}"#)]);
    assert_eq!(run(&runner, nowhere()).unwrap().state, NvmlState::LibraryMissing);
}

proptest! {
    #[test]
    fn any_answer_is_answered(answer in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = reading(&answer);
    }
}
