//! A node made up in a folder: configuration, policy, ledger.
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use triage_ledger::{Ledger, OpenOptions};

use super::run::{self, Answer};
use super::{NOW, T0};

/// A node in a folder that is gone at the end of the test.
pub(crate) struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    /// With a configuration, and without policy and ledger.
    pub(crate) fn new() -> Self {
        let node = Self { folder: tempfile::tempdir().unwrap() };
        let dir = node.dir();
        let config = format!(
            "[paths]\nstate = \"{dir}/state\"\nrun = \"{dir}/run\"\npolicy = \"{dir}/policy.toml\"\ncatalog = \
             \"{dir}/catalog.d\"\nlibexec = \"{dir}/libexec\"\n[slurm]\nscontrol = \
             \"{dir}/scontrol\"\n[kernel_log]\nsource = \"kmsg\"\npath = \"{dir}/kern.log\"\n[nvml]\nenabled = \"always\"\n"
        );
        node.write("triage.toml", &config);
        node
    }

    /// Of a filled ledger.
    pub(crate) fn with(fill: impl FnOnce(&mut Ledger)) -> Self {
        let node = Self::new();
        node.fill(fill);
        node
    }

    /// Fills its ledger.
    pub(crate) fn fill(&self, fill: impl FnOnce(&mut Ledger)) {
        let options = OpenOptions::writer(Duration::from_secs(20), T0);
        fill(&mut Ledger::open(&self.ledger(), &options).unwrap());
    }

    /// Its folder.
    pub(crate) fn dir(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// A path inside of its folder.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where its ledger is.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("state/ledger.db")
    }

    /// Writes a file into its folder.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes an executable into its folder. By another process: were this one to fork in another test's thread just
    /// then, the file would stay open for writing in the child, and could not be run.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", "cat >\"$1\" && chmod 0755 \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
    }

    /// The program in its folder, for another user, who may not look where the build lies.
    pub(crate) fn copy_of_the_program(&self) -> PathBuf {
        let copy = self.path("slurm-triage");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_slurm-triage")).arg(&copy).status();
        assert!(copied.unwrap().success());
        copy
    }

    /// Lets everybody look at everything, and nobody but its owner change anything.
    pub(crate) fn open_to_all(&self) {
        let opened = Command::new("chmod").args(["-R", "a+rX,go-w"]).arg(self.folder.path()).status();
        assert!(opened.unwrap().success());
    }

    /// Changes its configuration.
    pub(crate) fn configure(&self, from: &str, to: &str) {
        let path = self.path("triage.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "no {from} in {text}");
        fs::write(&path, text.replace(from, to)).unwrap();
    }

    /// Its policy, in this mode.
    pub(crate) fn policy(&self, mode: &str) {
        let policy = triage_core::policy::DEFAULT_POLICY;
        self.write("policy.toml", policy.replace("default = \"monitor\"", &format!("default = \"{mode}\"")));
    }

    /// Runs the program on it, seen from [`NOW`].
    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        self.run_at(&NOW.to_string(), args)
    }

    /// Runs the program on it, seen from `now`.
    pub(crate) fn run_at(&self, now: &str, args: &[&str]) -> Answer {
        run::run(&[&self.place(now).iter().map(String::as_str).collect::<Vec<_>>(), args].concat())
    }

    /// The arguments that lead to it.
    pub(crate) fn place(&self, now: &str) -> Vec<String> {
        let config = self.path("triage.toml").display().to_string();
        ["--config", &config, "--node", "n1", "--now", now].map(str::to_owned).to_vec()
    }

    /// `text` without the name of its folder.
    pub(crate) fn scrub(&self, text: &str) -> String {
        text.replace(&self.dir(), "DIR")
    }

    /// The JSON of an answer, without the name of its folder.
    pub(crate) fn scrubbed(&self, answer: &Answer) -> serde_json::Value {
        serde_json::from_str(&self.scrub(&answer.out)).unwrap()
    }
}
