use super::*;
use proptest::prelude::*;

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::new(dir.path());
    (dir, root)
}

#[test]
fn this_machine_tells_its_boot_and_this_process() {
    let root = Root::default();
    assert_eq!(root.boot_id().unwrap().as_str().len(), 36);
    assert!(root.boot_time().unwrap() > Stamp::from_secs(1_000_000_000));
    let own = root.process(std::process::id()).unwrap();
    assert!(own.start_ticks > 0 && !own.has_ended());
    assert_eq!(root.process(u32::MAX), None);
}

#[test]
fn a_process_name_cannot_pose_as_other_fields() {
    let line = b"42 (evil) Z 1 2 3) D 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 777 4096 1 18446744073709551615\n";
    assert_eq!(ProcStat::parse(line), Some(ProcStat { state: 'D', start_ticks: 777 }));
}

#[test]
fn a_wchan_that_is_no_name_is_none() {
    let (_dir, root) = tree(&[
        ("proc/1/wchan", "0"),
        ("proc/2/wchan", ""),
        ("proc/3/wchan", "os_acquire_mutex\n"),
        ("proc/4/wchan", "a\x1b[31m"),
    ]);
    assert_eq!(root.wchan(1), None);
    assert_eq!(root.wchan(2), None);
    assert_eq!(root.wchan(3).as_deref(), Some("os_acquire_mutex"));
    assert_eq!(root.wchan(4), None);
    assert_eq!(root.wchan(5), None);
}

#[test]
fn a_process_name_that_could_disturb_a_log_line_is_none() {
    let (_dir, root) = tree(&[
        ("proc/1/comm", "nvml gpu 3\n"),
        ("proc/2/comm", "\n"),
        ("proc/3/comm", "a\nb\n"),
        ("proc/4/comm", "a\x1b[31m\n"),
        ("proc/6/comm", "caf\u{e9}\n"),
    ]);
    assert_eq!(root.comm(1).as_deref(), Some("nvml gpu 3"));
    for pid in 2..=6 {
        assert_eq!(root.comm(pid), None, "{pid}");
    }
}

#[test]
fn a_broken_proc_is_an_error_and_no_zero() {
    let (_dir, root) = tree(&[("proc/stat", "cpu 1 2 3\nbtime x\n")]);
    assert!(root.boot_time().is_err());
    assert!(root.boot_id().is_err());
}

proptest! {
    #[test]
    fn no_stat_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ProcStat::parse(&line);
    }
}
