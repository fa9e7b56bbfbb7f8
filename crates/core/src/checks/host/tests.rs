//! Each check against facts that should alarm it and facts that should not.
use std::collections::BTreeMap;

use super::*;
use crate::checks::{
    Check, CheckInput, CheckSettings, CheckState, CheckWord, Expect, ExpectMount, Findings, Item, ItemState,
};
use crate::facts::NodeFacts;
use crate::facts::host::*;
use crate::pipeline::Trigger;
use crate::{BootId, Confidence, JobAsk, JobSpan, NodeName, Resource, RunId, Stamp};

/// What a check sees, the parts that differ from test to test.
#[derive(Default)]
struct Scene {
    facts: NodeFacts,
    before: Option<NodeFacts>,
    expect: Expect,
    spans: Vec<JobSpan>,
    last: Option<CheckState>,
}

impl Scene {
    fn of(facts: NodeFacts) -> Self {
        Self {
            facts: NodeFacts { at: Stamp::from_secs(10_000), boot: BootId::from("b"), ..facts },
            ..Self::default()
        }
    }

    fn after(mut self, secs: i64, before: NodeFacts) -> Self {
        self.before =
            Some(NodeFacts { at: self.facts.at.plus_secs(-secs), boot: self.facts.boot.clone(), ..before });
        self
    }

    fn run(&self, check: &Check) -> Findings {
        let setting = CheckSettings::default().of(check);
        let node = NodeName::from("n1");
        let input = CheckInput {
            now: self.facts.at,
            node: &node,
            boot: &self.facts.boot,
            trigger: Trigger::HealthCheck,
            facts: &self.facts,
            before: self.before.as_ref(),
            nvml: None,
            nvml_blind: None,
            nvml_before: None,
            expect: &self.expect,
            baseline: None,
            setting: &setting,
            last: self.last.as_ref(),
            has_case: true,
            span: None,
            spans: &self.spans,
        };
        let mut findings = Findings::default();
        (check.evaluate)(&input, &mut findings);
        findings
    }

    fn texts(&self, check: &Check) -> Vec<String> {
        self.run(check).bad.into_iter().map(|finding| finding.text).collect()
    }
}

fn read<T>(said: T) -> Option<Sheet<T>> {
    Some(Sheet::read(said))
}

fn none() -> Vec<String> {
    Vec::new()
}

fn fs(path: &str, kind: &str) -> Mount {
    Mount { path: path.to_owned(), kind: kind.to_owned(), source: "x".to_owned(), ..Mount::default() }
}

#[test]
fn the_sites_word_goes_before_fstabs_and_kinds_have_families() {
    let mounted = vec![
        fs("/", "ext4"),
        fs("/home", "nfs4"),
        fs("/apps", "fuse.cvmfs2"),
        fs("/tmp", "tmpfs"),
        fs("/tmp", "xfs"),
    ];
    let fstab = vec![fs("/", "ext3"), fs("/home", "nfs"), fs("/data", "auto"), fs("/tmp", "xfs")];
    let mut scene = Scene::of(NodeFacts { mounts: read(Mounts { mounted, fstab }), ..NodeFacts::default() });
    assert_eq!(scene.texts(&mounts::MISSING), ["/data: not mounted, expected by /etc/fstab"]);
    let apps =
        ExpectMount { path: "/apps".to_owned(), kind: Some("lustre".to_owned()), ..ExpectMount::default() };
    scene.expect.mounts =
        vec![apps, ExpectMount { path: "not/absolute".to_owned(), ..ExpectMount::default() }];
    assert_eq!(
        scene.texts(&mounts::MISSING),
        ["/apps: mounted as fuse.cvmfs2, expected lustre", "/data: not mounted, expected by /etc/fstab"]
    );
}

/// What `mount_readonly` says of these mounts, with those of an earlier look and an fstab, and how sure.
fn read_only(before: Vec<Mount>, mounted: Vec<Mount>, fstab: Vec<Mount>) -> Vec<(String, Confidence)> {
    let mounts = |mounted| read(Mounts { mounted, fstab: fstab.clone() });
    let facts = |mounted| NodeFacts { mounts: mounts(mounted), ..NodeFacts::default() };
    let scene = Scene::of(facts(mounted)).after(60, facts(before));
    let bad = scene.run(&mounts::READ_ONLY).bad;
    bad.into_iter().map(|finding| (finding.resource.to_string(), finding.confidence)).collect()
}

