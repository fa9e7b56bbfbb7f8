use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use tempfile::TempDir;
use triage_core::catalog::Catalog;
use triage_core::{BootId, NodeName, Stamp};

use super::*;
use crate::clock::SystemClock;
use crate::runner::Stuck;
use crate::testkit::{Scripted, answered, failed};

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::default);

/// A folder with a job's output in it.
struct Job {
    folder: TempDir,
}

impl Job {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn request(&self, stdout: &str, stderr: &str) -> OutputRequest {
        OutputRequest {
            job: 4711,
            array: None,
            name: "train".to_owned(),
            user: "ann".to_owned(),
            nodes: vec![NodeName::from("n1"), NodeName::from("n2")],
            uid: 1000,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            work_dir: self.folder.path().display().to_string(),
            start: Stamp::from_secs(1),
            end: None,
            node: NodeName::from("n1"),
            boot: BootId::new("b"),
        }
    }

    fn order(&self, stdout: &str, stderr: &str) -> Order {
        Order {
            request: self.request(stdout, stderr),
            owner: None,
            head: 1 << 20,
            tail: 64 << 20,
            millis: 60_000,
            catalog: PathBuf::new(),
            task: Task::Look,
        }
    }

    fn report(&self, stdout: &str, stderr: &str) -> OutputReport {
        child::report(&self.order(stdout, stderr), &CATALOG, in_time())
    }
}

fn in_time() -> Deadline {
    Deadline::after(&SystemClock, Duration::from_secs(60))
}

