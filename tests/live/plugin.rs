//! The SPANK plugin inside real slurmstepd, srun and sbatch.

use crate::cluster::{Cluster, Options, built, hooks, other_slurm, repository};
use crate::command::{Answer, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use triage_wire::{End, Step, TaskRecord, What, decode_all};

/// A cluster whose only part of the suite is the plugin: the spool keeps what it wrote.
struct Bare(Cluster);

impl Bare {
    /// With this plugin and an empty spool.
    fn up(plugin: &Path) -> Self {
        let cluster = Cluster::up(&Options::default().with("--nodes", "2"));
        // Users load it as well, in srun and sbatch, and cannot reach a build folder of root's.
        let copy = cluster.dir().join("hooks/spank_triage.so");
        fs::copy(plugin, &copy).expect("the plugin is copied");
        let line = format!("optional {} spool={}/nodes/%n/run/spool\n", copy.display(), cluster.dir_text());
        fs::write(cluster.dir().join("etc/plugstack.conf"), line).expect("plugstack.conf is written");
        let bare = Self(cluster);
        bare.empty();
        bare
    }

    fn spool(&self, node: &str) -> PathBuf {
        self.0.node_dir(node).join("run/spool")
    }

    /// Forgets what was written so far.
    fn empty(&self) {
        for node in ["n1", "n2"] {
            let _ = fs::remove_dir_all(self.spool(node));
            fs::create_dir_all(self.spool(node)).expect("the spool is made");
        }
    }

    /// Every record of the two nodes, and that no line was anything else.
    fn records(&self) -> Vec<TaskRecord> {
        let files =
            ["n1", "n2"].into_iter().flat_map(|node| fs::read_dir(self.spool(node)).into_iter().flatten());
        let mut records = Vec::new();
        for file in files.flatten() {
            let (read, bad) = decode_all(&fs::read(file.path()).expect("a spool file is read"));
            assert_eq!(bad, []);
            records.extend(read);
        }
        records
    }

    /// An srun of a user, as a job of its own.
    fn srun(&self, args: &[&str]) -> Answer {
        let mut argv = vec!["srun", "--immediate=60"];
        argv.extend_from_slice(args);
        self.0.run_as("nobody", &argv)
    }

    /// What was asked and how it ended, by step of the job.
    fn ends(&self, job: &str) -> BTreeMap<String, (End, String)> {
        let of_job = |record: &TaskRecord| record.job.to_string() == job;
        let end = |record: TaskRecord| match record.what {
            What::Start => None,
            What::End(end) => Some((format!("{:?}", record.step), (end, record.triage))),
        };
        self.records().into_iter().filter(of_job).filter_map(end).collect()
    }

    /// Waits for the end of a batch job that a user submits with `args`.
    fn batch(&self, args: &[&str], script: &str) -> String {
        let id = self.0.submit("nobody", args, script);
        self.0.wait_done(&id);
        id
    }
}

/// The plugin of the workspace's own build, or that for another release of Slurm.
fn plugin() -> PathBuf {
    let path = hooks().join("libspank_triage.so");
    assert!(path.is_file(), "{}: cargo build --workspace first", path.display());
    path
}

/// Another build of the plugin, in a folder that is kept: bindgen is built only once.
fn build(features: &[&str], include: Option<&Path>) -> tempfile::TempPath {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // One for each Slurm: both may be tried at a time.
    let target = other_slurm().map_or_else(
        || built().with_file_name("plugin-variants"),
        |_| hooks().with_file_name("plugin-variants"),
    );
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "spank-triage", "--target-dir"]).arg(&target).args(features);
    let other = other_slurm().map(|root| Path::new(&root).join("usr/include"));
    cargo.current_dir(repository()).envs(include.or(other.as_deref()).map(|path| ("SLURM_INCLUDE", path)));
    assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
    let copy = tempfile::NamedTempFile::new().expect("a temporary file").into_temp_path();
    fs::copy(target.join("debug/libspank_triage.so"), &copy).expect("the plugin is copied");
    copy
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn every_task_of_a_job_leaves_its_start_and_its_end() {
    let bare = Bare::up(&plugin());
    for (tasks, nodes) in [(1_u32, "-N1"), (8, "-N1"), (64, "-N1"), (64, "-N2")] {
        bare.empty();
        let count = format!("-n{tasks}");
        // Each task ends with its rank's lowest two bits as its code.
        let script = "exit $((SLURM_PROCID % 4))";
        let answer = bare.srun(&[nodes, &count, "--kill-on-bad-exit=0", "sh", "-c", script]);
        assert_eq!(answer.ok(), tasks == 1, "srun passes the tasks' codes on as ever: {}", answer.err);
        let records = bare.records();
        assert_eq!(records.len() as u32, 2 * tasks, "each once");
        let (mut starts, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for record in &records {
            let who = (record.node.clone(), record.local, record.pid);
            match record.what {
                What::Start => starts.insert(record.rank, who),
                What::End(end) => {
                    let code = i32::try_from(record.rank % 4).expect("a code");
                    assert_eq!(end, End::Exit(code), "rank {}", record.rank);
                    ends.insert(record.rank, who)
                }
            };
        }
        assert_eq!(starts.keys().copied().collect::<Vec<_>>(), (0..tasks).collect::<Vec<_>>());
        assert_eq!(starts, ends, "the same task on the same node");
        for node in ["n1", "n2"] {
            let mut local: Vec<u32> = starts.values().filter(|w| w.0 == node).map(|w| w.1).collect();
            local.sort_unstable();
            assert!(local.into_iter().eq(0..starts.values().filter(|w| w.0 == node).count() as u32));
        }
        assert!(records.iter().all(|r| r.step == Step::Number(0) && r.pid > 1 && r.uid == Some(65_534)));
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn signals_arrays_gpus_and_wishes_are_told() {
    let bare = Bare::up(&plugin());
    let script = "srun --triage=monitor -n1 sh -c 'kill -9 $$'; srun -n1 true; exit 3";
    let id = bare.0.submit("nobody", &["--array=5-6", "--triage=off", "--gres=gpu:2"], script);
    for task in ["5", "6"] {
        bare.0.wait_done(&format!("{id}_{task}"));
    }
    let records = bare.records();
    let array: u32 = id.parse().expect("a job id");
    for task in [5, 6] {
        let of_task: Vec<&TaskRecord> = records.iter().filter(|r| r.array == Some((array, task))).collect();
        assert!(of_task.iter().all(|record| record.gpus.len() == 2), "{of_task:?}");
        let end = |step| {
            let mut ends = of_task.iter().filter(|r| r.step == step && r.what != What::Start);
            ends.next().map(|r| (r.what, r.triage.as_str()))
        };
        assert_eq!(end(Step::Number(0)), Some((What::End(End::Signal(9, false)), "monitor")));
        assert_eq!(end(Step::Number(1)), Some((What::End(End::Exit(0)), "off")), "the job's wish holds");
        assert_eq!(end(Step::Batch), Some((What::End(End::Exit(3)), "off")));
    }
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn both_runs_of_a_requeued_job_are_told() {
    let bare = Bare::up(&plugin());
    let script = "echo begun; [ -n \"$SLURM_RESTART_COUNT\" ] || exec sleep 300";
    let id = bare.0.submit("nobody", &["--requeue"], script);
    // Slurm calls it RUNNING before there is a task to be killed.
    bare.0.wait_for("the job has begun", || bare.0.output(&id).starts_with("begun").then_some(()));
    bare.0.scontrol(&["requeue", &id]).success("requeue");
    bare.0.end_wait(&id);
    bare.0.wait_done(&id);
    let mut records = bare.records();
    records.sort_by_key(|record| record.at_us);
    let what: Vec<What> = records.iter().map(|record| record.what).collect();
    let killed = What::End(End::Signal(15, false));
    assert_eq!(what, [What::Start, killed, What::Start, What::End(End::Exit(0))]);
    // 22.05 tells a plugin no restart count. Where it is told it must be the right one, and the same at both ends.
    let restarts: Vec<u32> = records.iter().map(|record| record.restart).collect();
    assert!([[0, 0, 0, 0], [0, 0, 1, 1]].contains(&restarts[..].try_into().expect("four")), "{restarts:?}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_switch_is_in_the_help_and_a_wrong_word_is_refused_where_no_job_is_hurt() {
    let bare = Bare::up(&plugin());
    for (program, command) in [("srun", "true"), ("sbatch", "--wrap=true"), ("salloc", "true")] {
        let help = bare.0.run(&[program, "--help"]).out;
        assert!(help.contains("--triage=MODE") && help.contains("monitor"), "{program}: {help}");
        let refused = bare.0.run(&[program, "--triage=of", command]);
        assert!(!refused.ok() && refused.err.contains("--triage"), "{program}: {}", refused.err);
    }
    assert!(bare.srun(&["--triage=default", "true"]).ok());
    // Within a job it is as if nothing had been asked.
    let id = bare.batch(&["--triage=off"], "srun --triage=of -n1 true");
    let ends = bare.ends(&id);
    assert_eq!(ends["Number(0)"], (End::Exit(0), String::new()));
    assert_eq!(ends["Batch"], (End::Exit(0), "off".to_owned()));
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn what_a_user_sets_in_the_environment_moves_no_record() {
    let bare = Bare::up(&plugin());
    let forged = "SLURMD_NODENAME=../../evil SLURM_JOB_ID_=1 SLURM_CLUSTER_NAME=evil SLURM_RESTART_COUNT=9";
    let id = bare.batch(&["-N2"], &format!("export {forged}; srun -N2 -n2 true"));
    let records = bare.records();
    assert_eq!(records.len(), 6, "{records:?}");
    assert!(records.iter().all(|r| r.job.to_string() == id && r.restart == 0 && r.cluster.is_empty()));
    let of_second: Vec<u32> = records.iter().filter(|r| r.node == "n2").map(|r| r.rank).collect();
    assert_eq!(of_second, [1, 1], "and each node has its own");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn the_sleeper_of_the_extern_step_is_no_task() {
    let bare = Bare::up(&plugin());
    let conf = bare.0.dir().join("etc/slurm.conf");
    let text = fs::read_to_string(&conf).expect("slurm.conf is read");
    fs::write(&conf, format!("{text}PrologFlags=Contain\n")).expect("slurm.conf is written");
    for daemon in ["n1", "n2", "slurmctld"] {
        bare.0.stop(daemon);
    }
    for daemon in ["slurmctld", "n1", "n2"] {
        bare.0.start(daemon);
    }
    // Not IDLE+NOT_RESPONDING, as which it comes back: a job sent there too early would wait for two minutes.
    bare.0.wait_for("the node answers", || (bare.0.node("n1").states() == ["IDLE"]).then_some(()));
    let id = bare.batch(&["--nodelist=n1"], "srun -n1 true");
    assert!(fs::read_to_string(bare.0.node_dir("n1").join("slurmd.log")).expect("a log").contains("extern"));
    assert_eq!(bare.ends(&id).into_keys().collect::<Vec<_>>(), ["Batch", "Number(0)"]);
    assert_eq!(bare.records().len(), 4);
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_spool_that_cannot_be_written_changes_nothing() {
    let bare = Bare::up(&plugin());
    let spool = bare.spool("n1");
    fs::remove_dir_all(&spool).expect("the spool is removed");
    same_as_ever(&bare);
    assert!(!spool.exists(), "the plugin makes no folder");
    fs::write(&spool, "").expect("a file is in its place");
    same_as_ever(&bare);
    fs::remove_file(&spool).expect("the file is removed");
    fs::create_dir(&spool).expect("the spool is made");
    let mounted = |options: &str| {
        let path = spool.display().to_string();
        run(&["mount", "-t", "tmpfs", "-o", options, "tmpfs", &path], &[]).success("mount");
        // Until the disk takes no more.
        while fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(spool.join("filler"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, &[0; 4096]))
            .is_ok()
        {}
        same_as_ever(&bare);
        assert!(bare.0.dir().exists());
        run(&["umount", &path], &[]).success("umount");
    };
    mounted("size=64k");
    mounted("size=64k,nr_inodes=2");
    mounted("size=64k,ro");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_plugin_that_panics_in_every_hook_changes_nothing() {
    let bare = Bare::up(&build(&["--features", "panic-test"], None));
    same_as_ever(&bare);
    let wish = bare.0.run(&["srun", "--triage=off", "-n1", "true"]);
    assert!(wish.ok() && wish.err.is_empty(), "the option's callback panics as well: {}", wish.err);
    assert!(!bare.records().is_empty(), "it was the plugin that ran");
    let log = fs::read_to_string(bare.0.node_dir("n1").join("slurmd.log")).expect("a log");
    assert!(!log.contains("panic"), "{log}");
}

#[test]
#[ignore = "needs root and Slurm; run by scripts/test"]
fn a_plugin_of_another_release_is_skipped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    headers_of_another_release(&folder.path().join("slurm"));
    let bare = Bare::up(&build(&[], Some(folder.path())));
    same_as_ever(&bare);
    assert_eq!(bare.records(), []);
}

/// The headers of this machine with another release's number.
fn headers_of_another_release(include: &Path) {
    fs::create_dir(include).expect("a folder");
    for entry in fs::read_dir("/usr/include/slurm").expect("libslurm-dev is there").flatten() {
        fs::copy(entry.path(), include.join(entry.file_name())).expect("a header is copied");
    }
    let version = include.join("slurm_version.h");
    let text = fs::read_to_string(&version).expect("slurm_version.h is read");
    let number = text.lines().find(|line| line.starts_with("#define SLURM_VERSION_NUMBER"));
    let other = text.replace(number.expect("the number is there"), "#define SLURM_VERSION_NUMBER 0x180500");
    fs::write(&version, other).expect("slurm_version.h is written");
}

/// A job's output and exit codes are those it would have without us.
fn same_as_ever(bare: &Bare) {
    let script = "echo out; echo err >&2; exit $SLURM_PROCID";
    let answer = bare.srun(&["-N1", "-n2", "--label", "sh", "-c", script]);
    assert_eq!(answer.status, 1);
    let sorted = |text: &str| {
        // Of a plugin of another release, srun itself says so.
        let ours = |line: &&str| !line.starts_with("srun: ") || !line.contains("spank_triage.so");
        let mut lines: Vec<String> = text.lines().filter(ours).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&answer.out), ["0: out", "1: out"], "nothing of ours is in the output");
    assert_eq!(
        sorted(&answer.err),
        ["0: err", "1: err", "srun: error: n1: task 1: Exited with exit code 1"],
        "nor in the errors"
    );
    let id = bare.batch(&[], "echo from the batch; echo err >&2; exit 7");
    let job = bare.0.wait_done(&id);
    assert_eq!(job.get("ExitCode"), "7:0", "{job}");
    assert_eq!(bare.0.output(&id), "from the batch\nerr\n");
    let node = bare.0.node("n1");
    assert!(node.get("Reason").is_empty(), "{node}");
}
