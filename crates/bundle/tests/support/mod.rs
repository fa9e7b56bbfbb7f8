//! Bundles for tests, written by code: a run of eight tasks on two nodes (`c1`, `c2`) that began at 12:00:00 UTC on
//! 2026-05-04 and ended twenty minutes later.
#![allow(dead_code, reason = "every test file uses its own part")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;
use triage_bundle::{Report, diagnose};
use triage_core::catalog::Catalog;

/// The catalogue as shipped; its patterns are compiled once for all tests.
pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(triage_catalog::embedded)
}

/// Tasks on each node.
pub(crate) const PER_NODE: u32 = 4;

/// The moment of a second of the run, RFC 3339 with milliseconds.
pub(crate) fn at(second: f64) -> String {
    let millis = (second * 1000.0).round() as i64;
    let (hours, rest) = (12 + millis.div_euclid(3_600_000), millis.rem_euclid(3_600_000));
    format!("2026-05-04T{hours:02}:{:02}:{:02}.{:03}Z", rest / 60_000, rest / 1000 % 60, rest % 1000)
}

/// The address of GPU `number` on any node.
pub(crate) fn gpu(number: u32) -> String {
    format!("0000:{:02x}:00.0", 0x40 + number)
}

/// A bundle in the making.
pub(crate) struct Folder {
    dir: TempDir,
    nodes: Vec<String>,
    state: String,
    more: String,
    tasks: Vec<Vec<String>>,
    per_node: u32,
}