#[test]
fn what_is_read_only_by_design_or_by_a_users_wish_says_nothing_certain() {
    let disk =
        |path: &str, read_only: bool| Mount { source: "/dev/sda1".to_owned(), read_only, ..fs(path, "ext4") };
    let fuse = |read_only: bool| Mount { read_only, ..fs("/home/u/m", "fuse.sshfs") };
    let certain = |path: &str| vec![(format!("fs:{path}"), Confidence::Confirmed)];
    assert_eq!(read_only(vec![fuse(false)], vec![fuse(true)], vec![]), [], "a user's own");
    // A live image: its disk is read-only, and an overlay stands on it.
    let live = vec![disk("/", true), fs("/", "overlay")];
    assert_eq!(read_only(live.clone(), live, vec![disk("/", false)]), []);
    let image = vec![disk("/", true)];
    let told = read_only(image.clone(), image.clone(), vec![disk("/", false)]);
    assert_eq!(
        told,
        [("fs:/".to_owned(), Confidence::Probable)],
        "a read-only root whose fstab does not say so"
    );
    assert_eq!(
        read_only(vec![disk("/", false)], image, vec![disk("/", false)]),
        certain("/"),
        "it turned so"
    );
    let data = vec![disk("/data", true)];
    assert_eq!(read_only(data.clone(), data, vec![disk("/data", false)]), certain("/data"));
}

#[test]
fn a_servers_filesystem_that_is_full_is_the_servers_business() {
    let answer = |used: u64| Answer { bytes: 100, bytes_free: 100 - used, inodes: 0, ..Answer::default() };
    let of = [("/", 96), ("/home", 99), ("/snap", 100), ("/var", 94)];
    let facts = NodeFacts {
        mounts: read(Mounts {
            mounted: vec![
                fs("/", "ext4"),
                fs("/home", "nfs4"),
                Mount { read_only: true, ..fs("/snap", "ext4") },
                fs("/var", "xfs"),
            ],
            fstab: Vec::new(),
        }),
        space: read(Space {
            of: of.iter().map(|(path, used)| ((*path).to_owned(), answer(*used))).collect(),
            deadline_ms: 9,
            ..Space::default()
        }),
        ..NodeFacts::default()
    };
    let scene = Scene::of(facts);
    assert_eq!(scene.texts(&space::SPACE), ["/: 96.0 % full, at most 95 % expected"]);
    assert_eq!(scene.texts(&space::INODES), none(), "no inodes to count is not all of them used");
    assert_eq!(scene.texts(&space::HUNG), none());
}

#[test]
fn some_memory_is_the_firmwares_and_a_whole_dimm_is_not() {
    let scene = |mb: u64, wanted: Option<u64>| {
        Scene::of(NodeFacts {
            memory: read(Memory { total_kib: mb * 1024, ..Memory::default() }),
            slurm: read(SlurmNode {
                path: "/s.conf".to_owned(),
                real_memory_mb: wanted,
                ..SlurmNode::default()
            }),
            ..NodeFacts::default()
        })
    };
    assert_eq!(scene(515_000, Some(516_000)).texts(&memory::SIZE), none());
    assert_eq!(
        scene(483_000, Some(516_000)).texts(&memory::SIZE),
        ["483000 MB of memory, /s.conf says RealMemory=516000"]
    );
    assert!(scene(1, None).run(&memory::SIZE).remark.contains("gives no RealMemory"));
    let mut overridden = scene(1, Some(516_000));
    overridden.facts.slurm.as_mut().and_then(|sheet| sheet.said.as_mut()).unwrap().overrides = true;
    assert!(overridden.run(&memory::SIZE).remark.contains("config_overrides"));
    assert_eq!(overridden.texts(&memory::SIZE), none());
}

#[test]
fn huge_pages_are_counted_by_size_and_nonsense_is_blind() {
    let hugepages = BTreeMap::from([(2048, HugePages { total: 500, free: 0 })]);
    let mut scene = Scene::of(NodeFacts {
        memory: read(Memory { hugepages, ..Memory::default() }),
        ..NodeFacts::default()
    });
    assert_eq!(scene.texts(&memory::HUGEPAGES), none());
    scene.expect.hugepages =
        BTreeMap::from([("2048".to_owned(), 512), ("1048576".to_owned(), 0), ("2M".to_owned(), 1)]);
    let findings = scene.run(&memory::HUGEPAGES);
    assert_eq!(findings.bad[0].text, "500 huge pages of 2048 KiB, expected 512");
    assert!(findings.blind[0].1.contains("2M"));
}

