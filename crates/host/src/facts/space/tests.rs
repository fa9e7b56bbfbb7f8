use super::*;
use crate::runner::Stuck;
use crate::testkit::{Scripted, answered};
use proptest::prelude::*;
use triage_core::facts::host::Mount;

fn mount(path: &str, kind: &str, device: &str) -> Mount {
    Mount { path: path.to_owned(), kind: kind.to_owned(), device: device.to_owned(), ..Mount::default() }
}

#[test]
fn a_device_is_asked_once_and_an_image_not_at_all() {
    let mounted = vec![
        mount("/", "ext4", "8:1"),
        mount("/bound", "ext4", "8:1"),
        mount("/snap/core", "squashfs", "7:0"),
        mount("/run/user/1000", "tmpfs", "0:50"),
        mount("/dev/shm", "tmpfs", "0:24"),
        mount("/scratch", "lustre", "0:60"),
    ];
    let mounts = Mounts { mounted, fstab: Vec::new() };
    let expected = [("/scratch".to_owned(), true), ("/absent".to_owned(), false)];
    let paths: Vec<(String, bool)> = worth_asking(&mounts, &expected);
    let told: Vec<(&str, bool)> = paths.iter().map(|(path, write)| (path.as_str(), *write)).collect();
    assert_eq!(told, [("/scratch", true), ("/", false), ("/dev/shm", false)]);
}

#[test]
fn the_child_tells_room_errors_and_writes_without_leaving_anything() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display().to_string();
    let paths = [(here.clone(), true), ("/nonexistent".to_owned(), false), ("/proc".to_owned(), true)];
    let mut out = Vec::new();
    child::ask(&paths, Duration::from_secs(20), &mut out).unwrap();
    let of: BTreeMap<String, Answer> = lines(&out, &paths).collect();
    assert_eq!(of.len(), 3);
    assert!(of[&here].bytes > 0 && of[&here].error.is_none() && of[&here].write_error.is_none(), "{of:?}");
    assert!(of["/nonexistent"].error.is_some());
    assert!(of["/proc"].write_error.is_some());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_does_not_answer_in_time_is_named_and_the_rest_is_told() {
    let mut out = Vec::new();
    // With no time at all nothing can have answered.
    child::ask(&[("/".to_owned(), false)], Duration::ZERO, &mut out).unwrap();
    let told: Vec<Line> = parse(&out).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].answer.hung || told[0].answer.bytes > 0);
}

fn asking<'a>(runner: &'a Scripted, root: &'a Root, folder: &Path) -> Asking<'a> {
    Asking {
        runner,
        root,
        program: "/usr/lib/slurm-triage/triage-probe".into(),
        deadline: Duration::from_millis(100),
        notes: folder.join("held"),
    }
}

const HUNG: &[u8] =
    b"{\"path\":\"/a\",\"bytes\":10}\n{\"path\":\"/b\",\"hung\":true,\"wchan\":\"nfs_wait\"}\n";

fn paths() -> Vec<(String, bool)> {
    vec![("/a".to_owned(), false), ("/b".to_owned(), false)]
}

#[test]
fn a_child_that_cannot_end_is_remembered_and_its_filesystem_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::default();
    let own = std::process::id();
    let stuck = Stuck { pid: own, left_behind: true, ..Stuck::default() };
    let error = RunError::Deadline {
        program: "/x".into(),
        deadline: Duration::from_millis(100),
        stuck: Box::new(stuck),
        stdout: HUNG.to_vec(),
    };
    let runner = Scripted::in_order([Err(error)]);
    let sheet = asking(&runner, &root, folder.path()).ask(paths()).answer();
    assert_eq!(sheet.blind, [""; 0]);
    let of = sheet.said.unwrap().of;
    assert!(of["/b"].hung && of["/a"].bytes == 10);

    let runner = Scripted::in_order([answered("{\"path\":\"/a\",\"bytes\":11}\n")]);
    let sheet = asking(&runner, &root, folder.path()).ask(paths()).answer();
    let of = sheet.said.unwrap().of;
    assert!(of["/b"].hung && of["/a"].bytes == 11);
    assert!(!runner.commands()[0].args.contains(&"/b".to_owned()), "the hung one is not asked again");

    fs::write(folder.path().join("held"), format!("{own} 1 /b\nnonsense\n")).unwrap();
    assert_eq!(asking(&runner, &root, folder.path()).held(), [], "another process of that number");
}

#[test]
fn a_child_that_could_not_be_run_is_blindness() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::default();
    let runner = Scripted::in_order([]);
    let sheet = asking(&runner, &root, folder.path()).ask(paths()).answer();
    assert!(sheet.blind[0].contains("/a, /b not asked"), "{:?}", sheet.blind);
}

proptest! {
    #[test]
    fn any_answer_is_read(said in proptest::collection::vec(any::<u8>(), 0..200)) {
        let asked = paths();
        let _ = lines(&said, &asked).count();
    }
}
