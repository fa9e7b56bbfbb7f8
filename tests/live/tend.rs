//! The suite on a cluster: its configuration, its ledgers, its health check, and putting all of it back.

use crate::cluster::{Cluster, Options, hooks};
use crate::command::{Answer, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

/// What tests may change, and `begin_anew` puts back.
const CHANGED: [&str; 3] = ["etc/triage.toml", "etc/policy.toml", "bin/epilog"];

/// Deadlines that no hook runs into on a machine with other things to do: milliseconds, the shipped ones being for a node
/// that has its job alone. A test that is about one sets it ([`Cluster::configure`]).
const DEADLINES: [(&str, &str, &str); 6] = [
    ("slurm", "command_deadline_ms", "10000"),
    ("deadlines", "prolog_ms", "20000"),
    ("deadlines", "epilog_ms", "40000"),
    ("deadlines", "healthcheck_ms", "55000"),
    ("deadlines", "probe_ms", "30000"),
    ("output", "deadline_ms", "15000"),
];

/// Checks that look at what this machine, which plays the nodes, is at besides: full and read-only filesystems of other
/// tests, and jobs of other clusters, for some.
const ELSEWHERE: [&str; 15] = [
    "clock_sync",
    "inodes",
    "leftover_processes",
    "leftover_shm",
    "load",
    "memory_left",
    "mount_answers",
    "mount_readonly",
    "open_files",
    "services",
    "space",
    "stuck_processes",
    "swap",
    "tasks",
    "zombies",
];

/// A cluster under the suite in act mode, where health checks run when a test runs them.
pub(crate) fn up(options: Options) -> Cluster {
    up_with_health_checks(options, "0")
}

/// [`up`], with a health check of slurmd's every so many seconds.
pub(crate) fn up_with_health_checks(options: Options, seconds: &str) -> Cluster {
    let hooks = hooks();
    let hooks = hooks.to_str().expect("the hooks' path is UTF-8");
    let options = options.with("--hooks", hooks).with("--mode", "act").with("--health-interval", seconds);
    let cluster = Cluster::up(&options);
    for (section, key, value) in DEADLINES {
        cluster.configure(section, key, value);
    }
    for name in ELSEWHERE {
        cluster.configure(&format!("checks.{name}"), "enabled", "false");
    }
    cluster
}

impl Cluster {
    /// Sets `key = value` (TOML) in a section of triage.toml, for every hook that starts from now on.
    pub(crate) fn configure(&self, section: &str, key: &str, value: &str) {
        let path = self.dir().join("etc/triage.toml");
        let text = fs::read_to_string(&path).expect("triage.toml is read");
        let (head, line) = (format!("[{section}]\n"), format!("{key} = {value}\n"));
        let new = match text.split_once(&head) {
            Some((before, after)) => {
                // In the place of what was set before.
                let (mine, others) = after.split_at(after.find("\n[").unwrap_or(after.len()));
                let is_it = |line: &&str| line.starts_with(&format!("{key} = "));
                let rest: String = mine.split_inclusive('\n').filter(|line| !is_it(line)).collect();
                format!("{before}{head}{line}{rest}{others}")
            }
            None => format!("{text}\n{head}{line}"),
        };
        replace(&path, &new);
    }

    /// Rewrites policy.toml.
    pub(crate) fn policy(&self, change: impl FnOnce(&str) -> String) {
        let path = self.dir().join("etc/policy.toml");
        let text = fs::read_to_string(&path).expect("policy.toml is read");
        let new = change(&text);
        assert_ne!(new, text, "the policy was to change");
        replace(&path, &new);
    }

    /// From now on nothing is carried out.
    pub(crate) fn monitor_mode(&self) {
        self.policy(|text| text.replacen("default = \"act\"", "default = \"monitor\"", 1));
    }

    /// Runs the node's health check as slurmd does, and waits for its end.
    pub(crate) fn health_check(&self, node: &str) -> Answer {
        let program = self.dir().join("bin/healthcheck");
        let name = format!("SLURMD_NODENAME={node}");
        let mut argv = vec!["env", "-i", &name];
        // With another release of Slurm, where its scontrol is.
        let in_root = self.in_root();
        argv.extend(in_root.as_deref());
        argv.push(program.to_str().expect("UTF-8"));
        run(&argv, &[])
    }

    /// `slurm-triage` as a person runs it on the node.
    pub(crate) fn triage(&self, node: &str, args: &[&str]) -> Answer {
        let in_root = self.in_root();
        let program = format!("{}/hooks/slurm-triage", self.dir_text());
        let config = format!("{}/etc/triage.toml", self.dir_text());
        let place = [program.as_str(), "--node", node, "--config", &config];
        let argv: Vec<&str> =
            in_root.as_deref().into_iter().chain(place).chain(args.iter().copied()).collect();
        self.run(&argv)
    }

    /// Rows of the node's ledger, read with sqlite3 as a person would.
    pub(crate) fn ledger(&self, node: &str, sql: &str) -> Vec<Value> {
        let path = self.node_dir(node).join("state/ledger.db");
        if !path.exists() {
            return Vec::new();
        }
        let path = path.to_str().expect("UTF-8");
        let out = run(&["sqlite3", "-readonly", "-json", "-cmd", ".timeout 10000", path, sql], &[]);
        let out = out.success(sql);
        if out.trim().is_empty() { Vec::new() } else { serde_json::from_str(&out).expect("sqlite3 -json") }
    }

    /// One value of the node's ledger as text; empty where there is none.
    pub(crate) fn ledger_value(&self, node: &str, sql: &str) -> String {
        let rows = self.ledger(node, sql);
        let value = rows.first().and_then(|row| row.as_object()?.values().next().cloned());
        match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        }
    }

    /// Processes of this cluster's hooks: pid and command line.
    pub(crate) fn hook_processes(&self, word: &str) -> Vec<(u32, String)> {
        let folder = self.dir().join("hooks");
        let folder = folder.to_str().expect("UTF-8");
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.starts_with(folder) && line.contains(word) {
                found.push((pid, line));
            }
        }
        found
    }
}