fn stuck(pids: &[(u32, u64)]) -> NodeFacts {
    let process = |(pid, start): &(u32, u64)| Process {
        pid: *pid,
        start: *start,
        comm: "cp".to_owned(),
        wchan: Some("nfs_wait".to_owned()),
        uid: Some(1000),
    };
    NodeFacts {
        processes: read(Processes {
            count: 9,
            stuck: pids.iter().map(process).collect(),
            ..Processes::default()
        }),
        ..NodeFacts::default()
    }
}

#[test]
fn a_process_is_stuck_when_two_looks_far_enough_apart_say_so() {
    let now = || stuck(&[(1, 7), (2, 8), (3, 9)]);
    assert_eq!(Scene::of(now()).texts(&processes::STUCK), none());
    assert_eq!(Scene::of(now()).after(5, now()).texts(&processes::STUCK), none());
    // One of them is another process by the same number.
    let scene = Scene::of(now()).after(60, stuck(&[(1, 7), (2, 5)]));
    assert_eq!(
        scene.texts(&processes::STUCK),
        ["process 1 (cp) of uid 1000 cannot be killed: it sleeps in the kernel in nfs_wait"]
    );
    let many: Vec<(u32, u64)> = (1..=30).map(|pid| (pid, 1)).collect();
    let findings = Scene::of(stuck(&many)).after(60, stuck(&many)).run(&processes::STUCK);
    assert_eq!(findings.bad.len(), 4);
    assert!(findings.bad[0].text.ends_with("; and 26 more processes"), "{}", findings.bad[0].text);
}

#[test]
fn zombies_name_their_parent() {
    let zombies = |zombies| {
        let zombie_parent = Some(Process { pid: 9, comm: "orted".to_owned(), ..Process::default() });
        let processes = Processes { count: 1, zombies, zombie_parent, ..Processes::default() };
        Scene::of(NodeFacts { processes: read(processes), ..NodeFacts::default() }).texts(&processes::ZOMBIES)
    };
    assert_eq!(zombies(999), none());
    assert_eq!(
        zombies(1000),
        ["1000 ended processes were not waited for, most of them of process 9 (orted)"]
    );
}

fn run_of(uid: u32, from: i64, end: Option<i64>) -> JobSpan {
    JobSpan {
        run: RunId {
            cluster: "c".to_owned(),
            job: 42,
            array: None,
            het: None,
            restart: 0,
            start: Stamp::from_secs(from),
        },
        node: NodeName::from("n1"),
        boot: BootId::from("b"),
        uid,
        user: "ada".to_owned(),
        partition: String::new(),
        nodes: Vec::new(),
        gpus: Vec::new(),
        ask: JobAsk::Default,
        end: end.map(Stamp::from_secs),
        exit: None,
        state: String::new(),
    }
}

fn left(pid: u32, started: i64, comm: &str) -> UserProcess {
    UserProcess { pid, uid: 1000, started_us: started * 1_000_000, comm: comm.to_owned() }
}

#[test]
fn only_what_began_in_the_job_and_outlived_it_is_left_over() {
    let processes = vec![
        left(1, 50, "bash"),
        left(2, 150, "python"),
        left(3, 151, "python"),
        left(4, 150, "systemd"),
        left(5, 250, "vi"),
    ];
    let facts = NodeFacts {
        leftovers: read(Leftovers { processes, shm: Vec::new(), uids: vec![1000] }),
        ..NodeFacts::default()
    };
    let mut scene = Scene::of(facts);
    scene.spans = vec![run_of(1000, 100, Some(200))];
    assert_eq!(scene.texts(&leftovers::PROCESSES), ["python (pid 2) and 1 more of user ada outlived job 42"]);
    scene.spans.push(run_of(1000, 180, None));
    assert_eq!(scene.texts(&leftovers::PROCESSES), none(), "another job of theirs may own it");
    // Long after the job its run is not loaded any more: what was found stays found while it is there.
    scene.spans.clear();
    assert_eq!(scene.texts(&leftovers::PROCESSES), none());
    let item = Item { state: ItemState::Bad, since: Stamp::from_secs(1), boot: BootId::from("b") };
    scene.last = Some(CheckState {
        name: "leftover_processes".to_owned(),
        state: CheckWord::Bad,
        since: Stamp::from_secs(1),
        at: Stamp::from_secs(1),
        boot: BootId::from("b"),
        text: String::new(),
        value: None,
        cost_us: 0,
        items: BTreeMap::from([("process:2".to_owned(), item)]),
    });
    assert_eq!(scene.texts(&leftovers::PROCESSES), ["python (pid 2) of uid 1000 outlived an earlier job"]);
    assert!(leftovers::users(None, &[], Some(&scene.facts), scene.last.as_slice()).contains(&1000));
}

