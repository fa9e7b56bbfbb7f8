//! A cluster of its own for a test, which ends with it whatever happens.

use crate::command::{Answer, run, run_within};
use crate::record::Record;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for what Slurm should do within a few seconds, on a machine that may be busy.
/// Running past it is a failure to happen, not a judgement on speed. Less than the two minutes that a requeued job waits if
/// nobody clears its begin time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(50);

/// A credential's time is kept in whole seconds; one more second is margin.
const CREDENTIALS: Duration = Duration::from_secs(2);

/// Seconds for `scripts/cluster`, which may start 64 nodes on a machine that has other things to do.
const SCRIPT_S: u32 = 300;

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the executables and libraries that cargo built.
pub(crate) fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_slurm-triage")).parent().expect("a file lies in a folder")
}

/// Where the hooks and the plugin of the clusters come from: what cargo built, or, for another release of Slurm, what
/// `scripts/test-slurm` laid together.
pub(crate) fn hooks() -> PathBuf {
    std::env::var_os("TRIAGE_TEST_HOOKS").map_or_else(|| built().to_owned(), PathBuf::from)
}

/// The root of another release of Slurm, which `scripts/test-slurm` names.
pub(crate) fn other_slurm() -> Option<String> {
    std::env::var("TRIAGE_TEST_SLURM").ok()
}

/// `scripts/cluster` with `args`.
pub(crate) fn script(args: &[&str]) -> Answer {
    let path = repository().join("scripts/cluster");
    let mut argv = vec![path.to_str().expect("the repository's path is UTF-8")];
    argv.extend_from_slice(args);
    run_within(SCRIPT_S, &argv, &[])
}

/// The options of a [`Cluster`]; the default has four nodes with eight GPUs each, and no hooks.
#[derive(Debug, Default, Clone)]
pub(crate) struct Options {
    /// More arguments of `scripts/cluster up`.
    pub(crate) up: Vec<String>,
}

impl Options {
    /// Adds an argument pair of `scripts/cluster up`, such as `--nodes 2`.
    pub(crate) fn with(mut self, option: &str, value: &str) -> Self {
        self.up.extend([option.to_owned(), value.to_owned()]);
        self
    }

    /// Adds a switch of `scripts/cluster up`.
    pub(crate) fn switch(mut self, option: &str) -> Self {
        self.up.push(option.to_owned());
        self
    }
}

/// A running cluster. Dropping it takes it down, and so does the death of this process: a child waits for the
/// end of a pipe that only we hold.
#[derive(Debug)]
pub(crate) struct Cluster {
    dir: PathBuf,
    conf: String,
    reaper: Option<Child>,
}

impl Cluster {
    /// Brings one up in a new folder under the system's temporary folder.
    pub(crate) fn up(options: &Options) -> Self {
        assert_room();
        let dir = tempfile::Builder::new()
            .prefix("slurm-triage-test.")
            .tempdir()
            .expect("a temporary folder")
            .keep();
        let text = dir.to_str().expect("the temporary folder's path is UTF-8").to_owned();
        let reaper = (std::env::var_os("TRIAGE_TEST_KEEP").is_none()).then(|| reaper(&text));
        let cluster = Self { conf: format!("{text}/etc/slurm.conf"), dir, reaper };
        cluster.up_again(options);
        cluster
    }

    /// Runs `scripts/cluster up` once more, with other options.
    pub(crate) fn up_again(&self, options: &Options) {
        let mut args = vec!["up", "--dir", self.dir_text()];
        args.extend(options.up.iter().map(String::as_str));
        let other = other_slurm();
        args.extend(other.iter().flat_map(|root| ["--slurm", root.as_str()]));
        script(&args).success("scripts/cluster up");
    }

    /// Ends a daemon: `slurmctld`, or a node's slurmd by the node's name.
    pub(crate) fn stop(&self, daemon: &str) {
        script(&["stop", daemon, "--dir", self.dir_text()]).success("scripts/cluster stop");
    }

    /// Starts a daemon that was stopped.
    pub(crate) fn start(&self, daemon: &str) {
        script(&["start", daemon, "--dir", self.dir_text()]).success("scripts/cluster start");
    }

    /// The cluster's folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The cluster's folder as text.
    pub(crate) fn dir_text(&self) -> &str {
        self.dir.to_str().unwrap_or_default()
    }