/// Keeps what tests may change as it was made.
pub(crate) fn remember(cluster: &Cluster) {
    for name in CHANGED {
        let path = cluster.dir().join(name);
        fs::copy(&path, path.with_extension("made")).expect("a file of the cluster is copied");
    }
}

/// Ends what hooks have left running: finishers that wait, probes that hang.
pub(crate) fn stop(cluster: &Cluster) {
    for (pid, _) in cluster.hook_processes("triage-") {
        run(&["kill", "-KILL", &pid.to_string()], &[]);
    }
}

/// Healthy hardware, the first configuration, and ledgers that hold one healthy sweep and nothing else.
pub(crate) fn begin_anew(cluster: &Cluster) {
    for name in CHANGED {
        let path = cluster.dir().join(name);
        replace(
            &path,
            &fs::read_to_string(path.with_extension("made")).expect("a file of the cluster is read"),
        );
    }
    // Jobs have ended, and their epilogs with them: only a finisher may still have the ledger open.
    cluster.wait_for("no hook runs", || {
        stop(cluster);
        cluster.hook_processes("triage-").is_empty().then_some(())
    });
    for node in NODES {
        let dir = cluster.node_dir(node);
        cluster.mend(node);
        let _ = run(&["umount", "-l", dir.join("state").to_str().expect("UTF-8")], &[]);
        // A test that failed may have left a file in its place.
        let state = dir.join("state");
        fs::remove_dir_all(&state).or_else(|_| fs::remove_file(&state)).expect("the ledger goes");
        fs::create_dir(&state).expect("a folder for the next ledger");
        let _ = fs::remove_dir_all(dir.join("run"));
        fs::create_dir_all(dir.join("run/spool")).expect("a folder for the spool");
        // A new file, or the reader would find it truncated.
        fs::write(dir.join("kern.log.new"), "").expect("an empty kernel log");
        fs::rename(dir.join("kern.log.new"), dir.join("kern.log")).expect("it takes the old one's place");
    }
    std::thread::scope(|scope| {
        for node in NODES {
            scope.spawn(move || assert!(cluster.health_check(node).ok()));
        }
    });
    let _ = fs::remove_dir_all(cluster.dir().join("spy"));
    for entry in fs::read_dir(cluster.dir().join("jobs")).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
    }
}

/// Writes a file whole: whoever reads or runs it sees the old text or the new one.
pub(crate) fn replace(path: &Path, text: &str) {
    let new: PathBuf = path.with_extension("new");
    fs::write(&new, text).expect("a new version is written");
    if let Ok(old) = fs::metadata(path) {
        fs::set_permissions(&new, old.permissions()).expect("it may be run as the old one");
    }
    fs::rename(&new, path).expect("it takes the old one's place");
}