#[test]
fn shared_memory_is_missed_from_a_gibibyte_on() {
    let file = |bytes, written: i64| ShmFile {
        name: "psm".to_owned(),
        uid: 1000,
        bytes,
        written_us: written * 1_000_000,
    };
    let scene = |files: Vec<ShmFile>| {
        let leftovers = Leftovers { processes: Vec::new(), shm: files, uids: vec![1000] };
        let mut scene = Scene::of(NodeFacts { leftovers: read(leftovers), ..NodeFacts::default() });
        scene.spans = vec![run_of(1000, 100, Some(200))];
        scene.texts(&leftovers::SHM)
    };
    assert_eq!(
        scene(vec![file(600 << 20, 150), file(600 << 20, 50)]),
        none(),
        "one of them is older than the job"
    );
    assert_eq!(
        scene(vec![file(600 << 20, 150), file(600 << 20, 160)]),
        ["1200 MiB in 2 files of /dev/shm left by user ada from job 42: psm"]
    );
    assert_eq!(
        scene(vec![file(u64::MAX, 150), file(u64::MAX, 150)]).len(),
        1,
        "a sum that is too large stays one"
    );
}

#[test]
fn a_clock_that_nobody_keeps_right_or_that_counts_slowly_is_told() {
    let scene = |synchronised, source: &str, available: &[&str]| {
        let clock = Clock {
            synchronised,
            source: Some(source.to_owned()),
            available: available.iter().map(|s| (*s).to_owned()).collect(),
            ..Clock::default()
        };
        Scene::of(NodeFacts { clock: read(clock), ..NodeFacts::default() })
    };
    assert_eq!(scene(Some(true), "tsc", &["tsc"]).texts(&clock::SYNC), none());
    assert_eq!(scene(Some(false), "tsc", &[]).run(&clock::SYNC).bad.len(), 1);
    assert_eq!(scene(None, "tsc", &[]).run(&clock::SYNC).blind.len(), 1);
    assert_eq!(scene(Some(true), "kvm-clock", &[]).texts(&clock::SOURCE), none());
    assert_eq!(
        scene(Some(true), "hpet", &["tsc", "hpet"]).texts(&clock::SOURCE),
        ["clock source hpet: tsc is there"]
    );
    assert_eq!(
        scene(Some(true), "acpi_pm", &["acpi_pm"]).texts(&clock::SOURCE),
        ["clock source acpi_pm: the CPU's counter was found unstable"]
    );
}

#[test]
fn siblings_of_smt_that_is_off_are_not_missed() {
    let scene = |smt: &str| {
        let cpus = Cpus {
            present: (0..4).collect(),
            online: vec![0, 1],
            smt: Some(smt.to_owned()),
            ..Cpus::default()
        };
        Scene::of(NodeFacts { cpus: read(cpus), ..NodeFacts::default() })
    };
    for off in ["off", "forceoff"] {
        assert_eq!(scene(off).texts(&cpus::OFFLINE), none());
    }
    assert_eq!(scene("on").texts(&cpus::OFFLINE), ["2 CPUs are offline: 2, 3"]);
}

#[test]
fn governors_are_held_to_the_sites_word_else_to_each_other() {
    let scene = |governors: &[(&str, u64)], wanted: &str| {
        let governors = governors.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let mut scene = Scene::of(NodeFacts {
            cpus: read(Cpus { governors, ..Cpus::default() }),
            ..NodeFacts::default()
        });
        scene.expect.governor = wanted.to_owned();
        scene.texts(&cpus::GOVERNOR)
    };
    assert_eq!(scene(&[], "performance"), none());
    assert_eq!(scene(&[("powersave", 4)], ""), none());
    assert_eq!(
        scene(&[("powersave", 4)], "performance"),
        ["CPU frequency governors: 4 powersave, expected performance"]
    );
    assert_eq!(
        scene(&[("performance", 3), ("powersave", 1)], ""),
        ["CPU frequency governors differ: 3 performance, 1 powersave, most have performance"]
    );
}