impl Folder {
    /// A run on `nodes` nodes that failed; every task was started.
    pub(crate) fn new(nodes: usize) -> Self {
        let names: Vec<String> = (1..=nodes).map(|n| format!("c{n}")).collect();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("output")).unwrap();
        for name in &names {
            fs::create_dir_all(dir.path().join("nodes").join(name)).unwrap();
        }
        let mut folder = Self {
            dir,
            nodes: names,
            state: "FAILED".to_owned(),
            more: String::new(),
            tasks: vec![Vec::new(); nodes],
            per_node: PER_NODE,
        };
        for task in 0..folder.world() {
            folder.record(task, 1.0, "task_start", "");
        }
        for node in 0..nodes {
            folder.kernel(node, "");
            folder.gpus(node, &[]);
            folder.nics(node, "active", 0);
        }
        folder
    }

    /// The same with one task a node, a launcher of the node's ranks: task `n` is on node `n`.
    pub(crate) fn launchers(nodes: usize) -> Self {
        let mut folder = Self::new(nodes);
        folder.per_node = 1;
        folder.tasks = vec![Vec::new(); nodes];
        for task in 0..folder.world() {
            folder.record(task, 1.0, "task_start", "");
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn world(&self) -> u32 {
        self.per_node * u32::try_from(self.nodes.len()).unwrap()
    }

    pub(crate) fn state(&mut self, state: &str) -> &mut Self {
        state.clone_into(&mut self.state);
        self
    }

    /// More lines for `[job]`.
    pub(crate) fn job(&mut self, lines: &str) -> &mut Self {
        lines.clone_into(&mut self.more);
        self
    }

    fn record(&mut self, task: u32, second: f64, what: &str, how: &str) {
        let node = (task / self.per_node) as usize;
        let local = task % self.per_node;
        self.tasks[node].push(format!(
            "{{\"v\":1,\"at\":\"{}\",\"what\":\"{what}\",\"step\":0,\"rank\":{task},\"local\":{local},\"pid\":{},\"gpus\":[\"{}\"]{how}}}",
            at(second),
            7000 + task,
            gpu(local)
        ));
    }

    /// A task ends with an exit code.
    pub(crate) fn exits(&mut self, task: u32, second: f64, code: i32) -> &mut Self {
        self.record(task, second, "task_exit", &format!(",\"exit\":{code}"));
        self
    }

    /// A task is ended by a signal.
    pub(crate) fn signalled(&mut self, task: u32, second: f64, signal: i32) -> &mut Self {
        self.record(task, second, "task_exit", &format!(",\"signal\":{signal}"));
        self
    }

    /// Every task that did not end yet is ended by a signal.
    pub(crate) fn all_signalled(&mut self, second: f64, signal: i32) -> &mut Self {
        for task in 0..self.world() {
            let ended = format!("\"task_exit\",\"step\":0,\"rank\":{task},");
            if !self.tasks.iter().flatten().any(|line| line.contains(&ended)) {
                self.signalled(task, second, signal);
            }
        }
        self
    }

    /// The kernel log of a node: lines of `dmesg --time-format iso`, begun by the boot.
    pub(crate) fn kernel(&mut self, node: usize, lines: &str) -> &mut Self {
        let boot = "2026-05-01T08:00:00,000000+00:00 Linux version 6.8.0 (builder@host)\n";
        self.file(&format!("nodes/c{}/kernel.log", node + 1), format!("{boot}{lines}").as_bytes())
    }

    /// The kernel log of a node as it is.
    pub(crate) fn kernel_as(&mut self, node: usize, text: &str) -> &mut Self {
        self.file(&format!("nodes/c{}/kernel.log", node + 1), text.as_bytes())
    }

    /// `gpus.json` of a node: four healthy GPUs, changed where `changes` say so.
    pub(crate) fn gpus(&mut self, node: usize, changes: &[(u32, &str)]) -> &mut Self {
        let one = |index: u32| {
            let change =
                changes.iter().find(|(of, _)| *of == index).map_or(String::new(), |(_, c)| format!(",{c}"));
            format!("{{\"index\":{index},\"pci\":\"{}\"{change}}}", gpu(index))
        };
        let all: Vec<String> = (0..PER_NODE).map(one).collect();
        self.file(&format!("nodes/c{}/gpus.json", node + 1), format!("[{}]", all.join(",")).as_bytes())
    }

    /// `nics.json` of a node: one port.
    pub(crate) fn nics(&mut self, node: usize, state: &str, downed: u32) -> &mut Self {
        let text = format!(
            "[{{\"name\":\"mlx5_2\",\"port\":1,\"state\":\"{state}\",\"link_downed\":{downed},\"symbol_errors\":0}}]"
        );
        self.file(&format!("nodes/c{}/nics.json", node + 1), text.as_bytes())
    }

    /// A file of the bundle.
    pub(crate) fn file(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        fs::write(self.dir.path().join(name), bytes).unwrap();
        self
    }

    /// What the job printed, into one file.
    pub(crate) fn output(&mut self, text: &str) -> &mut Self {
        self.file("output/job.out", text.as_bytes())
    }

    /// Writes what is still to be written.
    pub(crate) fn finish(&mut self) -> &Path {
        let names: Vec<String> = self.nodes.iter().map(|name| format!("\"{name}\"")).collect();
        let mut text = format!(
            "format = 1\n[job]\nid = \"815\"\nuser = \"ann\"\nnodes = [{}]\nstart = \"{}\"\nend = \"{}\"\nstate = \"{}\"\n\
             exit = \"1:0\"\nranks_per_node = {PER_NODE}\n{}\n",
            names.join(", "),
            at(0.0),
            at(1200.0),
            self.state,
            self.more
        );
        for (index, name) in self.nodes.iter().enumerate() {
            let address = format!("10.9.0.{}", index + 1);
            writeln!(text, "[nodes.{name}]\nboot = \"2026-05-01T08:00:00Z\"\naddresses = [\"{address}\"]")
                .unwrap();
        }
        fs::write(self.dir.path().join("incident.toml"), text).unwrap();
        for (node, lines) in self.tasks.iter().enumerate() {
            let path = self.dir.path().join(format!("nodes/c{}/tasks.jsonl", node + 1));
            fs::write(path, lines.join("\n") + "\n").unwrap();
        }
        self.dir.path()
    }

    /// The report on it.
    pub(crate) fn diagnose(&mut self) -> Report {
        let path = self.finish().to_owned();
        diagnose(&path, catalog()).unwrap()
    }
}

/// The nodes that a report blames.
pub(crate) fn blamed(report: &Report) -> Vec<String> {
    report.culprits.iter().map(|c| format!("{} {}", c.node, c.resource.as_deref().unwrap_or("-"))).collect()
}

/// A rank's collective that ran into its time-out, as PyTorch 2.5 words it.
pub(crate) fn timed_out(rank: u32, second: f64, seconds: u32) -> String {
    let stamp = at(second);
    let (ms, clock) = (seconds * 1000, &stamp[11..23]);
    format!(
        "[rank{rank}]:[E504 {clock} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: \
         WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)={ms}) ran for {ms} milliseconds before \
         timing out.\n"
    )
}
