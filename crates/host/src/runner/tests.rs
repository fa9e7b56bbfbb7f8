use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;

/// Long enough for a loaded machine; nothing here waits for it when the code is right.
const PATIENCE: Duration = Duration::from_secs(30);

/// For commands that do not end by themselves.
const SHORT: Duration = Duration::from_millis(300);

fn sh(script: &str, deadline: Duration) -> Result<Finished, RunError> {
    SystemRunner.run(&shell(script, deadline))
}

fn shell(script: &str, deadline: Duration) -> Command {
    Command::new("/bin/sh", deadline).args(["-c", script])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn alive(pid: u32) -> bool {
    crate::proc::Root::default().process(pid).is_some_and(|stat| !stat.has_ended())
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The pid a script wrote into a file.
fn pid_in(path: &Path) -> u32 {
    let mut pid = None;
    eventually("no pid was written", || {
        pid = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}

#[test]
fn both_outputs_and_the_status_are_told() {
    let out = sh("echo out; echo err >&2; exit 3", PATIENCE).unwrap();
    assert_eq!((text(&out.stdout), text(&out.stderr)), ("out\n".into(), "err\n".into()));
    assert_eq!((out.status, out.truncated), (ExitStatus::Exit(3), false));
    assert_eq!(sh("kill -9 $$", PATIENCE).unwrap().status, ExitStatus::Signal(9));
}

#[test]
fn environment_folder_input_and_descriptors_are_ours_to_say() {
    // A descriptor above 2 that is not close-on-exec must not be inherited.
    let leaked = fs::File::open("/dev/null").unwrap();
    nix::fcntl::fcntl(&leaked, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    let command = shell(
        "echo ${HOME-none} ${PATH_TO-none} $GIVEN; pwd; readlink /proc/self/fd/0; ls /proc/self/fd",
        PATIENCE,
    )
    .env("GIVEN", "yes")
    .env("PATH", "/usr/bin:/bin");
    let out = SystemRunner.run(&command).unwrap();
    // `ls` has one more open: the folder it lists.
    assert_eq!(text(&out.stdout), "none none yes\n/\n/dev/null\n0\n1\n2\n3\n");
}

#[test]
fn it_leads_a_session_of_its_own() {
    let stat = text(&sh("read line </proc/self/stat; echo \"$line\"; echo $$", PATIENCE).unwrap().stdout);
    let mut lines = stat.lines();
    let fields: Vec<&str> =
        lines.next().unwrap().rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let pid = lines.next().unwrap();
    assert_eq!((fields[2], fields[3]), (pid, pid), "process group and session");
}

#[test]
fn what_is_no_command_is_refused_before_anything_runs() {
    for command in [
        Command::new("sh", SHORT),
        Command::new("./sh", SHORT),
        Command::new("/bin/sh", SHORT).args(["a\0b"]),
        Command::new("/bin/sh", SHORT).env("A=B", "x"),
        Command::new("/bin/sh", SHORT).env("A", "x\0"),
    ] {
        assert!(matches!(SystemRunner.run(&command), Err(RunError::Refused { .. })), "{command:?}");
        assert!(matches!(detach(&command), Err(RunError::Refused { .. })), "{command:?}");
    }
}

#[test]
fn a_program_that_cannot_run_is_told_from_one_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    let run = |path: PathBuf| SystemRunner.run(&Command::new(path, PATIENCE)).unwrap_err();
    assert!(matches!(run(folder.path().join("none")), RunError::NotFound { .. }));
    assert!(matches!(run(plain.clone()), RunError::Denied { .. }));
    fs::write(&plain, "#!/nonexistent/interpreter\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(run(plain), RunError::NotFound { .. }));
    assert!(matches!(run(folder.path().to_owned()), RunError::Denied { .. }));
    assert!(matches!(run("/dev/null/x".into()), RunError::Spawn { .. }));
    assert!(matches!(
        detach(&Command::new(folder.path().join("none"), PATIENCE)),
        Err(RunError::NotFound { .. })
    ));
}

#[test]
fn a_child_that_ignores_signals_is_killed_at_its_deadline_with_what_it_had_said() {
    let error = sh("trap '' TERM INT HUP; echo begun; while :; do :; done", SHORT).unwrap_err();
    let RunError::Deadline { stuck, stdout, deadline, .. } = error else { panic!("{error}") };
    assert_eq!((text(&stdout), deadline), ("begun\n".into(), SHORT));
    assert!(!stuck.left_behind && stuck.state.is_some());
    assert_eq!(stuck.comm.as_deref(), Some("sh"), "read before the kill");
    eventually("the child is still there", || !alive(stuck.pid));
}

#[test]
fn a_grandchild_that_holds_the_pipe_delays_nobody_and_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let begun = Instant::now();
    let out =
        sh(&format!("(trap '' TERM HUP; sleep 1000) & echo $! >{}; echo done", file.display()), PATIENCE)
            .unwrap();
    assert_eq!((out.status, text(&out.stdout)), (ExitStatus::Exit(0), "done\n".into()));
    assert!(begun.elapsed() < PATIENCE, "waited for the grandchild");
    let grandchild = pid_in(&file);
    eventually("the grandchild is still there", || !alive(grandchild));
}

#[test]
fn at_the_deadline_the_grandchildren_go_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("trap '' TERM; sleep 1000 & echo $! >{}; wait", file.display());
    assert!(matches!(sh(&script, SHORT), Err(RunError::Deadline { .. })));
    let grandchild = pid_in(&file);
    eventually("the grandchild is still there", || !alive(grandchild));
}

#[test]
fn output_without_end_is_cut_and_does_not_block_the_child() {
    let mut command = shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo end", PATIENCE);
    command = command.env("PATH", "/usr/bin:/bin");
    command.output_cap = 1000;
    let out = SystemRunner.run(&command).unwrap();
    assert_eq!((out.stdout.len(), out.stderr.len(), out.truncated), (1000, 1000, true));
    assert_eq!(out.status, ExitStatus::Exit(0));
}

#[test]
fn output_without_end_does_not_outlive_the_deadline() {
    let mut command = shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", SHORT);
    command.output_cap = 1000;
    let error = SystemRunner.run(&command).unwrap_err();
    assert!(matches!(error, RunError::Deadline { ref stdout, .. } if stdout.len() == 1000), "{error}");
}

#[test]
fn a_child_that_closes_its_outputs_is_still_waited_for() {
    let out = sh("exec >&- 2>&-; sleep 0.2; exit 4", PATIENCE).unwrap();
    assert_eq!(out.status, ExitStatus::Exit(4));
}

#[test]
fn what_was_started_works_before_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    let started = SystemRunner.start(shell(&format!("echo said; touch {}", there.display()), PATIENCE));
    eventually("it did not begin", || there.exists());
    assert_eq!(text(&started().unwrap().stdout), "said\n");
    let nothing = SystemRunner.start(Command::new("/nonexistent/program", PATIENCE));
    assert!(matches!(nothing(), Err(RunError::NotFound { .. })));
}

#[test]
fn a_deadline_runs_from_the_start_and_what_ended_in_time_is_taken_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let quick = SystemRunner.start(shell(&format!("echo in time; echo $$ >{}", pid.display()), SHORT));
    let slow = SystemRunner.start(shell("exec sleep 600", SHORT));
    let pid = pid_in(&pid);
    eventually("it did not end", || !alive(pid));
    std::thread::sleep(SHORT);
    assert_eq!(text(&quick().unwrap().stdout), "in time\n");
    assert!(matches!(slow(), Err(RunError::Deadline { .. })));
}

#[test]
fn the_pid_file_is_there_while_it_runs_and_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.pid");
    let mut command =
        shell(&format!("until read pid start <{}; do :; done; echo $pid $$", file.display()), PATIENCE);
    command.pid_file = Some(file.clone());
    let out = text(&SystemRunner.run(&command).unwrap().stdout);
    let (noted, own) = out.trim().split_once(' ').unwrap();
    assert_eq!(noted, own);
    assert!(!file.exists());
    let mut command = shell("sleep 1000", SHORT);
    command.pid_file = Some(file.clone());
    assert!(SystemRunner.run(&command).is_err());
    assert!(!file.exists(), "it went at SIGKILL, so nobody has to know of it");
}

