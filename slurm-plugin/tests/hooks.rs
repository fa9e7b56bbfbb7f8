//! The built library, loaded by a program that stands in for Slurm's: what each hook does in each of them.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

mod built;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY};
use triage_wire::{End, Step, TaskRecord, What, decode_all};

/// `fake` of fake/slurm.c.
#[repr(C)]
struct Fake {
    context: c_int,
    failing: u32,
    uid: u32,
    job: u32,
    step: u32,
    restart: u32,
    array: u32,
    array_task: u32,
    rank: u32,
    local: c_int,
    pid: c_int,
    status: c_int,
    env: [*const c_char; 8],
    registered: c_int,
}

/// Contexts and items, as spank.h numbers them.
const LOCAL: c_int = 1;
const REMOTE: c_int = 2;
const ALLOCATOR: c_int = 3;
const SLURMD: c_int = 4;
const JOB_SCRIPT: c_int = 5;
const JOB_ID: u32 = 2;
const TASK_EXIT_STATUS: u32 = 13;
const NO_VAL: u32 = 0xffff_fffe;

type Hook = unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char) -> c_int;

/// Slurm's side and the plugin, loaded once; one test at a time.
struct Host {
    slurm: Library,
    plugin: Library,
}

static HOST: LazyLock<Mutex<Host>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let slurm = folder.path().join("libslurm_fake.so");
    let include = std::env::var("SLURM_INCLUDE").unwrap_or_else(|_| "/usr/include".to_owned());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake/slurm.c");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", &include, "-o"])
        .args([slurm.as_os_str(), source.as_ref()])
        .status();
    assert!(compiled.unwrap().success(), "cc {source}");
    // SAFETY: neither runs anything when it is loaded. As slurmstepd does it: its own symbols first.
    let [slurm, plugin] = [(slurm, RTLD_GLOBAL), (built::library(), 0)]
        .map(|(path, flag)| unsafe { Library::open(Some(path), RTLD_LAZY | flag) }.unwrap());
    // SAFETY: no other test runs yet.
    unsafe { std::env::set_var("SLURMD_NODENAME", "gpu-01.rack_2") };
    Mutex::new(Host { slurm, plugin })
});

