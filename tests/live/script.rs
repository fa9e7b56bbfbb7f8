//! `scripts/cluster` itself: it may touch nothing that is not its own, and must leave nothing behind.

use crate::cluster::{Cluster, Options, script};
use crate::command::run;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn down_ends_every_process_and_removes_the_folder() {
    let cluster = Cluster::up(&Options::default().with("--nodes", "2"));
    // A task that leaves its session and ignores every polite signal, and one below it.
    let stubborn = "trap '' TERM HUP INT; setsid sleep 301 & srun sleep 301";
    let id = cluster.sbatch(&["--nodes=2"], stubborn);
    cluster.wait_job(&id, "RUNNING");
    cluster.wait_for("the tasks run", || (processes_of(&cluster).len() > 6).then_some(()));
    let dir = cluster.dir().to_owned();
    let before = processes_of(&cluster);
    script(&["down", "--dir", cluster.dir_text()]).success("down");
    let left: Vec<&(String, String)> = before.iter().filter(|(pid, start)| still_runs(pid, start)).collect();
    assert!(left.is_empty(), "still there: {left:?}");
    assert!(!dir.exists());
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn up_twice_changes_nothing_and_brings_back_what_died() {
    let cluster = Cluster::up(&Options::default().with("--nodes", "2"));
    let id = cluster.sbatch(&[], "sleep 300");
    cluster.wait_job(&id, "RUNNING");
    let before = pids(&cluster);
    cluster.up_again(&Options::default());
    assert_eq!(pids(&cluster), before);
    cluster.stop("slurmctld");
    cluster.stop("n2");
    assert_eq!(script(&["status", "--dir", cluster.dir_text()]).status, 3);
    cluster.start("n2");
    cluster.up_again(&Options::default());
    assert!(cluster.job(&id).expect("the job outlived its controller").is("RUNNING"));
    assert_eq!(script(&["status", "--dir", cluster.dir_text()]).status, 0);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn two_clusters_run_side_by_side() {
    let small = Options::default().with("--nodes", "1");
    let (one, two) = (Cluster::up(&small), Cluster::up(&small));
    let id = one.sbatch(&[], "sleep 300");
    one.wait_job(&id, "RUNNING");
    assert!(two.job(&id).is_none());
    drop(two);
    assert!(one.job(&id).expect("the other cluster's end does not matter").is("RUNNING"));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_pid_file_that_names_a_stranger_costs_the_stranger_nothing() {
    let cluster = Cluster::up(&Options::default().with("--nodes", "1"));
    let mut stranger = Command::new("sleep").arg("300").spawn().expect("sleep starts");
    cluster.stop("n1");
    fs::write(cluster.dir().join("run/n1.pid"), stranger.id().to_string()).expect("the pid file is written");
    drop(cluster);
    assert!(stranger.try_wait().expect("sleep can be asked").is_none(), "the stranger was ended");
    stranger.kill().expect("sleep is ours to end");
    stranger.wait().expect("sleep ends");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn folders_that_hold_no_cluster_are_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let precious = folder.path().join("precious");
    fs::write(&precious, "").expect("a file is written");
    let link = folder.path().join("link");
    symlink(folder.path(), &link).expect("a link is made");
    for (path, word) in [(folder.path(), "holds no cluster"), (&link, "not a folder")] {
        for command in ["up", "down"] {
            let answer = script(&[command, "--dir", path.to_str().expect("UTF-8")]);
            assert_eq!(answer.status, 1, "{command}");
            assert!(answer.err.contains(word), "{command}: {}", answer.err);
        }
    }
    assert!(precious.exists());
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn size_cannot_change_under_a_running_cluster() {
    let cluster = Cluster::up(&Options::default().with("--nodes", "1"));
    let answer = script(&["up", "--nodes", "2", "--dir", cluster.dir_text()]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("--nodes 1, not 2"), "{}", answer.err);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn wrong_options_are_told_from_failures() {
    for args in [&["sideways"][..], &["up", "--nodes"], &["up", "--colour", "red"], &["stop"], &[]] {
        assert_eq!(script(args).status, 2, "{args:?}");
    }
    for (options, told) in [
        (["--nodes", "none"], "--nodes is a whole number"),
        (["--mode", "act"], "--mode act does nothing without the suite's executables"),
    ] {
        let answer = script(&[&["up", "--dir", "/tmp/slurm-triage-test.never"], &options[..]].concat());
        assert_eq!(answer.status, 1);
        assert!(answer.err.contains(told), "{}", answer.err);
        assert!(!std::path::Path::new("/tmp/slurm-triage-test.never").exists());
    }
}

/// Name and pid of every daemon.
fn pids(cluster: &Cluster) -> Vec<(String, i64)> {
    let answer = script(&["status", "--json", "--dir", cluster.dir_text()]);
    let value: serde_json::Value = serde_json::from_str(&answer.out).expect("status --json is JSON");
    let daemons = value["daemons"].as_array().expect("it lists daemons");
    daemons.iter().map(|d| (d["name"].to_string(), d["pid"].as_i64().unwrap_or(-1))).collect()
}

/// Pid and start time of every process that has the cluster's folder in its command line or environment, or is
/// below one that has.
fn processes_of(cluster: &Cluster) -> Vec<(String, String)> {
    let (mut mine, me) = (Vec::new(), std::process::id().to_string());
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let text = [read("cmdline"), read("environ")].concat();
        let named = text.windows(cluster.dir_text().len()).any(|w| w == cluster.dir_text().as_bytes());
        // This process and its children: the reaper, and the commands of other tests.
        let ours = pid == me || parent(&pid).is_some_and(|parent| parent == me);
        if let (true, false, Some(start)) = (named, ours, start_time(&pid)) {
            mine.push((pid, start));
        }
    }
    mine
}

fn still_runs(pid: &str, start: &str) -> bool {
    start_time(pid).is_some_and(|now| now == start)
}

/// When a process started, in clock ticks since boot; `None` for one that is gone or a zombie.
fn start_time(pid: &str) -> Option<String> {
    let fields = stat(pid)?;
    (fields.first()? != "Z").then(|| fields.get(19).cloned()).flatten()
}

fn parent(pid: &str) -> Option<String> {
    stat(pid)?.get(1).cloned()
}

/// The fields of /proc/PID/stat after the process's name, which may hold anything: its state comes first.
fn stat(pid: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn a_deadline_is_told_from_a_failure() {
    assert_eq!(run(&["false"], &[]).status, 1);
    assert_eq!(run(&["sh", "-c", "echo $X; exit 7"], &[("X", "y")]).out, "y\n");
}