fn names(report: &OutputReport) -> Vec<&str> {
    report.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn both_streams_are_read_and_one_file_for_both_is_read_once() {
    let job = Job::new();
    job.write("o-4711", "x\n").write("e", "y\n");
    assert_eq!(names(&job.report("o-%j", "e")), ["e", "o-4711"]);
    assert_eq!(names(&job.report("o-4711", "o-4711")), ["o-4711"]);
    symlink(job.path("e"), job.path("o-2")).unwrap();
    assert_eq!(names(&job.report("e", "o-2")), ["e"], "two names of one file");
}

#[test]
fn files_of_tasks_and_nodes_are_found_in_their_folder() {
    let job = Job::new();
    for name in ["4711-0.n1", "4711-1.n1", "4711-8.n2", "4711-0.n3", "4712-0.n1", "4711-x.n1"] {
        job.write(name, "x\n");
    }
    assert_eq!(names(&job.report("%j-%t.%N", "")), ["4711-0.n1", "4711-1.n1", "4711-8.n2"]);
}

#[test]
fn files_of_one_name_in_two_folders_are_told_apart() {
    let job = Job::new();
    fs::create_dir(job.path("a")).unwrap();
    fs::create_dir(job.path("b")).unwrap();
    job.write("a/log", "x\n").write("b/log", "y\n");
    assert_eq!(names(&job.report("a/log", "b/log")), ["log", "log.2"]);
}

#[test]
fn what_is_no_file_with_something_in_it_is_said_and_holds_nobody() {
    let job = Job::new();
    nix::unistd::mkfifo(&job.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(job.path("socket")).unwrap();
    symlink("circle", job.path("circle")).unwrap();
    symlink("/dev/zero", job.path("zero")).unwrap();
    job.write("empty", "");
    for (name, why) in [
        ("fifo", "it is a FIFO"),
        ("socket", "socket"),
        ("circle", "circle"),
        ("zero", "it is a device"),
        ("/dev/null", "it is a device"),
        ("/dev/tty", "it is a device"),
        (".", "it is a folder"),
        ("empty", "it is empty"),
        ("missing", "there is no such file"),
        ("missing/o", "there is no such file"),
        ("o-%t", "there is no such file"),
        ("missing/o-%t", "cannot be searched"),
        ("x\0y", "NUL"),
        ("", "started by srun or salloc"),
    ] {
        let report = job.report(name, "");
        assert!(report.files.is_empty(), "{name}");
        assert!(report.blind.len() == 1 && report.blind[0].contains(why), "{name}: {:?}", report.blind);
    }
}

#[test]
fn a_file_of_an_earlier_job_is_none_of_this_one() {
    let job = Job::new();
    job.write("o", "x\n");
    let mut order = job.order("o", "");
    order.request.start = Stamp::from_micros(i64::MAX / 2);
    let report = child::report(&order, &CATALOG, in_time());
    assert!(report.blind[0].contains("before the run began"), "{:?}", report.blind);
}

#[test]
fn of_a_huge_file_the_beginning_and_the_end_are_read() {
    let job = Job::new();
    let mut file = fs::File::create(job.path("o")).unwrap();
    file.write_all(b"first line\n").unwrap();
    let length = 1_u64 << 40;
    file.set_len(length).unwrap();
    let mut order = job.order("o", "");
    (order.head, order.tail) = (1000, 5000);
    let report = child::report(&order, &CATALOG, in_time());
    assert_eq!((report.files[0].length, report.files[0].read), (length, 6000));
    assert!(
        report.blind[0].contains(&format!("{} of its {length} bytes", length - 6000)),
        "{:?}",
        report.blind
    );
}

#[test]
fn when_the_time_is_up_the_end_is_read_all_the_same() {
    let job = Job::new();
    let text: String = (0..700_000).map(|number| format!("{number}\n")).collect();
    job.write("o", &text);
    let order = job.order("o", "");
    let (files, blind) = copy::collect(&order, Deadline::after(&SystemClock, Duration::ZERO));
    let parts = &files[0].parts;
    assert_eq!(parts.len(), 2);
    assert!(text.as_bytes().starts_with(&parts[0]) && text.as_bytes().ends_with(&parts[1]));
    assert!(parts[0].len() < 300_000 && parts[1].len() == 1 << 20, "{} {}", parts[0].len(), parts[1].len());
    assert!(blind[0].contains("were not read"), "{blind:?}");
}

#[test]
fn a_thousand_small_files_share_what_one_large_one_may_have() {
    let job = Job::new();
    for task in 0..1000 {
        job.write(&format!("o-{task}"), format!("{task}\n").repeat(100));
    }
    let mut order = job.order("o-%t", "");
    (order.head, order.tail) = (10_000, 100_000);
    let report = child::report(&order, &CATALOG, in_time());
    assert_eq!(report.files.len(), 1000);
    let read: u64 = report.files.iter().map(|file| file.read).sum();
    assert!(read <= 110_000 && report.files.iter().all(|file| file.read > 0), "{read}");
    assert!(report.blind.len() < 20, "{}", report.blind.len());
}

#[test]
fn a_file_that_changes_under_the_reader_does_no_harm() {
    let job = Job::new();
    job.write("o", "x\n".repeat(100_000));
    let (found, _) = find::find(&job.request("o", ""));
    let read = |expected: &str| {
        let (mut blind, mut bytes) = (Vec::new(), 0);
        let plan = child::plan(&found, 1000, 150_000)[0];
        child::read(&found[0], plan, in_time(), &mut blind, &mut |piece| {
            if let child::Piece::Bytes(piece, _) = piece {
                bytes += piece.len();
            }
        });
        assert!(blind.concat().contains(expected), "{blind:?}");
        bytes
    };
    job.write("o", "y\n".repeat(1_000_000));
    assert_eq!(read("were not read"), 151_000, "it grew");
    job.write("o", "z\n");
    assert_eq!(read("were not read"), 2, "it was cut");
    fs::remove_file(job.path("o")).unwrap();
    assert_eq!(read("no such file"), 0, "it is gone");
    nix::unistd::mkfifo(&job.path("o"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(read("it is a FIFO"), 0, "it became a FIFO");
}

#[test]
fn a_name_that_is_no_text_is_read() {
    use std::os::unix::ffi::OsStrExt;
    let job = Job::new();
    fs::write(job.folder.path().join(std::ffi::OsStr::from_bytes(b"o-\xff.log")), "x\n").unwrap();
    // As scontrol's answer is taken: what is no UTF-8 in it is replaced.
    assert_eq!(names(&job.report("o-\u{fffd}.log", "")), ["o-\u{fffd}.log"]);
}

#[test]
fn a_line_longer_than_any_buffer_is_passed_over() {
    let job = Job::new();
    job.write("o", [b"x".repeat(3 << 20), b"\nend\n".to_vec()].concat());
    let report = job.report("o", "");
    assert_eq!(report.files[0].read, (3 << 20) + 5);
    assert!(report.blind.is_empty());
}

fn reader<'a>(runner: &'a dyn Runner, root: &'a Root) -> OutputReader<'a> {
    OutputReader {
        runner,
        clock: &SystemClock,
        root,
        program: "/proc/self/exe".into(),
        args: vec!["--read-output".to_owned()],
        limits: config::Output::default(),
        catalog: PathBuf::new(),
        run_folder: None,
    }
}

fn hung(left_behind: bool) -> Result<Finished, RunError> {
    let stuck = Stuck {
        pid: 77,
        state: Some('D'),
        wchan: Some("rpc_wait_bit_killable".to_owned()),
        comm: Some("triage-output".to_owned()),
        left_behind,
    };
    Err(RunError::Deadline {
        program: "/proc/self/exe".into(),
        deadline: Duration::from_millis(3000),
        stuck: Box::new(stuck),
        stdout: b"{\"v\":1".to_vec(),
    })
}

#[test]
fn a_reader_that_does_not_answer_is_one_sentence() {
    let (job, root) = (Job::new(), Root::default());
    let request = job.request("o", "");
    let signal = |signal| {
        Ok(Finished {
            status: ExitStatus::Signal(signal),
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
        })
    };
    let truncated = || answered("{").map(|finished| Finished { truncated: true, ..finished });
    for (answer, why) in [
        (hung(true), "within 3000 ms (pid 77, state D, in rpc_wait_bit_killable, left behind)"),
        (signal(9), "ended by signal 9"),
        (failed("no\u{1b}[2J memory"), "exit code 1: no\\u{1b}[2J memory"),
        (answered(""), "answer is none"),
        (answered("{\"v\":9,\"files\":[],\"events\":[],\"blind\":[]}"), "version 9"),
        (truncated(), "too long"),
        (Err(RunError::NotFound { program: "/x".into() }), "no such program"),
    ] {
        let runner = Scripted::in_order([answer.clone(), answer]);
        let report = reader(&runner, &root).read(&request, in_time());
        assert!(report.blind.len() == 1 && report.blind[0].contains(why), "{why}: {:?}", report.blind);
        let copy = reader(&runner, &root).copy(&request, in_time());
        assert!(copy.files.is_empty() && copy.blind.len() == 1, "{why}: {copy:?}");
    }
}

#[test]
fn where_one_hangs_no_second_one_is_sent() {
    let (job, root) = (Job::new(), Root::default());
    let runner = Scripted::in_order([answered("{\"v\":1,\"files\":[],\"events\":[],\"blind\":[]}")]);
    let mut reader = reader(&runner, &root);
    reader.run_folder = Some(job.folder.path().to_owned());
    // It is this very process that "hangs"; the pid is noted long ago.
    let me = std::process::id();
    let start = root.process(me).unwrap().start_ticks;
    job.write("output-1000.pid", format!("{me} {start}"));
    let noted = fs::File::options().write(true).open(job.path("output-1000.pid")).unwrap();
    noted.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    let report = reader.read(&job.request("o", ""), in_time());
    assert!(report.blind[0].contains(&format!("(pid {me}")), "{:?}", report.blind);
    assert!(runner.commands().is_empty());
    // Another process has the number by now: it is free again.
    job.write("output-1000.pid", format!("{me} {}", start + 1));
    let noted = fs::File::options().write(true).open(job.path("output-1000.pid")).unwrap();
    noted.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert!(reader.read(&job.request("o", ""), in_time()).blind.is_empty());
    assert_eq!(runner.commands().len(), 1);
}

#[test]
fn neither_without_leave_nor_without_time_is_anything_started() {
    let (job, root) = (Job::new(), Root::default());
    let runner = Scripted::in_order([]);
    let mut reader = reader(&runner, &root);
    let late = Deadline::after(&SystemClock, Duration::ZERO);
    assert!(reader.read(&job.request("o", ""), late).blind[0].contains("no time"));
    reader.limits.enabled = false;
    assert!(reader.read(&job.request("o", ""), in_time()).blind[0].contains("enabled"));
    let endless = OutputRequest { stdout: "x".repeat(200_000), ..job.request("", "") };
    reader.limits.enabled = true;
    assert!(reader.read(&endless, in_time()).blind[0].contains("no path"));
    assert!(runner.commands().is_empty());
}

#[test]
fn paths_are_told_to_nobody_else_on_the_node() {
    let (job, root) = (Job::new(), Root::default());
    let runner = Scripted::in_order([hung(false)]);
    reader(&runner, &root).read(&job.request("secret", ""), in_time());
    let command = &runner.commands()[0];
    assert_eq!(command.args, ["--read-output"]);
    assert_eq!(command.env.len(), 1, "the environment is empty but for the order");
}

#[test]
fn of_whom_nothing_is_known_the_least_rights_are_taken() {
    assert_eq!(rights::rights_of(1000), 1000);
    assert_eq!(rights::rights_of(0), 65_534);
    assert_eq!(rights::rights_of(u32::MAX), 65_534);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_copied_is_the_file_but_for_what_is_left_out(
        text in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 1..2000),
        head in 0u64..1500,
        tail in 0u64..1500,
    ) {
        let job = Job::new();
        job.write("o", &text);
        let mut order = job.order("o", "");
        (order.head, order.tail) = (head, tail);
        let (files, blind) = copy::collect(&order, in_time());
        let (first, last) = (files[0].parts.first().unwrap(), files[0].parts.last().unwrap());
        prop_assert!(text.starts_with(first) && text.ends_with(last));
        let read: usize = files[0].parts.iter().map(Vec::len).sum();
        prop_assert_eq!(read as u64, (head + tail).min(text.len() as u64));
        prop_assert_eq!(blind.is_empty(), read == text.len());
    }
}
