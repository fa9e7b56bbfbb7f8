//! The health check as slurmd runs it, on a simulated NVML: a GPU goes missing, one case is opened with the right sentence, and
//! it is closed when the GPU is back.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use triage_core::checks::CheckWord;
use triage_core::{Advice, Case, CaseState, NodeName, Stamp};
use triage_ledger::{Closed, Closing, Filter, Ledger, OpenOptions, TrailFacts, Word};

// Naming the crate is what makes Cargo build the simulator's shared object next to this test.
use nvidia_ml as _;

/// A node with eight simulated GPUs.
struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn new(settings: &str) -> Self {
        let node = Self { folder: tempfile::tempdir().unwrap() };
        let simulator = std::env::current_exe().unwrap().parent().unwrap().join("libnvidia_ml.so");
        for name in ["state", "run", "lib", "catalog"] {
            fs::create_dir(node.at(name)).unwrap();
            fs::set_permissions(node.at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_triage-probe"), node.at("lib/triage-probe")).unwrap();
        node.file("slurm.conf", "NodeName=n1 Gres=gpu:h100:8\n");
        node.file("gres.conf", "Name=gpu Type=h100 File=/dev/nvidia[0-7]\n");
        node.file("kern.log", "");
        let fault = |gpu: u32, kind: &str| {
            let file = node.at(&format!("{kind}-{gpu}"));
            format!("[[fault]]\ngpu = {gpu}\nkind = \"{kind}\"\nwhen_file = \"{}\"\n", file.display())
        };
        let scenario = format!(
            "format = 1\nnode = \"n1\"\n{}{}{}",
            fault(4, "absent"),
            fault(2, "lost"),
            fault(6, "hang")
        );
        node.file("sim.toml", &scenario);
        let at = |name: &str| node.at(name).display().to_string();
        let config = format!(
            "[paths]\nstate = \"{}\"\nrun = \"{}\"\npolicy = \"{}\"\ncatalog = \"{}\"\nlibexec = \"{}\"\n\
             [slurm]\nscontrol = \"/bin/false\"\nconf = \"{}\"\n\
             [nvml]\nenabled = \"always\"\nlibrary = \"{}\"\nscenario = \"{}\"\n\
             [kernel_log]\nsource = \"file\"\npath = \"{}\"\n{settings}",
            at("state"),
            at("run"),
            at("policy.toml"),
            at("catalog"),
            at("lib"),
            at("slurm.conf"),
            simulator.display(),
            at("sim.toml"),
            at("kern.log")
        );
        node.file("triage.toml", &config);
        node
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, content: &str) {
        fs::write(self.at(name), content).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// One health check; what it wrote.
    fn check(&self) -> Ledger {
        let mut hook = Command::new(env!("CARGO_BIN_EXE_triage-healthcheck"));
        hook.arg("--config").arg(self.at("triage.toml")).env_clear().env("SLURMD_NODENAME", "n1");
        assert!(hook.status().unwrap().success());
        let options = OpenOptions::reader(Duration::from_secs(5), Stamp::from_secs(0));
        Ledger::open(&self.at("state/ledger.db"), &options).unwrap()
    }
}

/// Cases about GPUs, closed ones too: the machine that runs this may have faults of its own.
fn cases(ledger: &Ledger) -> Vec<Case> {
    let all = ledger.cases(&Filter::default()).unwrap();
    all.into_iter()
        .filter(|case| case.fault.starts_with("gpu.") || case.code.as_str().starts_with("check.gpu"))
        .collect()
}

fn state(ledger: &Ledger, name: &str) -> CheckWord {
    ledger.checks().unwrap().into_iter().find(|state| state.name == name).unwrap().state
}

const NO_LEARNING: &str = "[expect]\nlearn = false\n";

#[test]
fn a_missing_gpu_is_one_case_with_the_right_sentence_until_it_is_back() {
    let node = Node::new(&format!("{NO_LEARNING}[checks.gpu_count]\nbad_for_s = 0\n"));
    assert_eq!(cases(&node.check()), [], "a healthy node");
    node.file("absent-4", "");
    for _ in 0..3 {
        let ledger = node.check();
        let [case] = &cases(&ledger)[..] else { panic!("{:?}", cases(&ledger)) };
        assert_eq!((case.resource.to_string().as_str(), case.state), ("gpu:0000:9d:00.0", CaseState::Open));
        assert!(
            case.why.starts_with("7 of 8 GPUs (gres.conf): 0000:9d:00.0 missing from NVML"),
            "{}",
            case.why
        );
        assert!(case.advice.wants_node_out() && case.node == NodeName::from("n1"));
        assert_eq!(state(&ledger, "gpu_count"), CheckWord::Bad);
    }
    fs::remove_file(node.at("absent-4")).unwrap();
    let ledger = node.check();
    let [case] = &cases(&ledger)[..] else { panic!("{:?}", cases(&ledger)) };
    assert_eq!(case.state, CaseState::Resolved);
    assert!(case.why.contains("good again"), "{}", case.why);
}

/// Sites reset GPUs in their epilogs.
#[test]
fn a_gpu_that_is_away_for_a_moment_makes_no_case() {
    let node = Node::new(NO_LEARNING);
    drop(node.check());
    node.file("absent-4", "");
    for _ in 0..2 {
        assert_eq!(cases(&node.check()), []);
    }
    fs::remove_file(node.at("absent-4")).unwrap();
    assert_eq!(cases(&node.check()), []);
}

#[test]
fn what_hangs_is_blindness_and_what_is_lost_is_told_once() {
    let node = Node::new("[expect]\nlearn = false\n[deadlines]\nprobe_ms = 500\n");
    node.file("hang-6", "");
    let ledger = node.check();
    assert_eq!(cases(&ledger), []);
    assert_eq!(state(&ledger, "gpu_count"), CheckWord::Blind);
    assert_eq!(state(&ledger, "gpu_driver"), CheckWord::Blind);
    drop(ledger);
    fs::remove_file(node.at("hang-6")).unwrap();
    node.file("lost-2", "");
    let ledger = node.check();
    let [case] = &cases(&ledger)[..] else { panic!("{:?}", cases(&ledger)) };
    assert_eq!((case.code.as_str(), case.advice), ("nvml.gpu_lost", Advice::Reboot));
    assert_eq!((state(&ledger, "gpu_count"), state(&ledger, "gpu_lost")), (CheckWord::Ok, CheckWord::Bad));
}

#[test]
fn nothing_is_learned_from_a_faulty_node_and_a_healthy_one_is_learned_once() {
    let node = Node::new("");
    node.file("absent-4", "");
    assert_eq!(node.check().baseline().unwrap(), None);
    fs::remove_file(node.at("absent-4")).unwrap();
    drop(node.check());
    let ledger = node.check();
    let uptime: f64 = fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap().parse().unwrap();
    let open = !ledger.cases(&Filter { open_only: true, ..Filter::default() }).unwrap().is_empty();
    if uptime < 600.0 || open {
        eprintln!("skipped: this machine was booted lately, or has a fault of its own");
        return;
    }
    let learned = ledger.baseline().unwrap().unwrap();
    assert_eq!((learned.baseline.gpus.len(), learned.by.as_str()), (8, ""));
    drop(ledger);
    node.file("absent-4", "");
    let later = node.check().baseline().unwrap().unwrap();
    assert_eq!(later, learned, "a baseline is never learned over");
}

/// Seven small devices instead of one large and two middle ones: as many GPUs are there, and jobs that ask for a profile wait.
#[test]
fn a_mig_layout_other_than_slurms_is_one_case_with_both_layouts() {
    let node = Node::new(&format!("{NO_LEARNING}[checks.gpu_mig]\nbad_for_s = 0\n"));
    node.file("slurm.conf", "NodeName=n1 Gres=gpu:h100_1g.10gb:2,gpu:h100_3g.40gb:1\n");
    node.file("gres.conf", "AutoDetect=nvml\n");
    let layout = |devices: &str| {
        let gpu = format!("[[gpu]]\nindex = 0\nmig = \"enabled\"\nmig_devices = {devices}\n");
        node.file("sim.toml", &format!("format = 1\nnode = \"n1\"\ngpus = 1\n{gpu}"));
    };
    layout("[\"3g.40gb\", \"1g.10gb\", \"1g.10gb\"]");
    assert_eq!(cases(&node.check()), []);
    layout("[\"1g.10gb\", \"1g.10gb\", \"1g.10gb\"]");
    let found = cases(&node.check());
    let [case] = &found[..] else { panic!("{found:?}") };
    assert_eq!(case.why, "MIG devices 3x 1g.10gb, 2x 1g.10gb, 1x 3g.40gb in slurm.conf");
    layout("[\"3g.40gb\", \"1g.10gb\", \"1g.10gb\"]");
    assert_eq!(cases(&node.check())[0].state, CaseState::Resolved);
}

/// A person closes the only open case.
fn close(node: &Node, closing: Closing) -> Case {
    let now = Stamp::from_micros(
        i64::try_from(
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros(),
        )
        .unwrap(),
    );
    let mut ledger =
        Ledger::open(&node.at("state/ledger.db"), &OpenOptions::writer(Duration::from_secs(5), now)).unwrap();
    let open: Vec<Case> = cases(&ledger).into_iter().filter(Case::is_open).collect();
    let [case] = &open[..] else { panic!("{open:?}") };
    let facts = TrailFacts::default();
    let word = Word { now, program: "slurm-triage", actor: "ada", reason: "riser reseated", person: &facts };
    assert!(matches!(ledger.close_case(&case.id, closing, &word, &[]).unwrap(), Closed::Now { .. }));
    case.clone()
}

#[test]
fn a_lost_gpu_that_was_called_repaired_has_a_case_again_at_the_next_health_check() {
    for (closing, opens) in [(Closing::Acknowledged, true), (Closing::Acquitted, false)] {
        let node = Node::new(NO_LEARNING);
        node.check();
        node.file("lost-2", "");
        node.check();
        let first = close(&node, closing);
        for _ in 0..2 {
            let ledger = node.check();
            let open: Vec<Case> = cases(&ledger).into_iter().filter(Case::is_open).collect();
            let told: Vec<&str> = open.iter().map(|case| case.code.as_str()).collect();
            assert_eq!(told, if opens { vec!["nvml.gpu_lost"] } else { vec![] }, "{closing:?}");
            assert!(open.iter().all(|case| case.resource == first.resource && case.id != first.id));
            assert_eq!(state(&ledger, "gpu_lost"), CheckWord::Bad);
        }
    }
}

#[test]
fn a_library_that_is_not_there_is_a_blind_source_and_no_missing_driver() {
    let node = Node::new(&format!("{NO_LEARNING}[checks.gpu_driver]\nbad_for_s = 0\n"));
    let config = fs::read_to_string(node.at("triage.toml")).unwrap();
    let library = |line: &&str| line.starts_with("library");
    let named = config.lines().find(library).unwrap();
    node.file("triage.toml", &config.replace(named, "library = \"/nonexistent/libnvidia-ml.so.1\""));
    let ledger = node.check();
    let sources = ledger.sources().unwrap();
    let nvml = sources.iter().find(|row| row.source.word() == "nvml").unwrap();
    assert!(nvml.blind_since.is_some() && nvml.last_ok.is_none(), "{nvml:?}");
    assert_eq!(nvml.reason, "/nonexistent/libnvidia-ml.so.1: no such library");
    for name in ["gpu_lost", "gpu_count", "gpu_driver"] {
        let check = ledger.checks().unwrap().into_iter().find(|check| check.name == name).unwrap();
        assert_eq!(check.state, CheckWord::Blind, "{check:?}");
        assert!(check.text.contains("no such library"), "{check:?}");
    }
    assert_eq!(cases(&ledger), []);
}
