//! What a failed job of a thousand nodes costs the controller: every node's epilog runs in this process, on a ledger and a
//! kernel log of its own, and each call of scontrol is counted.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
mod brakes;
mod changed_minds;
mod clock_jumps;
mod reboots;
mod sim;

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use sim::{BEGAN, Sim};
use triage_core::pipeline::Trigger;
use triage_core::{ExitStatus, JobAsk, JobSpan, NodeName, RunId, Stamp};
use triage_hooks::carry::{self, Take};
use triage_hooks::ctx::Ctx;
use triage_hooks::look::Look;
use triage_hooks::pass::{self, Task};
use triage_host::config::Config;
use triage_host::proc::Root;
use triage_host::testkit::FakeClock;
use triage_ledger::{Ledger, OpenOptions};

/// All nodes of a failed job end it, those in `bad` with a lost GPU: first those that are not its batch host, since that one
/// waits for their word.
fn job_fails(nodes: usize, mode: &str, bad: &[usize]) -> Rc<RefCell<Sim>> {
    let folder = in_memory();
    prepare(folder.path(), mode);
    let sim = Sim::of(nodes);
    for node in (2..=nodes).chain([1]) {
        epilog(folder.path(), &sim, (node, nodes), bad.contains(&node));
    }
    sim
}

/// A folder in memory where there is such a place: a thousand ledgers are a thousand times a few fsyncs.
fn in_memory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(place).unwrap()
}

/// A boot, and the shipped rules in this mode.
fn prepare(folder: &Path, mode: &str) {
    fs::create_dir_all(folder.join("proc/sys/kernel/random")).unwrap();
    fs::write(folder.join("proc/sys/kernel/random/boot_id"), "b1\n").unwrap();
    let policy = format!("version = 1\n[mode]\ndefault = \"{mode}\"\n");
    let rules = triage_core::policy::DEFAULT_POLICY.split_once("\n[[rule]]").unwrap().1;
    fs::write(folder.join("policy.toml"), format!("{policy}\n[[rule]]{rules}")).unwrap();
}

fn look_at_the_log(ctx: &Ctx<'_>, loaded: &triage_ledger::Loaded) -> Look {
    let mut look = Look::default();
    look.kernel_log(ctx, loaded);
    look
}

fn epilog(folder: &Path, sim: &Rc<RefCell<Sim>>, (number, nodes): (usize, usize), bad: bool) {
    let node = NodeName::from(format!("n{number}").as_str());
    let state = folder.join(node.as_str());
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("kern.log"), kernel_log(&node, bad)).unwrap();
    let root = Root::new(folder);
    let clock = FakeClock::at(Stamp::from_secs(BEGAN));
    let runner = Sim::runner(sim);
    let path = folder.join("triage.toml");
    let config = Config::parse(&config(folder), &path).unwrap().config;
    let limit = Duration::from_secs(60);
    let mut ctx =
        Ctx::new("triage-epilog", (path, &config), node.clone(), root, (&clock, &runner), limit).unwrap();
    let options = OpenOptions::writer(Duration::from_secs(5), Stamp::from_secs(BEGAN));
    let mut ledger = Ledger::open(&ctx.ledger_path(), &options).unwrap();
    clock.set_wall(Stamp::from_secs(BEGAN + 500));
    let task = Task { trigger: Trigger::Epilog, span: Some(span(&node, nodes)), look: &mut look_at_the_log };
    let begun = cpu_us();
    let output = pass::run(&mut ctx, &mut ledger, task).unwrap();
    if number == 1 {
        println!("the batch host of {nodes} nodes decides in {} us of CPU", cpu_us() - begun);
    }
    carry::out(&ctx, &mut ledger, &output, Take::All);
    fs::remove_dir_all(state).unwrap();
}

/// What this thread has had of a CPU so far, microseconds; 0 where the kernel does not tell.
fn cpu_us() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or_default() / 1_000
}

fn config(folder: &Path) -> String {
    let at = folder.display();
    format!(
        "[paths]\nstate = \"{at}/%n\"\nrun = \"{at}/%n\"\npolicy = \"{at}/policy.toml\"\ncatalog = \"{at}/none\"\n\
         [slurm]\nconf = \"{at}/slurm.conf\"\n[kernel_log]\nsource = \"file\"\npath = \"/%n/kern.log\"\n\
         [nvml]\nenabled = \"never\"\n"
    )
}