struct Lent(MutexGuard<'static, Host>);

/// A step of job 42 with one task, in slurmstepd.
fn lend() -> Lent {
    let host = Lent(HOST.lock().unwrap_or_else(PoisonError::into_inner));
    // SAFETY: the structure of fake/slurm.c, which only the holder of the lock touches.
    unsafe {
        *host.fake() = Fake {
            context: REMOTE,
            failing: 0,
            uid: 1000,
            job: 42,
            step: 7,
            restart: 1,
            array: 42,
            array_task: NO_VAL,
            rank: 9,
            local: 1,
            pid: 4711,
            status: 0,
            env: [std::ptr::null(); 8],
            registered: 0,
        };
    }
    host
}

impl Lent {
    fn fake(&self) -> *mut Fake {
        // SAFETY: the symbol is the structure.
        unsafe { self.0.slurm.get::<*mut Fake>(b"fake").unwrap().into_raw().cast() }
    }

    fn set(&self, change: impl FnOnce(&mut Fake)) {
        // SAFETY: nobody else has it: see `lend`.
        change(unsafe { &mut *self.fake() });
    }

    fn call(&self, hook: &str, args: &[&str]) -> c_int {
        let args: Vec<CString> = args.iter().map(|arg| CString::new(*arg).unwrap()).collect();
        let mut argv: Vec<*mut c_char> = args.iter().map(|arg| arg.as_ptr().cast_mut()).collect();
        let argc = c_int::try_from(argv.len()).unwrap();
        // SAFETY: the type that spank.h gives a hook; the arguments outlive the call.
        unsafe { self.0.plugin.get::<Hook>(hook).unwrap()(std::ptr::null_mut(), argc, argv.as_mut_ptr()) }
    }

    fn init(&self) -> c_int {
        self.call("slurm_spank_init", &[])
    }

    /// What the hooks of a task that starts and ends write into an empty spool.
    fn task(&self, env: &[&CStr]) -> Vec<TaskRecord> {
        self.set(|fake| {
            fake.env = [std::ptr::null(); 8];
            env.iter().zip(&mut fake.env).for_each(|(text, slot)| *slot = text.as_ptr());
        });
        let folder = tempfile::tempdir().unwrap();
        let spool = format!("spool={}", folder.path().display());
        assert_eq!(self.init(), 0);
        assert_eq!(self.call("slurm_spank_task_post_fork", &["unknown=1", &spool]), 0);
        assert_eq!(self.call("slurm_spank_task_exit", &["unknown=1", &spool]), 0);
        read(folder.path())
    }
}

fn read(folder: &Path) -> Vec<TaskRecord> {
    let files = std::fs::read_dir(folder).unwrap();
    let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    let (records, bad) = decode_all(&bytes);
    assert_eq!(bad, []);
    records
}

#[test]
fn the_loader_finds_its_three_symbols() {
    let host = lend();
    let text = |name: &str| {
        // SAFETY: the types that spank.h gives these symbols.
        unsafe { CStr::from_ptr(host.0.plugin.get::<*const c_char>(name).unwrap().into_raw().cast()) }
    };
    assert_eq!((text("plugin_name"), text("plugin_type")), (c"triage", c"spank"));
    // SAFETY: as above.
    let version = unsafe { **host.0.plugin.get::<*const c_uint>("plugin_version").unwrap() };
    let include = std::env::var("SLURM_INCLUDE").unwrap_or_else(|_| "/usr/include".to_owned());
    let header = std::fs::read_to_string(Path::new(&include).join("slurm/slurm_version.h")).unwrap();
    let number =
        header.lines().find_map(|line| line.strip_prefix("#define SLURM_VERSION_NUMBER 0x")).unwrap();
    assert_eq!(version, u32::from_str_radix(number.trim(), 16).unwrap());
}

#[test]
fn the_option_is_known_wherever_it_can_be_used_and_nowhere_else() {
    let host = lend();
    for (context, registered) in
        [(LOCAL, 1), (ALLOCATOR, 1), (REMOTE, 1), (SLURMD, 0), (JOB_SCRIPT, 0), (0, 0), (99, 0)]
    {
        host.set(|fake| (fake.context, fake.registered) = (context, 0));
        assert_eq!(host.init(), 0);
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { (*host.fake()).registered }, registered, "context {context}");
    }
}

#[test]
fn a_task_is_told_as_slurm_tells_it() {
    let host = lend();
    host.set(|fake| fake.status = 9 | 0x80);
    let records = host.task(&[]);
    let [start, end] = &records[..] else { panic!("{records:?}") };
    assert_eq!(start.what, What::Start);
    assert!(start.at_us > 1_700_000_000_000_000 && start.at_us <= end.at_us);
    let expected = TaskRecord {
        at_us: end.at_us,
        what: What::End(End::Signal(9, true)),
        node: "gpu-01.rack_2".to_owned(),
        job: 42,
        restart: 1,
        step: Step::Number(7),
        rank: 9,
        local: 1,
        pid: 4711,
        uid: Some(1000),
        ..TaskRecord::default()
    };
    assert_eq!(*end, expected);
}

#[test]
fn only_slurmstepd_writes() {
    let host = lend();
    for context in [LOCAL, ALLOCATOR, SLURMD, JOB_SCRIPT, 0] {
        host.set(|fake| fake.context = context);
        assert_eq!(host.task(&[]), [], "context {context}");
    }
}

#[test]
fn steps_without_a_number_have_a_word_and_the_sleeper_of_the_extern_step_none() {
    let host = lend();
    for (number, step) in [(0xffff_fffb, Step::Batch), (0xffff_fffa, Step::Interactive)] {
        host.set(|fake| fake.step = number);
        let records = host.task(&[]);
        assert!(records.len() == 2 && records.iter().all(|record| record.step == step), "{records:?}");
    }
    host.set(|fake| (fake.step, fake.local) = (0xffff_fffc, -1));
    assert_eq!(host.task(&[]), []);
}

