//! Ends of jobs as they come every day, small and odd ones too: who is to blame, and above all who is not.
mod support;

use std::fmt::Write as _;

use support::{Folder, at, blamed, gpu, timed_out};
use triage_bundle::Report;

/// A line of `dmesg --time-format iso` at a second of the run.
fn log(second: f64, text: &str) -> String {
    format!("{},000000+00:00 {text}\n", &at(second)[..19])
}

fn xid(second: f64, number: u32, code: u32, rest: &str) -> String {
    log(second, &format!("NVRM: Xid (PCI:{}): {code}, {rest}", &gpu(number)[..10]))
}

fn traceback(rank: u32, error: &str) -> String {
    format!(
        "[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"/src/run.py\", line 9, in <module>\n[rank{rank}]:     main()\n[rank{rank}]: {error}\n"
    )
}

fn assert_nobody(report: &Report) {
    assert!(report.culprits.is_empty() && report.drain.is_empty(), "{report:#?}");
}

/// The report on a job of two nodes that printed this, whose task ended first with exit code 1.
fn printed(task: u32, text: &str) -> Report {
    Folder::new(2).output(text).exits(task, 600.0, 1).all_signalled(603.0, 15).diagnose()
}

#[test]
fn what_a_program_says_of_itself_is_the_programs() {
    for (what, text) in [
        (
            "shared memory",
            traceback(
                2,
                "RuntimeError: DataLoader worker (pid 9113) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            ),
        ),
        (
            "import, everywhere",
            (0..8).map(|rank| traceback(rank, "ModuleNotFoundError: No module named 'einops'")).collect(),
        ),
        (
            "XLA's memory",
            traceback(
                2,
                "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
            ),
        ),
        (
            "CUDA's memory",
            traceback(
                2,
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.11 GiB of which 1.2 GiB is free.",
            ),
        ),
        (
            "shapes",
            traceback(
                2,
                "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4097) at non-singleton dimension 1",
            ),
        ),
        ("an assertion", traceback(2, "AssertionError: vocab size 50257 is not divisible by 8")),
    ] {
        let report = printed(2, &text);
        assert_eq!(
            (report.class.as_str(), report.job.as_str()),
            ("application", "none"),
            "{what}: {report:#?}"
        );
        assert_nobody(&report);
    }
}

#[test]
fn a_driver_too_old_for_the_container_everywhere_is_no_nodes_fault() {
    let error = "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version";
    let report = printed(2, &(0..8).map(|rank| traceback(rank, error)).collect::<String>());
    assert_nobody(&report);
    assert_eq!(report.job, "none", "{report:#?}");
}

#[test]
fn a_switch_at_which_several_gpus_complain_is_the_one_to_blame() {
    let mut kernel =
        log(500.0, "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
    for number in 0..3 {
        kernel += &xid(
            500.2,
            number,
            74,
            "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
        );
    }
    let mut folder = Folder::new(2);
    for task in 4..7 {
        folder.signalled(task, 501.0, 6);
    }
    let report = folder.kernel(1, &kernel).all_signalled(505.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c2"), "{report:#?}");
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn memory_that_somebody_else_filled_is_the_systems() {
    let mut kernel = log(
        500.0,
        "python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
    );
    kernel += &log(500.0, "Tasks state (memory values in pages):");
    kernel += &log(
        500.0,
        "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
    );
    kernel += &log(
        500.0,
        "[   7005]   900  7005  2000000   500000  500000        0        0  9000000        0             0 python",
    );
    kernel += &log(
        500.0,
        "[   3113]     0  3113 90000000 80000000 80000000        0        0  9000000        0         -1000 leakyd",
    );
    kernel += &log(
        500.0,
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=step_0,mems_allowed=0-1,global_oom,task_memcg=/slurm/job_815/step_0/task_5,task=python,pid=7005,uid=900",
    );
    kernel += &log(
        500.0,
        "Out of memory: Killed process 7005 (python) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:900 pgtables:9kB oom_score_adj:0",
    );
    let mut folder = Folder::new(2);
    let report = folder.kernel(1, &kernel).signalled(5, 500.3, 9).all_signalled(503.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("system", "c2"), "{report:#?}");
}

#[test]
fn a_driver_that_was_updated_under_one_node_is_that_nodes() {
    let kernel = log(
        10.0,
        "NVRM: API mismatch: the client has the version 550.54.15, but this kernel module has the version 535.161.08.",
    );
    let text: String =
        (4..8).map(|rank| traceback(rank, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination")).collect();
    let mut folder = Folder::new(2);
    for task in 4..8 {
        folder.exits(task, 12.0, 1);
    }
    let report = folder.kernel(1, &kernel).output(&text).all_signalled(15.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("system", "c2"), "{report:#?}");
    assert!(report.drain.iter().all(|node| node == "c2"));
}

#[test]
fn rows_that_could_not_be_remapped_agree_with_a_job_that_calls_its_memory_broken() {
    let mut folder = Folder::new(2);
    let report = folder
        .gpus(1, &[(1, "\"remap_failed\":true,\"ecc_uncorrected\":4")])
        .output(&traceback(5, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"))
        .signalled(5, 500.0, 6)
        .all_signalled(503.0, 15)
        .diagnose();
    assert_eq!(
        (report.class.as_str(), blamed(&report)),
        ("hardware", vec![format!("c2 gpu:{}", gpu(1))]),
        "{report:#?}"
    );
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn corrected_errors_are_daily_bread() {
    let mut kernel = String::new();
    for second in 0..200 {
        kernel += &log(
            100.0 + f64::from(second),
            "pcieport 0000:40:02.0: AER: Corrected error message received from 0000:41:00.0",
        );
        kernel += &log(
            100.0 + f64::from(second),
            "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1 offset:0x0 grain:32 syndrome:0x0)",
        );
    }
    let mut folder = Folder::new(2);
    let report = folder
        .kernel(1, &kernel)
        .output(&traceback(5, "KeyError: 'image'"))
        .exits(5, 301.0, 1)
        .all_signalled(304.0, 15)
        .diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn the_time_limit_and_a_cancel_blame_nobody() {
    for state in ["TIMEOUT", "CANCELLED by 1000", "PREEMPTED", "DEADLINE"] {
        let mut folder = Folder::new(2);
        let text = "slurmstepd: error: *** STEP 815.0 ON c1 CANCELLED AT 2026-05-04T12:20:00 DUE TO TIME LIMIT ***\nc2:7004:9 [0] NCCL WARN Connection closed by remote peer c1<35000>\n";
        let report = folder.state(state).output(text).all_signalled(1199.0, 15).diagnose();
        assert_nobody(&report);
        assert_eq!(report.job, "none", "{state}");
    }
}

#[test]
fn a_job_that_was_tried_often_enough_is_left_alone() {
    let kernel = xid(500.0, 2, 79, "pid=7006, name=python, GPU has fallen off the bus.");
    let mut folder = Folder::new(2);
    folder.kernel(1, &kernel).signalled(6, 501.0, 6).all_signalled(505.0, 15);
    assert_eq!(folder.diagnose().job, "requeue");
    let report = folder.job("restart_count = 3").diagnose();
    assert_eq!((report.drain.as_slice(), report.job.as_str()), (&["c2".to_owned()][..], "none"));
}

#[test]
fn a_gpu_that_is_not_the_jobs_is_drained_for_and_not_blamed() {
    let kernel = xid(200.0, 7, 79, "pid=2222, name=other, GPU has fallen off the bus.");
    let mut folder = Folder::new(2);
    let report = folder
        .kernel(1, &kernel)
        .output(&traceback(1, "ValueError: bad config"))
        .exits(1, 900.0, 1)
        .all_signalled(903.0, 15)
        .diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert!(report.culprits.is_empty());
    assert_eq!(report.drain, ["c2"], "it is broken all the same");
}

#[test]
fn the_jobs_word_alone_makes_a_node_suspect_and_drains_nothing() {
    let mut folder = Folder::new(2);
    for node in 0..2 {
        std::fs::remove_file(folder.path().join(format!("nodes/c{}/kernel.log", node + 1))).unwrap();
    }
    let report = folder
        .output(&traceback(5, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"))
        .signalled(5, 500.0, 6)
        .all_signalled(503.0, 15)
        .diagnose();
    assert!(report.drain.is_empty(), "{report:#?}");
    assert_eq!(report.confidence, "suspected");
    assert!(!report.blind.is_empty());
}

#[test]
fn the_same_failure_of_the_same_user_elsewhere_is_the_programs() {
    let past = |job: u32, nodes: &str| {
        format!(
            "{{\"job\":\"{job}\",\"user\":\"ann\",\"at\":\"2026-05-02T09:00:00Z\",\"nodes\":[{nodes}],\"class\":\"unknown\",\"signature\":\"nccl.watchdog_timeout\",\"culprits\":[]}}\n"
        )
    };
    let history = past(700, "\"d1\",\"d2\"") + &past(701, "\"e1\",\"e2\"");
    let text: String = (0..8).map(|rank| timed_out(rank, 1100.0, 600)).collect();
    let mut folder = Folder::new(2);
    let report = folder
        .file("history.jsonl", history.as_bytes())
        .output(&text)
        .signalled(0, 1101.0, 6)
        .all_signalled(1103.0, 6)
        .diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_node_that_failed_many_users_is_named_but_not_taken_out_on_numbers_alone() {
    let past = |job: u32, user: &str| {
        format!(
            "{{\"job\":\"{job}\",\"user\":\"{user}\",\"at\":\"2026-05-02T09:00:00Z\",\"nodes\":[\"c2\",\"d{job}\"],\"class\":\"unknown\",\"signature\":\"nccl.watchdog_timeout\",\"culprits\":[]}}\n"
        )
    };
    let history: String =
        [(1, "bob"), (2, "eve"), (3, "dan"), (4, "joe")].map(|(job, user)| past(job, user)).concat();
    let text: String = (0..8).map(|rank| timed_out(rank, 1100.0, 600)).collect();
    let mut folder = Folder::new(2);
    let report = folder
        .file("history.jsonl", history.as_bytes())
        .output(&text)
        .signalled(0, 1101.0, 6)
        .all_signalled(1103.0, 6)
        .diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c2"), "{report:#?}");
    assert!(report.drain.is_empty());
}

#[test]
fn a_client_of_the_filesystem_that_was_thrown_out_is_one_nodes_trouble() {
    let kernel = log(
        480.0,
        "LustreError: 167-0: scratch-OST0004-osc-ffff9a1b2c3d4000: This client was evicted by scratch-OST0004; in progress operations using this service will fail.",
    );
    let text: String =
        (4..8).map(|rank| traceback(rank, "OSError: [Errno 5] Input/output error: '/scratch/a'")).collect();
    let mut folder = Folder::new(2);
    for task in 4..8 {
        folder.exits(task, 485.0, 1);
    }
    let report = folder.kernel(1, &kernel).output(&text).all_signalled(489.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("system", "c2"), "{report:#?}");
    assert!(report.drain.is_empty(), "it comes back by itself");
}

#[test]
fn two_parts_that_broke_in_the_same_second_are_both_named() {
    let line =
        |task: u32| xid(500.0, 1, 79, &format!("pid={task}, name=python, GPU has fallen off the bus."));
    let mut folder = Folder::new(4);
    folder.kernel(0, &line(7001)).kernel(2, &line(7009)).signalled(1, 501.0, 6).signalled(9, 501.1, 6);
    let report = folder.all_signalled(505.0, 15).diagnose();
    assert_eq!(report.class, "hardware");
    assert_eq!(report.drain, ["c1", "c3"]);
    assert_eq!(report.culprits.len(), 2, "{report:#?}");
}

#[test]
fn a_rank_that_never_reached_the_store_names_the_first_to_fail_not_the_waiters() {
    let mut text =
        traceback(3, "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-3.bin'");
    for rank in [0, 1, 2, 4, 5, 6, 7] {
        writeln!(text, "[rank{rank}]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.").unwrap();
    }
    let report = Folder::new(2).output(&text).exits(3, 20.0, 1).all_signalled(624.0, 15).diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_program_that_aborts_its_mpi_job_is_to_blame_itself() {
    let text = "ERROR: matrix is singular at row 17\n--------------------------------------------------------------------------\nMPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n--------------------------------------------------------------------------\n";
    let report = printed(3, text);
    assert!(matches!(report.class.as_str(), "application" | "unknown"), "{report:#?}");
    assert_nobody(&report);
}
