//! The metrics file as the health check's own executable leaves it.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["state", "run", "collector"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("slurm.conf"), "NodeName=n1 CPUs=1 RealMemory=1\n").unwrap();
        fs::write(folder.path().join("kern.log"), "").unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn textfile(&self) -> PathBuf {
        self.path().join("collector/slurm_triage_n1.prom")
    }

    /// One health check with these further lines in triage.toml.
    fn check(&self, more: &str) -> Output {
        self.check_with(more, str::to_owned)
    }

    /// The same, with a change to triage.toml.
    fn check_with(&self, more: &str, change: impl Fn(&str) -> String) -> Output {
        let at = self.path().display();
        let text = format!(
            "[paths]\nstate = \"{at}/state\"\nrun = \"{at}/run\"\npolicy = \"{at}/policy.toml\"\nchecks = \"{at}/checks.d\"\n\
             [slurm]\nscontrol = \"/bin/false\"\nconf = \"{at}/slurm.conf\"\n[nvml]\nenabled = \"never\"\n\
             [kernel_log]\nsource = \"file\"\npath = \"{at}/kern.log\"\n{more}\n"
        );
        let config = self.path().join("triage.toml");
        fs::write(&config, change(&text)).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_triage-healthcheck"))
            .arg("--config")
            .arg(&config)
            .env_clear()
            .env("SLURMD_NODENAME", "n1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }

    fn wanted(&self) -> String {
        format!("[metrics]\ntextfile = \"{}/collector/slurm_triage_%n.prom\"\n", self.path().display())
    }

    /// The samples, by name and labels as written.
    fn samples(&self) -> BTreeMap<String, f64> {
        let text = fs::read_to_string(self.textfile()).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.map(|line| line.rsplit_once(' ').unwrap());
        samples.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
    }
}

#[test]
fn without_a_word_of_the_site_no_file_is_written() {
    let node = Node::new();
    node.check("");
    assert_eq!(fs::read_dir(node.path().join("collector")).unwrap().count(), 0);
}

#[test]
fn what_is_open_blind_and_decided_is_told_and_goes_again() {
    let node = Node::new();
    let expect =
        "[expect]\nmounts = [{ path = \"/nonexistent/scratch\" }]\n[checks.mounts]\naction = \"drain\"\n";
    node.check(&format!("{}{expect}", node.wanted()));
    let told = node.samples();
    let of = |name: &str| told.get(name).copied();
    assert_eq!(of("slurm_triage_up"), Some(1.0));
    assert_eq!(of("slurm_triage_cases_open{class=\"system\",code=\"check.mounts\"}"), Some(1.0), "{told:?}");
    assert_eq!(of("slurm_triage_cases_open_total"), Some(1.0));
    assert_eq!(of("slurm_triage_check_unwell{check=\"mounts\",state=\"bad\"}"), Some(1.0));
    assert!(
        of("slurm_triage_check_unwell_since_timestamp_seconds{check=\"mounts\",state=\"bad\"}").unwrap()
            > 1e9
    );
    assert_eq!(of("slurm_triage_events_last_day{code=\"check.mounts\"}"), Some(1.0));
    assert_eq!(of("slurm_triage_acts{action=\"drain\"}"), Some(0.0));
    let stream = format!("{}/kern.log", node.path().display());
    let known = |(name, _): &(&String, &f64)| {
        name.starts_with("slurm_triage_source_blind{") && name.contains(&stream)
    };
    assert_eq!(told.iter().find(known).map(|(_, value)| *value), Some(0.0), "{told:?}");
    assert!(
        told.keys().any(|name| name.starts_with("slurm_triage_decisions_last_day{intent=\"")),
        "{told:?}"
    );

    node.check(&node.wanted());
    let told = node.samples();
    assert_eq!(told.get("slurm_triage_cases_open_total"), Some(&0.0));
    assert!(!told.keys().any(|name| name.starts_with("slurm_triage_cases_open{")), "{told:?}");
}

#[test]
fn a_source_that_the_configuration_no_longer_has_is_not_told() {
    let node = Node::new();
    let more = node.wanted();
    // A health check with another path, which is corrected afterwards.
    let wrong = |config: &str| config.replace("/kern.log\"", "/wrong.log\"");
    node.check_with(&more, wrong);
    assert!(node.samples().keys().any(|name| name.contains("wrong.log")), "{:?}", node.samples());
    node.check(&more);
    let told = node.samples();
    assert!(!told.keys().any(|name| name.contains("wrong.log")), "{told:?}");
    assert!(told.keys().any(|name| name.contains("source_blind{") && name.contains("kern.log")), "{told:?}");
}

#[test]
fn a_source_that_cannot_be_read_is_blind_and_says_since_when() {
    let node = Node::new();
    node.check(&node.wanted());
    fs::remove_file(node.path().join("kern.log")).unwrap();
    fs::create_dir(node.path().join("kern.log")).unwrap();
    node.check(&node.wanted());
    let told = node.samples();
    let blind = |name: &str| told.iter().find(|(key, _)| key.starts_with(name) && key.contains("kern.log"));
    assert_eq!(blind("slurm_triage_source_blind{").map(|(_, value)| *value), Some(1.0), "{told:?}");
    let since = blind("slurm_triage_source_blind_since_timestamp_seconds{").map(|(_, value)| *value);
    assert!(since.is_some_and(|since| since > 1e9 && since <= told["slurm_triage_pass_timestamp_seconds"]));
}

#[test]
fn a_file_that_cannot_be_written_is_a_warning_and_nothing_else() {
    let node = Node::new();
    let output = node.check("[metrics]\ntextfile = \"/nonexistent/folder/x.prom\"\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/nonexistent/folder/x.prom"), "{said}");
    assert!(node.path().join("state/ledger.db").is_file(), "the pass was made all the same");
}

#[test]
fn without_a_ledger_the_file_says_so_and_nothing_of_the_node() {
    let node = Node::new();
    node.check(&node.wanted());
    assert!(node.samples().contains_key("slurm_triage_checks{state=\"ok\"}"));
    fs::remove_dir_all(node.path().join("state")).unwrap();
    fs::write(node.path().join("state"), "no folder").unwrap();
    node.check(&node.wanted());
    let told = node.samples();
    assert_eq!(told.get("slurm_triage_up"), Some(&0.0));
    assert!(told.keys().all(|name| !name.contains("_checks") && !name.contains("_cases")), "{told:?}");
    let mode = fs::metadata(node.textfile()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}