    /// The folder of a node.
    pub(crate) fn node_dir(&self, node: &str) -> PathBuf {
        self.dir.join("nodes").join(node)
    }

    /// A command of Slurm or of the suite, as root, in the folder for the jobs' output.
    pub(crate) fn run(&self, argv: &[&str]) -> Answer {
        let jobs = format!("--chdir={}/jobs", self.dir_text());
        let mut all = vec!["env", &jobs];
        all.extend_from_slice(argv);
        // The other release's commands, where they are not this machine's.
        let path = std::env::var("PATH").unwrap_or_default();
        let path = other_slurm().map_or(path.clone(), |_| format!("{}/clients:{path}", self.dir_text()));
        run(&all, &[("SLURM_CONF", &self.conf), ("PATH", &path)])
    }

    /// What stands before a command that is to run in the other release's root, which only root may enter.
    pub(crate) fn in_root(&self) -> Option<String> {
        other_slurm().map(|_| format!("{}/clients/in-root", self.dir_text()))
    }

    /// A command of Slurm as another user.
    pub(crate) fn run_as(&self, user: &str, argv: &[&str]) -> Answer {
        let in_root = self.in_root();
        let mut all: Vec<&str> = in_root.iter().map(String::as_str).collect();
        all.extend(["runuser", "-u", user, "--"]);
        all.extend_from_slice(argv);
        self.run(&all)
    }

    /// `scontrol` with `args`.
    pub(crate) fn scontrol(&self, args: &[&str]) -> Answer {
        let mut argv = vec!["scontrol"];
        argv.extend_from_slice(args);
        self.run(&argv)
    }

    /// Submits a batch job as root: `args` of sbatch, and the script's text. Returns the job id.
    pub(crate) fn sbatch(&self, args: &[&str], script: &str) -> String {
        self.submit("root", args, script)
    }

    /// Submits a batch job as `user`.
    pub(crate) fn submit(&self, user: &str, args: &[&str], script: &str) -> String {
        let mut argv = vec!["sbatch", "--parsable"];
        argv.extend_from_slice(args);
        let wrap = format!("--wrap={script}");
        argv.push(&wrap);
        let out = self.run_as(user, &argv).success("sbatch");
        out.trim().split(';').next().unwrap_or_default().to_owned()
    }

    /// A job as scontrol shows it; `None` when the controller does not know it. `id` may be `12_3`.
    pub(crate) fn job(&self, id: &str) -> Option<Record> {
        self.wait_for("the controller tells of the job", || {
            let answer = self.scontrol(&["-o", "show", "job", id]);
            let known = || Record::parse(answer.out.lines().next().unwrap_or_default());
            let unknown = answer.err.contains("Invalid job id") || answer.out.contains(" not found");
            (answer.ok() || unknown).then(|| answer.ok().then(known))
        })
    }

    /// A node as scontrol shows it.
    pub(crate) fn node(&self, name: &str) -> Record {
        self.wait_for("the controller tells of the node", || {
            let answer = self.scontrol(&["-o", "show", "node", name]);
            answer.ok().then(|| Record::parse(&answer.out))
        })
    }

    /// What a job has written so far to `slurm-ID.out`, the default name of its output.
    pub(crate) fn output(&self, id: &str) -> String {
        let path = self.dir.join("jobs").join(format!("slurm-{id}.out"));
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Polls `look` until it answers, and fails the test when it has not after [`PATIENCE`].
    pub(crate) fn wait_for<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        self.wait_long_for(what, PATIENCE, look)
    }

