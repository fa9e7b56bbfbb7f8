use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::clock::SystemClock;
use crate::runner::{Finished, SystemRunner};
use proptest::prelude::*;
use triage_core::ExitStatus;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, mode: u32, body: &str) {
        let path = self.0.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn run(&self, each_ms: u64, total_ms: u64) -> Sheet<SiteFacts> {
        let node = NodeName::from("n1");
        SiteChecks {
            runner: &SystemRunner,
            clock: &SystemClock,
            folder: self.0.path().to_owned(),
            node: &node,
            enabled: Box::new(|name| name != "off"),
            each: Duration::from_millis(each_ms),
            total: Duration::from_millis(total_ms),
        }
        .run()
    }
}

fn told(sheet: &Sheet<SiteFacts>) -> Vec<(&str, SiteStatus, &str)> {
    let answers = &sheet.said.as_ref().unwrap().answers;
    answers.iter().map(|a| (a.name.as_str(), a.status, a.text.as_str())).collect()
}

#[test]
fn exit_statuses_are_those_of_nagios_and_nothing_of_slurmds_environment_is_seen() {
    let folder = Folder::new();
    folder.write("a", 0o755, "echo \"fine on $SLURMD_NODENAME$HOME | load=3\"; exit 0");
    folder.write("b", 0o755, "echo warm; exit 1");
    folder.write("c", 0o755, "printf 'bad\\033[31m\\n'; exit 2");
    folder.write("d", 0o755, "echo oh >&2; exit 127");
    folder.write("off", 0o755, "exit 2");
    folder.write("README", 0o644, "exit 2");
    folder.write("e.bak", 0o755, "exit 2");
    assert_eq!(
        told(&folder.run(20_000, 60_000)),
        [
            ("a", SiteStatus::Ok, "fine on n1"),
            ("b", SiteStatus::Warning, "warm"),
            ("c", SiteStatus::Critical, "bad\u{fffd}[31m"),
            ("d", SiteStatus::Unknown, "exit 127: oh"),
        ]
    );
}

#[test]
fn half_an_answer_and_a_crash_are_no_health() {
    let folder = Folder::new();
    folder.write("a", 0o755, "echo '{\"status\":\"critical\",\"message\":\"x'; exit 0");
    folder.write("b", 0o755, "echo '{\"status\":\"ok\"}'; kill -9 $$");
    folder.write("c", 0o755, "echo '{\"status\":\"critical\"}'; kill -9 $$");
    folder.write("d", 0o755, "printf '{\"status\":'; head -c 300000 /dev/zero | tr '\\0' '['");
    folder.write("e", 0o755, "echo '{curly}'; exit 2");
    let sheet = folder.run(20_000, 60_000);
    let statuses: Vec<SiteStatus> = told(&sheet).iter().map(|(_, status, _)| *status).collect();
    let [unknown, critical] = [SiteStatus::Unknown, SiteStatus::Critical];
    assert_eq!(statuses, [unknown, unknown, critical, unknown, critical], "{:?}", told(&sheet));
}

#[test]
fn what_others_could_have_written_is_refused_and_the_rest_runs() {
    let folder = Folder::new();
    folder.write("a", 0o775, "exit 0");
    folder.write("b", 0o757, "exit 0");
    folder.write("d", 0o755, "exit 0");
    symlink("/bin/true", folder.0.path().join("c")).unwrap();
    let sheet = folder.run(20_000, 60_000);
    let told = told(&sheet);
    for (name, status, text) in &told[..3] {
        assert!(*status == SiteStatus::Unknown && text.starts_with("refused: "), "{name}: {text}");
    }
    assert_eq!(told[3].1, SiteStatus::Ok);
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(folder.run(20_000, 60_000).said.is_none(), "anybody could put a check there");
}

