//! The state checks as slurmd runs them: the health check's own executable on this very machine.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use triage_core::checks::{CheckState, CheckWord};
use triage_core::{Case, CaseState, Stamp};
use triage_ledger::{Filter, Ledger, OpenOptions};

struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["state", "run", "checks.d"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(folder.path().join("slurm.conf"), "NodeName=n1 CPUs=1 RealMemory=1\n").unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// One health check with these further lines in triage.toml.
    fn check(&self, more: &str) {
        let libexec = PathBuf::from(env!("CARGO_BIN_EXE_triage-probe"));
        let at = self.path().display();
        let text = format!(
            "[paths]\nstate = \"{at}/state\"\nrun = \"{at}/run\"\npolicy = \"{at}/policy.toml\"\nchecks = \"{at}/checks.d\"\n\
             libexec = \"{}\"\n[slurm]\nscontrol = \"/bin/false\"\nconf = \"{at}/slurm.conf\"\n[nvml]\nenabled = \"never\"\n\
             [kernel_log]\nsource = \"file\"\npath = \"{at}/kern.log\"\n{more}\n",
            libexec.parent().unwrap().display()
        );
        fs::write(self.path().join("kern.log"), "").unwrap();
        let config = self.path().join("triage.toml");
        fs::write(&config, text).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_triage-healthcheck"))
            .arg("--config")
            .arg(&config)
            .env_clear()
            .env("SLURMD_NODENAME", "n1")
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn ledger(&self) -> Ledger {
        let now = Stamp::from_secs(4_000_000_000);
        Ledger::open(&self.path().join("state/ledger.db"), &OpenOptions::reader(Duration::from_secs(20), now))
            .unwrap()
    }

    fn cases(&self) -> Vec<Case> {
        self.ledger().cases(&Filter::default()).unwrap()
    }

    fn state(&self, name: &str) -> CheckState {
        self.ledger().checks().unwrap().into_iter().find(|state| state.name == name).unwrap()
    }

    fn site_check(&self, name: &str, mode: u32, body: &str) {
        let path = self.path().join("checks.d").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn this_machine_as_it_is_raises_no_case() {
    let node = Node::new();
    node.check("");
    node.check("");
    let cases = node.cases();
    assert!(cases.is_empty(), "{:?}", cases.iter().map(|case| &case.why).collect::<Vec<_>>());
    for name in ["mounts", "mount_answers", "space", "memory", "zombies", "cpus_offline", "tasks"] {
        let state = node.state(name);
        assert_eq!(state.state, CheckWord::Ok, "{name}: {}", state.text);
    }
    // Who may not ask the disks of this machine is blind on them, and says so.
    let smart = node.state("disk_smart");
    let none = !Path::new("/sys/class/nvme/nvme0").exists();
    assert!(
        !none || (smart.state, smart.value.as_deref()) == (CheckWord::Ok, Some("0 NVMe disks")),
        "{smart:?}"
    );
    assert!(
        smart.state == CheckWord::Ok || smart.text.contains("its health log cannot be read"),
        "{smart:?}"
    );
}

#[test]
fn a_filesystem_that_is_missing_opens_one_case_and_its_return_closes_it() {
    let node = Node::new();
    let expect = "[expect]\nmounts = [{ path = \"/nonexistent/scratch\" }]\n";
    node.check(expect);
    node.check(expect);
    let cases = node.cases();
    assert_eq!(cases.len(), 1, "{cases:?}");
    assert_eq!(cases[0].why, "/nonexistent/scratch: not mounted, expected by [expect]");
    assert_eq!((cases[0].code.as_str(), cases[0].state), ("check.mounts", CaseState::Open));
    assert_eq!(node.state("mounts").state, CheckWord::Bad);
    node.check("");
    assert_eq!(node.cases()[0].state, CaseState::Resolved);
    assert_eq!(node.state("mounts").state, CheckWord::Ok);
}

#[test]
fn a_sites_own_check_is_run_and_one_that_anybody_could_write_is_not() {
    let node = Node::new();
    node.site_check("bad", 0o755, "echo 'fan 3 stands still | rpm=0'; exit 2");
    node.site_check("loose", 0o777, "exit 2");
    node.site_check("slow", 0o755, "sleep 600");
    node.check("[deadlines]\nsite_check_ms = 300\n");
    assert_eq!(node.cases().iter().map(|case| case.code.as_str()).collect::<Vec<_>>(), ["site.bad"]);
    assert_eq!(node.state("site.bad").text, "bad: fan 3 stands still");
    for (name, why) in [("site.loose", "refused"), ("site.slow", "no answer within 300 ms")] {
        let state = node.state(name);
        assert!(state.state == CheckWord::Blind && state.text.contains(why), "{name}: {}", state.text);
    }
    node.site_check("bad", 0o755, "exit 0");
    node.check("[checks.\"site.bad\"]\ngood_for_s = 0\n[checks.\"site.slow\"]\nenabled = false\n");
    assert_eq!(node.cases()[0].state, CaseState::Resolved);
}

#[test]
fn a_name_no_check_has_is_said_and_stops_nothing() {
    let node = Node::new();
    node.check("[checks.mount]\nenabled = false\n[checks.mounts]\nwhen = 1\n");
    let trouble = node.ledger().audit(&Filter::default()).unwrap();
    let told = |text: &str| trouble.iter().any(|row| row.note.text.contains(text));
    assert!(told("unknown key checks.mount is ignored"), "{trouble:?}");
    assert!(told("unknown key checks.mounts.when is ignored"), "{trouble:?}");
    assert_eq!(node.state("mounts").state, CheckWord::Ok);
}
