//! Bundles in which something innocent looks guilty, or the guilty one says nothing itself.
mod support;

use std::fmt::Write as _;

use support::{Folder, at, blamed, gpu, timed_out};

/// A line of `dmesg --time-format iso`.
fn log(second: f64, text: &str) -> String {
    format!("{},000000+00:00 {text}\n", &at(second)[..19])
}

fn xid(second: f64, number: u32, code: u32, rest: &str) -> String {
    log(second, &format!("NVRM: Xid (PCI:{}): {code}, {rest}", &gpu(number)[..10]))
}

fn traceback(rank: u32, error: &str) -> String {
    format!(
        "[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"/src/go.py\", line 4, in <module>\n\
         [rank{rank}]:     go()\n[rank{rank}]: {error}\n"
    )
}

/// What a rank's watchdog prints when it meets an error of CUDA, with a stamp of the node's clock.
fn watchdog(rank: u32, second: f64, error: &str) -> String {
    format!(
        "[rank{rank}]:[E504 {} ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog \
         thread terminated with exception: CUDA error: {error}\n",
        &at(second)[11..23]
    )
}

/// Retries of a rank to the node `peer` ran out.
fn retry(rank: u32, peer: u32) -> String {
    format!(
        "c{}:{}:71 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.{peer}<5000> with \
         status=12 opcode=0 len=0 vendor err 129 (Recv)\n",
        1 + rank / 4,
        7000 + rank
    )
}

fn assert_nobody(report: &triage_bundle::Report) {
    assert!(report.culprits.is_empty() && report.drain.is_empty(), "{report:#?}");
}

/// A run whose rank 1 (on `c1`) ends with an exception at second 600.
fn program_at_fault(nodes: usize) -> Folder {
    let mut folder = Folder::new(nodes);
    folder.output(&traceback(1, "ValueError: no such layer")).exits(1, 600.0, 1).all_signalled(604.0, 15);
    folder
}

#[test]
fn a_stamp_in_the_output_is_by_the_clock_of_its_node() {
    // The clock of c2 is 200 s behind; so are its task records, its kernel and what its ranks print.
    let mut folder = Folder::new(3);
    let mut tasks = String::new();
    for task in 4..8_u32 {
        for (second, what, how) in [
            (-199.0, "task_start", ""),
            (if task == 5 { 301.0 } else { 902.0 }, "task_exit", ",\"signal\":6"),
        ] {
            writeln!(
                tasks,
                "{{\"v\":1,\"at\":\"{}\",\"what\":\"{what}\",\"step\":0,\"rank\":{task},\"local\":{},\"pid\":{},\"gpus\":[\"{}\"]{how}}}",
                at(second), task - 4, 7000 + task, gpu(task - 4)
            )
            .unwrap();
        }
    }
    let kernel = xid(300.0, 1, 62, "22f8(2c1c) 00000000 00000000")
        + &xid(300.0, 1, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)");
    let waiting: String = (0..12)
        .filter(|rank| *rank != 5)
        .map(|rank| timed_out(rank, if (4..8).contains(&rank) { 900.5 } else { 1100.5 }, 600))
        .collect();
    folder
        .kernel(1, &kernel)
        .output(&(watchdog(5, 301.0, "unspecified launch failure") + &waiting))
        .all_signalled(1102.0, 6);
    folder.finish();
    std::fs::write(folder.path().join("nodes/c2/tasks.jsonl"), &tasks).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert_eq!(blamed(&report), [format!("c2 gpu:{}", gpu(1))], "{report:#?}");
    assert_eq!((report.class.as_str(), report.drain.as_slice()), ("hardware", &["c2".to_owned()][..]));
}

#[test]
fn a_rank_whose_node_left_no_records_still_lives_on_that_node() {
    let mut folder = Folder::new(3);
    let waiting: String =
        (0..12).filter(|rank| *rank != 6).map(|rank| timed_out(rank, 1100.2, 600)).collect();
    folder
        .output(&(watchdog(6, 500.4, "uncorrectable ECC error encountered") + &waiting))
        .all_signalled(1102.0, 6)
        .finish();
    std::fs::remove_dir_all(folder.path().join("nodes/c2")).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert_eq!((report.class.as_str(), report.confidence.as_str()), ("hardware", "suspected"), "{report:#?}");
    assert_eq!(blamed(&report), ["c2 -"]);
    assert!(report.drain.is_empty(), "the job's word alone takes no node out");
}