#[test]
fn services_are_not_missed_right_after_boot() {
    let scene = |uptime: f64| {
        let services = Services { systemd: true, enabled: vec!["munge".to_owned()], running: Vec::new() };
        let mut scene = Scene::of(NodeFacts {
            services: read(services),
            kernel: read(Kernel { uptime_s: Some(uptime), ..Kernel::default() }),
            ..NodeFacts::default()
        });
        scene.expect.services = vec!["beegfs".to_owned()];
        scene.texts(&services::CHECK)
    };
    assert_eq!(scene(60.0), none());
    assert_eq!(
        scene(6000.0),
        ["beegfs does not run, and [expect] names it", "munge does not run, and it is enabled"]
    );
}

#[test]
fn taint_by_modules_is_no_trouble() {
    let scene = |tainted| {
        Scene::of(NodeFacts { kernel: read(Kernel { tainted, ..Kernel::default() }), ..NodeFacts::default() })
    };
    // Proprietary, out of tree, unsigned, and a warning: every GPU node.
    assert_eq!(scene(Some(1 | 512 | 4096 | 8192)).texts(&kernel::TAINT), none());
    assert_eq!(
        scene(Some(16 | 4096)).texts(&kernel::TAINT),
        ["tainted 4112: the CPU reported a machine check since boot"]
    );
    assert_eq!(scene(None).run(&kernel::TAINT).blind.len(), 1);
}

#[test]
fn tables_are_told_before_they_are_full() {
    let kernel = Kernel {
        tasks: Some(26_300),
        pid_max: Some(32_768),
        threads_max: Some(900_000),
        files: Some(10),
        files_max: Some(0),
        ..Kernel::default()
    };
    let scene = Scene::of(NodeFacts { kernel: read(kernel), ..NodeFacts::default() });
    assert_eq!(
        scene.texts(&tables::TASKS),
        ["26300 of 32768 tasks (processes and threads): 80.3 %, at most 80 % expected"]
    );
    assert_eq!(scene.texts(&tables::FILES), none(), "no limit is none reached");
    let scene = Scene::of(NodeFacts { kernel: read(Kernel::default()), ..NodeFacts::default() });
    assert_eq!(scene.run(&tables::FILES).blind.len(), 1);
}

#[test]
fn a_degraded_array_is_told_with_its_recovery() {
    let array = Array {
        name: "md0".to_owned(),
        state: "active".to_owned(),
        wanted: Some(2),
        working: Some(1),
        doing: Some("recovery 3%".to_owned()),
        ..Array::default()
    };
    let spare = Array { name: "md9".to_owned(), state: "inactive".to_owned(), ..Array::default() };
    let scene =
        Scene::of(NodeFacts { raid: read(Raid { arrays: vec![array, spare] }), ..NodeFacts::default() });
    assert_eq!(scene.texts(&raid::CHECK), ["md0: 1 of 2 members work (recovery 3%)"]);
}

#[test]
fn corrected_errors_count_by_the_hour_and_uncorrected_ones_at_once() {
    let dimms = |corrected, uncorrected| NodeFacts {
        edac: read(Edac { of: BTreeMap::from([("A1".to_owned(), Errors { corrected, uncorrected })]) }),
        ..NodeFacts::default()
    };
    assert_eq!(
        Scene::of(dimms(0, 1)).texts(&edac::UNCORRECTED),
        ["A1: 1 uncorrected memory errors since boot"]
    );
    assert_eq!(
        Scene::of(dimms(9_000, 0)).texts(&edac::CORRECTED),
        none(),
        "a total without a time is no rate"
    );
    assert_eq!(
        Scene::of(dimms(9_002, 0)).after(60, dimms(9_000, 0)).texts(&edac::CORRECTED),
        none(),
        "two are no storm"
    );
    assert_eq!(
        Scene::of(dimms(9_600, 0)).after(3600, dimms(9_000, 0)).texts(&edac::CORRECTED),
        ["A1: 600 corrected memory errors in 60 min, 600 an hour"]
    );
    assert_eq!(
        Scene::of(dimms(3, 0)).after(3600, dimms(9_000, 0)).texts(&edac::CORRECTED),
        none(),
        "a counter that began anew"
    );
}

#[test]
fn a_crash_that_this_boot_followed_is_told() {
    let scene = |records: &[&str]| {
        let records = records.iter().map(|s| (*s).to_owned()).collect();
        Scene::of(NodeFacts { pstore: read(Pstore { records }), ..NodeFacts::default() }).run(&pstore::CHECK)
    };
    assert_eq!(scene(&[]).bad, []);
    assert_eq!(scene(&["/sys/fs/pstore/dmesg-1"]).bad[0].resource, Resource::Host);
}