    /// [`Cluster::wait_for`] with another limit.
    pub(crate) fn wait_long_for<T>(
        &self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut() -> Option<T>,
    ) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            if began.elapsed() > limit {
                let queue = self.run(&["squeue", "--all", "-o", "%i %T %r %N %S"]).out;
                let nodes = self.run(&["sinfo", "-N", "-o", "%N %T %E"]).out;
                panic!("waited {} s in vain: {what}\n{queue}{nodes}", limit.as_secs());
            }
            std::thread::sleep(POLL);
        }
    }

    /// Waits until a job's state holds `word`, and returns the job.
    pub(crate) fn wait_job(&self, id: &str, word: &str) -> Record {
        self.wait_for(&format!("job {id} is {word}"), || self.job(id).filter(|job| job.is(word)))
    }

    /// Waits until a job has ended and no node of it is completing any more, and returns it.
    pub(crate) fn wait_done(&self, id: &str) -> Record {
        let over = |job: &Record| !["PENDING", "RUNNING", "COMPLETING"].iter().any(|word| job.is(word));
        self.wait_for(&format!("job {id} has ended"), || self.job(id).filter(over))
    }

    /// Ends the two minutes that Slurm has a requeued job wait, if it has not started by itself.
    ///
    /// A node refuses every credential from the second in which it was told to end the job, and Slurm 22.05 then has
    /// the job fail: so this waits until that second is over. A job that has no wait may begin meanwhile, and Slurm
    /// then refuses to change it.
    pub(crate) fn end_wait(&self, id: &str) {
        let waits = || {
            let job = self.job(id).filter(|job| job.get("Restarts") != "0")?;
            (job.is("RUNNING") || job.states() == ["PENDING"]).then(|| job.is("PENDING"))
        };
        let look = || self.wait_for("the job waits without a node, or runs again", waits);
        if look() {
            std::thread::sleep(CREDENTIALS);
            let answer = self.scontrol(&["update", &format!("jobid={id}"), "starttime=now"]);
            assert!(answer.ok() || !look(), "its begin time cannot be changed: {}", answer.err);
        }
    }

    /// Adds lines to slurm.conf and has the daemons read them.
    pub(crate) fn reconfigure(&self, lines: &str) {
        let path = self.dir.join("etc/slurm.conf");
        let text = std::fs::read_to_string(&path).expect("slurm.conf is read");
        std::fs::write(&path, format!("{text}{lines}\n")).expect("lines are added");
        self.scontrol(&["reconfigure"]).success("reconfigure");
        let nodes = std::fs::read_dir(self.dir.join("nodes")).expect("there are nodes").flatten();
        for name in nodes.map(|node| node.file_name().to_string_lossy().into_owned()) {
            self.wait_for("the node is idle", || (self.node(&name).states() == ["IDLE"]).then_some(()));
        }
    }

    /// Waits until a node's state holds `word`, and returns the node.
    pub(crate) fn wait_node(&self, name: &str, word: &str) -> Record {
        self.wait_for(&format!("node {name} is {word}"), || {
            Some(self.node(name)).filter(|node| node.is(word))
        })
    }

    /// Shows the ends of the daemons' logs, for a test that fails.
    pub(crate) fn show_logs(&self) {
        let mut logs = vec![self.dir.join("log/slurmctld.log")];
        let nodes = std::fs::read_dir(self.dir.join("nodes")).into_iter().flatten().flatten();
        logs.extend(nodes.map(|node| node.path().join("slurmd.log")));
        logs.sort();
        // slurmd notes every ping and health check, which tells nothing.
        let noise = ["REQUEST_HEALTH_CHECK", "health_check success", "REQUEST_PING", "Spawning health check"];
        for log in logs {
            let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
            let lines: Vec<&str> =
                text.lines().filter(|line| !noise.iter().any(|word| line.contains(word))).collect();
            eprintln!("==> {}", log.display());
            lines.iter().skip(lines.len().saturating_sub(40)).for_each(|line| eprintln!("{line}"));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        }
        if let Some(mut child) = self.reaper.take() {
            drop(child.stdin.take());
            let ended = child.wait().is_ok_and(|status| status.success());
            assert!(ended || std::thread::panicking(), "scripts/cluster down failed");
        }
    }
}

/// The plugin leaves the last gigabyte of a filesystem to others: on one that is as full its tests would fail for
/// reasons that nobody sees.
fn assert_room() {
    let folder = std::env::temp_dir();
    let out = run(&["df", "--output=avail", "-k", folder.to_str().unwrap_or("/tmp")], &[]).success("df");
    let free: u64 = out.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or_default();
    assert!(free > 2 << 20, "{}: {free} KiB free, too few for these tests", folder.display());
}

/// Starts the child that takes the cluster in `dir` down once its standard input ends.
fn reaper(dir: &str) -> Child {
    let down = "cat >/dev/null; exec \"$1\" down --dir \"$2\"";
    Command::new("setsid")
        .args(["bash", "-c", down, "reaper"])
        .arg(repository().join("scripts/cluster"))
        .arg(dir)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("util-linux's setsid starts")
}