#[test]
fn a_program_that_asks_for_a_gpu_its_node_lost_did_nothing_wrong() {
    let asks = traceback(7, "RuntimeError: CUDA error: invalid device ordinal");
    let run = |folder: &mut Folder| folder.output(&asks).exits(7, 10.0, 1).all_signalled(15.0, 15).diagnose();
    let all_there = run(&mut Folder::new(3));
    assert_eq!(all_there.class, "application", "{all_there:#?}");
    assert_nobody(&all_there);

    let mut folder = Folder::new(3);
    let three: Vec<String> = (0..3).map(|n| format!("{{\"index\":{n},\"pci\":\"{}\"}}", gpu(n))).collect();
    folder.file("nodes/c2/gpus.json", format!("[{}]", three.join(",")).as_bytes());
    let report = run(&mut folder);
    assert_eq!(report.class, "hardware", "{report:#?}");
    assert_eq!(blamed(&report), [format!("c2 gpu:{}", gpu(3))]);
}

#[test]
fn srun_names_the_node_on_which_it_could_not_start_the_step() {
    let mut folder = Folder::new(3);
    let report = folder
        .output(
            "srun: error: Task launch for StepId=815.0 failed on node c3: Communication connection failure\n\
             srun: error: Application launch failed: Communication connection failure\n",
        )
        .diagnose();
    assert_eq!((report.class.as_str(), blamed(&report)), ("system", vec!["c3 -".to_owned()]), "{report:#?}");
    assert!(report.drain.is_empty());
}

#[test]
fn an_unlisted_link_counts_where_its_node_alone_cannot_be_reached() {
    let down = log(500.0, "ice 0000:31:00.0 eno1: NIC Link is Down");
    let lost = |rank: u32| {
        format!(
            "c{}:{}:71 [0] misc/socket.cc:46 NCCL WARN socketProgressOpt: Call to recv from 10.9.0.2<5290> failed : Connection timed out\n",
            1 + rank / 4,
            7000 + rank
        )
    };
    let mut folder = Folder::new(3);
    let report = folder
        .kernel(1, &down)
        .output(&(lost(0) + &lost(9)))
        .exits(0, 590.0, 1)
        .exits(9, 590.2, 1)
        .all_signalled(595.0, 15)
        .diagnose();
    assert_eq!(
        (report.class.as_str(), blamed(&report)),
        ("hardware", vec!["c2 nic:eno1".to_owned()]),
        "{report:#?}"
    );

    let report = program_at_fault(3).kernel(1, &down).diagnose();
    assert_eq!(report.class, "application");
    assert!(report.culprits.is_empty(), "a management port that went down explains no exception");
}