/// The wave that a dying job throws off everywhere, and the lost GPU of a bad node before it.
fn kernel_log(node: &NodeName, bad: bool) -> String {
    let line = |second: i64, xid: u32, what: &str| {
        let at = Stamp::from_secs(BEGAN + second);
        format!("{at} {node} kernel: NVRM: Xid (PCI:0000:61:00): {xid}, {what}\n")
    };
    let lost = line(490, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    let wave = line(495, 43, "pid=4711, name=python3, Ch 00000008");
    let end = line(496, 45, "pid=4711, name=python3, Ch 00000008");
    [if bad { lost } else { String::new() }, wave, end].concat()
}

fn span(node: &NodeName, nodes: usize) -> JobSpan {
    JobSpan {
        run: RunId {
            cluster: "c".to_owned(),
            job: 42,
            array: None,
            het: None,
            restart: 0,
            start: Stamp::from_secs(BEGAN),
        },
        node: node.clone(),
        boot: "b1".into(),
        uid: 65_534,
        user: "u".to_owned(),
        partition: "p".to_owned(),
        nodes: (1..=nodes).map(|n| NodeName::from(format!("n{n}").as_str())).collect(),
        gpus: Vec::new(),
        ask: JobAsk::Default,
        end: Some(Stamp::from_secs(BEGAN + 500)),
        exit: Some(ExitStatus::Exit(1)),
        state: String::new(),
    }
}

/// In monitor mode each node with evidence asks for its own record; the batch host for the job's and, in one call, for those of
/// the other nodes.
fn in_monitor_mode(nodes: usize, bad: &[usize]) {
    let sim = job_fails(nodes, "monitor", bad);
    let sim = sim.borrow();
    assert_eq!(sim.calls.len(), bad.len() + 2, "{:?}", sim.calls);
    assert_eq!((sim.drained(), sim.made("update"), sim.made("requeue")), (vec![], 0, 0));
}

/// In act mode what is done costs as well: 7 calls for a node that goes out (its record, every node's, its record and the
/// drain, every node's again, its record and the word for the batch host), 8 for the job (its record and the other nodes';
/// its record, the requeue and the excluded nodes; its record twice and the begin time).
fn in_act_mode(nodes: usize, bad: &[usize]) {
    let sim = job_fails(nodes, "act", bad);
    let sim = sim.borrow();
    assert_eq!((sim.drained().len(), sim.made("requeue")), (bad.len(), 1), "{:?}", sim.calls);
    assert_eq!(sim.calls.len(), 7 * bad.len() + 8, "{:?}", sim.calls);
}

/// Of three nodes of one job that break at once a brake holds the third: it is told to the batch host and not drained.
fn with_a_node_that_a_brake_holds(nodes: usize) {
    let sim = job_fails(nodes, "act", &[7, 40, 63]);
    let sim = sim.borrow();
    assert_eq!(sim.drained(), ["n40", "n7"], "{:?}", sim.calls);
    assert!(sim.calls.len() <= 7 * 3 + 8, "{:?}", sim.calls);
}

/// Where all of them break at once, no more nodes read every node's record than in a job of sixteen: those at its head, and the
/// two that go once more.
fn where_all_break(nodes: usize) {
    let all: Vec<usize> = (1..=nodes).collect();
    let sim = job_fails(nodes, "act", &all);
    let sim = sim.borrow();
    assert_eq!(sim.drained().len(), 2, "{:?}", sim.drained());
    let whole_table = sim.calls.iter().filter(|call| *call == "-o show node").count();
    assert_eq!(whole_table, 16 + 2);
    // Its own record, those of the first sixteen or of all, and what it tells the batch host.
    assert!(sim.calls.len() <= 4 * nodes + 16, "{}", sim.calls.len());
}

#[test]
fn only_nodes_with_evidence_and_the_batch_host_call_the_controller() {
    in_monitor_mode(64, &[]);
    in_monitor_mode(64, &[7, 40, 63]);
    in_act_mode(64, &[7]);
    with_a_node_that_a_brake_holds(64);
    where_all_break(64);
}

#[test]
#[ignore = "takes minutes; run by scripts/test"]
fn a_thousand_nodes_call_no_more_often_than_sixty_four() {
    in_monitor_mode(1_000, &[7, 400, 999]);
    in_act_mode(1_000, &[7]);
    where_all_break(1_000);
}
