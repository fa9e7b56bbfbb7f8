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
    let paths = worth_asking(&mounts, &expected);
    let told: Vec<(&str, How)> = paths.iter().map(|(path, how)| (path.as_str(), *how)).collect();
    assert_eq!(told, [("/scratch", How::Write), ("/", How::Room), ("/dev/shm", How::Room)]);
}

#[test]
fn the_child_tells_room_errors_and_writes_without_leaving_anything() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display().to_string();
    let paths = [
        (here.clone(), How::Write),
        ("/nonexistent".to_owned(), How::Room),
        ("/proc".to_owned(), How::Write),
        ("/dev/null".to_owned(), How::Health),
    ];
    let mut out = Vec::new();
    child::ask(&paths, Duration::from_secs(20), &mut out).unwrap();
    let of: BTreeMap<String, Answer> = lines(&out, &paths).collect();
    assert_eq!(of.len(), 4);
    assert!(of[&here].bytes > 0 && of[&here].error.is_none() && of[&here].write_error.is_none(), "{of:?}");
    assert!(of["/nonexistent"].error.is_some());
    assert!(of["/proc"].write_error.is_some());
    let disk = &of["/dev/null"];
    assert!(disk.health.is_none() && disk.error.as_deref().unwrap().contains("ioctl"), "{disk:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_does_not_answer_in_time_is_named_and_the_rest_is_told() {
    let mut out = Vec::new();
    // With no time at all nothing can have answered.
    child::ask(&[("/".to_owned(), How::Room)], Duration::ZERO, &mut out).unwrap();
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

fn paths() -> Vec<(String, How)> {
    vec![("/a".to_owned(), How::Room), ("/b".to_owned(), How::Room)]
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

#[test]
fn disks_are_asked_beside_the_filesystems_and_what_came_of_them_is_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::default();
    let names = (0..100).map(|number| format!("nvme{number}")).collect();
    let mut asked = paths();
    asked.extend(worth_asking_disks(names));
    assert_eq!(asked.len(), 2 + MAX_DISKS);
    asked.truncate(5);
    let told = "{\"path\":\"/a\",\"bytes\":10}\n{\"path\":\"/b\",\"bytes\":10}\n{\"path\":\"/dev/nvme0\",\"health\":{\"warnings\":8}}\n{\"path\":\"/dev/nvme1\",\"error\":\"Permission denied\"}\n";
    let runner = Scripted::in_order([answered(told)]);
    let sheet = asking(&runner, &root, folder.path()).ask(asked).answer();
    assert_eq!(sheet.blind, [""; 0], "a disk without an answer makes no filesystem blind");
    let space = sheet.said.unwrap();
    assert_eq!(space.of.keys().collect::<Vec<_>>(), ["/a", "/b"]);
    assert_eq!(space.disks["nvme0"].health.unwrap().warnings, 8);
    assert_eq!(space.disks["nvme1"].error.as_deref(), Some("Permission denied"));
    assert_eq!(space.disks["nvme2"].error.as_deref(), Some("not asked: no answer"));
    let args = &runner.commands()[0].args;
    assert_eq!(args[2..8], ["--path", "/a", "--path", "/b", "--nvme", "/dev/nvme0"]);
}

proptest! {
    #[test]
    fn any_answer_is_read(said in proptest::collection::vec(any::<u8>(), 0..200)) {
        let asked = paths();
        let _ = lines(&said, &asked).count();
    }
}