#[test]
fn old_error_counts_of_a_bystanders_port_are_held_against_nobody() {
    let mut folder = Folder::new(4);
    let counts = r#"[{"name":"mlx5_2","port":1,"state":"active","link_downed":1,"symbol_errors":240}]"#;
    folder
        .file("nodes/c1/nics.json", counts.as_bytes())
        .output(&(retry(4, 3) + &retry(12, 3) + &retry(13, 3) + &retry(0, 3)))
        .all_signalled(640.0, 6)
        .finish();
    std::fs::remove_dir_all(folder.path().join("nodes/c3")).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert_eq!(report.class, "network", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_boot_after_the_run_ended_did_not_end_it() {
    let boots = |folder: &mut Folder, second: f64| {
        folder.finish();
        let path = folder.path().join("incident.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, tail) = text.split_once("[nodes.c2]\nboot = \"2026-05-01T08:00:00Z\"").unwrap();
        std::fs::write(&path, format!("{head}[nodes.c2]\nboot = \"{}\"{tail}", at(second))).unwrap();
        triage_bundle::diagnose(folder.path(), support::catalog()).unwrap()
    };
    let report = boots(&mut program_at_fault(3), 2400.0);
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
    // Nor does it make what was said within the run old news.
    let mut folder = Folder::new(3);
    let kernel = xid(500.0, 2, 95, "pid=7006, name=python, Uncontained: FBHUB. RST: Yes, D-RST: No");
    folder.kernel(1, &kernel).signalled(6, 500.9, 6).all_signalled(505.0, 15);
    let report = boots(&mut folder, 2400.0);
    assert_eq!((report.class.as_str(), blamed(&report)), ("hardware", vec![format!("c2 gpu:{}", gpu(2))]));
}

#[test]
fn a_node_that_was_merely_not_read_is_not_the_one_slurm_lost() {
    let mut folder = Folder::new(3);
    folder.state("NODE_FAIL").output("srun: error: Node failure on c3\n").all_signalled(900.0, 9).finish();
    std::fs::remove_dir_all(folder.path().join("nodes/c2")).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert!(report.drain.is_empty() && !blamed(&report).contains(&"c2 -".to_owned()), "{report:#?}");
}

#[test]
fn nvlink_errors_when_torchrun_killed_what_would_not_go_are_its_aftermath() {
    let table = |rank: u32, second: f64| {
        format!(
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{0}\ngo.py FAILED\n{1}\nFailures:\n  <NO_OTHER_FAILURES>\n\
             {1}\nRoot Cause (first observed failure):\n[0]:\n  time      : {2}_{3}\n  host      : c1\n  rank      : {rank} (local_rank: {rank})\n  \
             exitcode  : 1 (pid: 7101)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n{0}\n",
            "=".repeat(60),
            "-".repeat(60),
            &at(second)[..10],
            &at(second)[11..19]
        )
    };
    let error = traceback(2, "KeyError: 'tokens'");
    let nvlink = |second: f64| {
        xid(second, 1, 74, "NVLink: fatal error detected on link 3(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")
    };
    let run = |second: f64| {
        let mut folder = Folder::launchers(2);
        folder.kernel(0, &nvlink(second)).output(&(error.clone() + &table(2, 600.0)));
        folder.exits(0, 634.0, 1).exits(1, 636.0, 1).diagnose()
    };
    let report = run(632.0);
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_service_that_merely_watches_is_needed_by_no_job() {
    let mut folder = Folder::new(3);
    let failed =
        log(400.0, "systemd[1]: nvidia-dcgm.service: Main process exited, code=exited, status=1/FAILURE");
    let report = folder
        .kernel(0, &failed)
        .output(&traceback(1, "OSError: [Errno 28] No space left on device: '/scratch/ann/a.pt'"))
        .exits(1, 600.0, 1)
        .all_signalled(604.0, 15)
        .diagnose();
    assert!(report.drain.is_empty(), "{report:#?}");
    assert!(!blamed(&report).iter().any(|who| who.contains("service")), "{report:#?}");
}

#[test]
fn a_process_that_hung_elsewhere_explains_no_exception() {
    let hung = log(400.0, "INFO: task jbd2/dm-0-8:812 blocked for more than 120 seconds.");
    let report = program_at_fault(3).kernel(1, &hung).diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_switch_takes_links_of_nodes_along_whose_logs_nobody_has() {
    let mut folder = Folder::new(4);
    let down = log(500.0, "mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link DOWN");
    folder
        .kernel(0, &down)
        .nics(0, "down", 1)
        .nics(1, "down", 1)
        .output(&(retry(8, 1) + &retry(12, 2)))
        .all_signalled(525.0, 6)
        .finish();
    std::fs::remove_file(folder.path().join("nodes/c2/kernel.log")).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert_eq!(report.class, "network", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_gpu_that_hung_under_the_one_rank_all_waited_for_is_suspect() {
    let kernel =
        log(508.0, "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7")
            + &xid(508.0, 1, 8, "pid=7005, name=python, Ch 00000010");
    let waiting: String = (0..8).filter(|rank| *rank != 5).map(|rank| timed_out(rank, 1100.2, 600)).collect();
    let mut folder = Folder::new(2);
    folder.output(&waiting).all_signalled(1102.0, 6);
    let report = folder.diagnose();
    assert_eq!(report.class, "unknown");
    assert_nobody(&report);
    let report = folder.kernel(1, &kernel).diagnose();
    assert_eq!(
        (report.class.as_str(), blamed(&report)),
        ("hardware", vec![format!("c2 gpu:{}", gpu(1))]),
        "{report:#?}"
    );
    assert!(report.drain.is_empty(), "a program that never ends looks the same");
}

#[test]
fn ranks_that_saw_their_own_port_go_down_make_their_unread_node_suspect() {
    let mut folder = Folder::new(3);
    let own = |rank: u32| {
        format!(
            "c2:{}:71 [{}] transport/net_ib.cc:117 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error\n",
            7000 + rank,
            rank % 4
        )
    };
    folder
        .output(&((4..8).map(own).collect::<String>() + &retry(0, 2) + &retry(8, 2)))
        .exits(0, 540.0, 1)
        .all_signalled(548.0, 15);
    let report = folder.diagnose();
    assert_nobody(&report);
    let path = folder.path().join("nodes/c2");
    std::fs::remove_file(path.join("kernel.log")).unwrap();
    std::fs::remove_file(path.join("nics.json")).unwrap();
    let report = triage_bundle::diagnose(folder.path(), support::catalog()).unwrap();
    assert_eq!((report.class.as_str(), report.confidence.as_str()), ("hardware", "suspected"), "{report:#?}");
    assert_eq!(blamed(&report), ["c2 -"]);
    assert!(report.drain.is_empty());
}

#[test]
fn a_filesystem_that_failed_minutes_before_explains_no_exception() {
    let broken = log(300.0, "SQUASHFS error: Failed to read block 0x1234: -5");
    let report = program_at_fault(3).kernel(1, &broken).diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}