#[test]
fn only_an_array_task_has_an_array() {
    let host = lend();
    for (array, task, told) in
        [(42, NO_VAL, None), (0, 3, None), (0, NO_VAL, None), (40, 0, Some((40, 0))), (40, 3, Some((40, 3)))]
    {
        host.set(|fake| (fake.array, fake.array_task) = (array, task));
        assert!(host.task(&[]).iter().all(|record| record.array == told), "{array} {task}");
    }
}

#[test]
fn what_slurm_does_not_tell_is_left_out() {
    let host = lend();
    // All but the job and the status.
    host.set(|fake| fake.failing = !(1 << JOB_ID | 1 << TASK_EXIT_STATUS));
    let records = host.task(&[]);
    assert!(
        records.len() == 2 && records.iter().all(|r| r.job == 42 && r.uid.is_none() && r.array.is_none())
    );
    host.set(|fake| fake.failing = 1 << TASK_EXIT_STATUS);
    let records = host.task(&[]);
    assert!(records.len() == 1 && records[0].what == What::Start, "an end without a status is none");
    host.set(|fake| fake.failing = 1 << JOB_ID);
    assert_eq!(host.task(&[]), []);
}

#[test]
fn gpus_are_those_of_the_step_before_those_of_the_job_before_those_of_cuda() {
    let host = lend();
    let gpus = |env: &[&CStr]| host.task(env).remove(0).gpus;
    let (step, job, cuda) =
        (c"SLURM_STEP_GPUS=0,1", c"SLURM_JOB_GPUS=2", c"CUDA_VISIBLE_DEVICES=GPU-a, 3,MIG-b");
    assert_eq!(gpus(&[job, cuda, step]), ["0", "1"]);
    assert_eq!(gpus(&[cuda, job, c"SLURM_STEP_GPUS="]), ["2"]);
    assert_eq!(gpus(&[cuda]), ["GPU-a", "MIG-b"], "CUDA's numbers count from 0 in every job");
    assert_eq!(gpus(&[c"OTHER=1"]), [""; 0]);
}

#[test]
fn an_environment_made_to_break_the_line_does_not() {
    let host = lend();
    let long = CString::new(format!("SLURM_STEP_GPUS={}", "x,".repeat(5_000))).unwrap();
    let many = CString::new(format!("SLURM_STEP_GPUS={}", "x".repeat(60) + &",".repeat(3_000))).unwrap();
    let texts = [&*long, &*many, c"SLURM_STEP_GPUS=\"}\n{\"v\":1,\\,\xff\xfe", c"SLURM_STEP_GPUS=,,,"];
    for text in texts {
        assert_eq!(host.task(&[text]).len(), 2, "{text:?}");
    }
}

#[test]
fn the_node_is_slurmds_word_not_the_users() {
    let host = lend();
    let records = host.task(&[c"SLURMD_NODENAME=evil", c"SLURM_CLUSTER_NAME=evil"]);
    assert!(records.iter().all(|record| record.node == "gpu-01.rack_2" && record.cluster.is_empty()));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("gpu-01.rack_2")).unwrap();
    let spool = format!("spool={}/%n", folder.path().display());
    assert_eq!(host.call("slurm_spank_task_post_fork", &[&spool]), 0);
    assert_eq!(read(&folder.path().join("gpu-01.rack_2")).len(), 1);
}

#[test]
fn a_spool_that_is_nowhere_is_no_trouble() {
    let host = lend();
    for args in
        [&["spool="][..], &["spool=relative"], &["spool=/nowhere/at/all"], &["spool"], &["=", "%n%n%n"]]
    {
        assert_eq!(host.call("slurm_spank_task_post_fork", args), 0, "{args:?}");
        assert_eq!(host.call("slurm_spank_task_exit", args), 0, "{args:?}");
    }
}