#[test]
fn a_run_folder_that_cannot_be_written_stops_no_command() {
    let mut command = shell("echo on", PATIENCE);
    command.pid_file = Some("/nonexistent/folder/pid".into());
    assert_eq!(text(&SystemRunner.run(&command).unwrap().stdout), "on\n");
}

#[test]
fn a_detached_program_is_inits_and_holds_nothing_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("facts");
    let script = format!(
        "f=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | tr '\\n' ' '); \
         read line </proc/$$/stat; set -- $line; echo \"$f $4 $6 $$ ${{HOME-none}} $GIVEN\" >{0}.new; mv {0}.new {0}",
        file.display()
    );
    let command = shell(&script, PATIENCE).env("PATH", "/usr/bin:/bin").env("GIVEN", "yes");
    detach(&command).unwrap();
    eventually("the detached program said nothing", || file.exists());
    let facts = fs::read_to_string(&file).unwrap();
    let fields: Vec<&str> = facts.split_ascii_whitespace().collect();
    let [_, out, err, parent, session, pid, home, given] = fields[..] else { panic!("{facts}") };
    assert_eq!((out, err, home, given), ("/dev/null", "/dev/null", "none", "yes"));
    assert_ne!(parent, std::process::id().to_string());
    assert_ne!(session, pid, "a session leader could take a terminal");
}

#[test]
fn what_went_wrong_says_what_to_do() {
    let not_found = RunError::NotFound { program: "/x/scontrol".into() };
    assert_eq!(
        not_found.to_string(),
        "/x/scontrol: no such program: install it, or correct its path in triage.toml"
    );
    let stuck =
        Stuck { pid: 7, state: Some('D'), wchan: Some("nv_lock".into()), comm: None, left_behind: true };
    let deadline = RunError::Deadline {
        program: "/x/p".into(),
        deadline: SHORT,
        stuck: Box::new(stuck),
        stdout: Vec::new(),
    };
    assert_eq!(
        deadline.to_string(),
        "/x/p: no answer within 300 ms (pid 7, state D, in nv_lock, survived SIGKILL)"
    );
}