#[test]
fn one_that_hangs_is_named_and_the_rest_is_told_that_the_time_was_up() {
    let folder = Folder::new();
    folder.write("a", 0o755, "sleep 600");
    folder.write("b", 0o755, "exit 0");
    let sheet = folder.run(100, 100);
    let told = told(&sheet);
    assert!(told[0].1 == SiteStatus::Unknown && told[0].2.contains("no answer within"), "{told:?}");
    assert!(told[1].1 == SiteStatus::Unknown && told[1].2.contains("not run"), "{told:?}");
}

#[test]
fn no_folder_is_no_blindness_and_a_file_in_its_place_is() {
    let folder = Folder::new();
    let run = |path: PathBuf| {
        let node = NodeName::from("n1");
        let (each, total) = (Duration::from_secs(1), Duration::from_secs(1));
        SiteChecks {
            runner: &SystemRunner,
            clock: &SystemClock,
            folder: path,
            node: &node,
            enabled: Box::new(|_| true),
            each,
            total,
        }
        .run()
    };
    assert_eq!(run(folder.0.path().join("none")), Sheet::read(SiteFacts::default()));
    folder.write("file", 0o755, "exit 0");
    assert!(run(folder.0.path().join("file")).said.is_none());
}

fn answered(code: i32, stdout: &[u8]) -> (SiteStatus, String, Option<String>) {
    answer::read(&Finished {
        status: ExitStatus::Exit(code),
        stdout: stdout.to_vec(),
        stderr: Vec::new(),
        truncated: false,
    })
}

#[test]
fn json_goes_before_the_exit_status() {
    let own = br#"{"status": "CRITICAL", "message": "port down", "code": "ib.down", "resource": "nic:mlx5_0", "more": 1}"#;
    assert_eq!(
        answered(0, own),
        (SiteStatus::Critical, "ib.down: port down".to_owned(), Some("nic:mlx5_0".to_owned()))
    );
    assert_eq!(answered(0, br#"{"status": "on fire"}"#).0, SiteStatus::Unknown);
    let verdict = br#"{"overall_severity": "UNKNOWN", "affected_components": []}"#;
    assert_eq!(answered(1, verdict).0, SiteStatus::Unknown);
    let verdict = br#"{"overall_severity": "CRITICAL", "affected_components":
        [{"category": "nvlink", "check_ids": ["nvlink_active"], "entities": ["GPU-1"], "max_severity": "CRITICAL"}]}"#;
    assert_eq!(
        answered(1, verdict),
        (SiteStatus::Critical, "CRITICAL nvlink_active (GPU-1)".to_owned(), None)
    );
    assert_eq!(answered(2, b"{not json").0, SiteStatus::Critical, "what is no JSON is text");
    let otherwise =
        br#"{"overall_severity": "CRITICAL", "affected_components": ["nvlink", 3, {"entities": "GPU-1"}]}"#;
    assert_eq!(answered(0, otherwise), (SiteStatus::Critical, "CRITICAL nvlink".to_owned(), None));
    let otherwise = br#"{"status": "warning", "message": {"why": "hot"}, "resource": 7}"#;
    assert_eq!(
        answered(0, otherwise),
        (SiteStatus::Warning, r#"{"why":"hot"}"#.to_owned(), Some("7".to_owned()))
    );
    assert_eq!(answered(0, br#"{"status": 2}"#).0, SiteStatus::Unknown, "a word that is none is no health");
}

#[test]
fn a_flood_is_cut_to_size() {
    let (_, text, _) = answered(2, &vec![b'x'; 1 << 20]);
    assert_eq!(text.len(), 300);
    let resource = format!(r#"{{"status": "ok", "resource": "{}"}}"#, "r".repeat(1000));
    assert_eq!(answered(0, resource.as_bytes()).2, None);
}

proptest! {
    #[test]
    fn any_output_is_answered(stdout in proptest::collection::vec(any::<u8>(), 0..300), code in -1..300) {
        let (_, text, _) = answered(code, &stdout);
        prop_assert!(!text.chars().any(char::is_control));
    }
}
