//! Cascades as the field reports them: the first cause, the flood it sets off, and who must not be blamed. Each scene is
//! told the way such an incident is reported; names, times and places are made up.
mod support;

use std::fmt::Write as _;

use support::{Folder, at, blamed, gpu, timed_out};

/// A line of `dmesg --time-format iso` at a second of the run.
fn log(second: f64, text: &str) -> String {
    format!("{},000000+00:00 {text}\n", &at(second)[..19])
}

fn xid(second: f64, number: u32, code: u32, rest: &str) -> String {
    log(second, &format!("NVRM: Xid (PCI:{}): {code}, {rest}", &gpu(number)[..10]))
}

/// All ranks but these print the collective's time-out.
fn others_time_out(world: u32, but: &[u32], second: f64, seconds: u32) -> String {
    (0..world).filter(|rank| !but.contains(rank)).map(|rank| timed_out(rank, second, seconds)).collect()
}

/// `[rank3]: ...` at a second of the run, as PyTorch stamps its own log lines.
fn torch(rank: u32, second: f64, text: &str) -> String {
    format!("[rank{rank}]:[E504 {} ProcessGroupNCCL.cpp:1785] {text}\n", &at(second)[11..23])
}

fn assert_nobody(report: &triage_bundle::Report) {
    assert!(report.culprits.is_empty() && report.drain.is_empty(), "{report:#?}");
}

#[test]
fn a_double_bit_error_on_one_rank_is_louder_on_another_ten_minutes_later() {
    let mut kernel = xid(500.0, 1, 48, "pid='<unknown>', name=<unknown>, DBE (double bit error) at 0x1");
    kernel += &xid(
        500.0,
        1,
        63,
        "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
    );
    kernel += &xid(
        500.0,
        1,
        154,
        "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
    );
    let mut output = torch(
        1,
        500.4,
        "[Rank 1] Process group watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered",
    );
    output += &others_time_out(8, &[1], 1100.0, 600);
    let mut folder = Folder::new(2);
    folder.kernel(0, &kernel).output(&output).signalled(1, 501.0, 6).all_signalled(1160.0, 15);
    let report = folder.diagnose();
    assert_eq!((report.class.as_str(), blamed(&report)), ("hardware", vec![format!("c1 gpu:{}", gpu(1))]));
    assert_eq!((report.drain.as_slice(), report.job.as_str()), (&["c1".to_owned()][..], "requeue"));
}

#[test]
fn a_pcie_port_that_fails_under_load_takes_its_gpu_along() {
    let mut kernel =
        log(390.0, "pcieport 0000:40:02.0: AER: Corrected error message received from 0000:40:02.0");
    kernel += &log(
        390.0,
        "pcieport 0000:40:02.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
    );
    kernel += &log(390.0, "pcieport 0000:40:02.0:    [12] Timeout");
    kernel += &log(
        500.0,
        "pcieport 0000:40:02.0: AER: Uncorrected (Fatal) error message received from 0000:40:02.0",
    );
    kernel += &log(
        500.0,
        "pcieport 0000:40:02.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
    );
    kernel += &log(500.0, "pcieport 0000:40:02.0:    [ 5] SDES                   (First)");
    kernel += &xid(500.1, 2, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    let mut folder = Folder::new(2);
    folder
        .kernel(1, &kernel)
        .output(&others_time_out(8, &[6], 1100.0, 600))
        .signalled(6, 501.0, 6)
        .all_signalled(1105.0, 6);
    let report = folder.diagnose();
    assert_eq!(report.class, "hardware");
    assert_eq!(report.culprits[0].node, "c2", "{report:#?}");
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn a_slot_that_lost_its_card_is_that_nodes_hardware() {
    let mut kernel = log(500.0, "pcieport 0000:3f:01.0: pciehp: Slot(4): Link Down");
    kernel += &log(500.0, "pcieport 0000:3f:01.0: pciehp: Slot(4): Card not present");
    kernel += &xid(501.0, 0, 79, "pid=7004, name=python, GPU has fallen off the bus.");
    let mut folder = Folder::new(2);
    folder.kernel(1, &kernel).signalled(4, 502.0, 6).all_signalled(560.0, 15);
    let report = folder.diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c2"));
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn of_four_gpus_that_complain_of_one_link_the_one_that_differs_is_the_source() {
    let mut kernel = xid(
        500.0,
        3,
        149,
        "pid='<unknown>', name=<unknown>, NETIR Fatal XC0 i0 Link 09 (0x00000001 0x00000002)",
    );
    kernel += &xid(
        500.0,
        3,
        45,
        "pid=7003, name=python, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x1 caused by previous Xid 149",
    );
    for other in [0, 1, 2] {
        kernel += &xid(
            500.3,
            other,
            45,
            "pid=7000, name=python, Ch 00000008, errorString CTX SWITCH TIMEOUT caused by previous Xid 145",
        );
    }
    let mut folder = Folder::new(2);
    for task in 0..4 {
        folder.signalled(task, 501.0 + f64::from(task) / 10.0, 6);
    }
    let report = folder.kernel(0, &kernel).all_signalled(504.0, 15).diagnose();
    assert_eq!(report.class, "hardware", "{report:#?}");
    assert_eq!(blamed(&report), [format!("c1 gpu:{}", gpu(3))]);
    assert_eq!(report.drain, ["c1"]);
}

#[test]
fn engines_that_time_out_in_calls_are_one_gpus_memory() {
    let mut kernel = String::new();
    for burst in [300.0, 420.0, 500.0] {
        kernel +=
            &xid(burst, 2, 48, "pid=7002, name=engine, DBE (double bit error) at FBPA 9 subpartition 1");
        kernel +=
            &xid(burst, 2, 94, "pid=7002, name=engine, Contained: FBHUB SM (0x1,0x2). RST: No, D-RST: No");
    }
    kernel += &xid(
        500.5,
        2,
        63,
        "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
    );
    let output = "[rank0]: TimeoutError: RPC call to execute_model timed out.\n";
    let mut folder = Folder::new(1);
    let report = folder
        .kernel(0, &kernel)
        .gpus(0, &[(2, "\"remap_pending\":true,\"ecc_uncorrected\":3")])
        .output(output)
        .signalled(2, 501.0, 6)
        .exits(0, 530.0, 1)
        .all_signalled(533.0, 15)
        .diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c1"), "{report:#?}");
    assert_eq!(report.drain, ["c1"]);
}

#[test]
fn one_rank_far_behind_is_told_and_not_blamed() {
    let mut output = String::new();
    for rank in 0..8 {
        let line = timed_out(rank, 1100.0, 600);
        output += &if rank == 6 {
            line.replace("SeqNum=41", "SeqNum=12")
        } else {
            line.replace("SeqNum=41", "SeqNum=96")
        };
    }
    let mut folder = Folder::new(2);
    let report = folder.output(&output).signalled(0, 1101.0, 6).all_signalled(1103.0, 6).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("unknown", "none"), "{report:#?}");
    assert_nobody(&report);
    assert!(report.story.iter().any(|line| line.contains("rank 6")), "{:?}", report.story);
}

#[test]
fn a_report_that_names_the_collective_a_rank_did_not_join_names_the_bug() {
    let mut output = others_time_out(8, &[], 1100.0, 600);
    output += "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: \
               CollectiveFingerPrint(SequenceNumber=12, OpType=ALLREDUCE, TensorShape=[10]), but Rank 1 is running \
               collective: CollectiveFingerPrint(SequenceNumber=12, OpType=BROADCAST, TensorShape=[10]).\n";
    let mut folder = Folder::new(2);
    let report = folder.output(&output).exits(0, 1101.0, 1).all_signalled(1103.0, 6).diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_logging_service_that_ends_rank_0_is_the_programs_business_not_the_networks() {
    let mut output = String::from(
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/src/run.py\", line 3, in main\n\
         [rank0]:     wandb.init(project=\"p\")\n\
         [rank0]: wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec.\n",
    );
    for rank in 1..8 {
        writeln!(output, "[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nc{}:{}:1 [{}] NCCL WARN socketProgress: Connection closed by remote peer c1<35000>", 1 + rank / 4, 7000 + rank, rank % 4).unwrap();
    }
    let mut folder = Folder::new(2);
    let report = folder.output(&output).exits(0, 100.0, 1).all_signalled(104.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("application", "none"), "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn fabric_manager_restarted_without_a_reset_fails_every_job_on_that_node_alone() {
    let mut kernel = log(
        -9000.0,
        "systemd[1]: nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
    );
    kernel += &log(-9000.0, "systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.");
    let mut output = String::new();
    for rank in 4..8 {
        writeln!(output, "[rank{rank}]: RuntimeError: CUDA error: system not yet initialized").unwrap();
    }
    let mut folder = Folder::new(2);
    for task in 4..8 {
        folder.exits(task, 20.0 + f64::from(task) / 10.0, 1);
    }
    let states: Vec<(u32, &str)> = (0..4).map(|n| (n, "\"fabric_state\":\"in_progress\"")).collect();
    let well: Vec<(u32, &str)> = (0..4).map(|n| (n, "\"fabric_state\":\"completed\"")).collect();
    let report = folder
        .kernel(1, &kernel)
        .gpus(0, &well)
        .gpus(1, &states)
        .output(&output)
        .all_signalled(24.0, 15)
        .diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("system", "c2"), "{report:#?}");
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn retries_that_ran_out_with_all_ports_well_are_the_networks_and_the_flush_storm_counts_for_nothing() {
    let mut output = String::from(
        "c1:7000:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<5000> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2 hca mlx5_2\n",
    );
    for _ in 0..3000 {
        output += "c1:7000:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<5000> with status=5 opcode=32767 len=94 vendor err 249 (Recv) localGid fe80::1 remoteGids fe80::2 hca mlx5_2\n";
    }
    output += "c2:7004:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.1<5000> with status=12 opcode=0 len=0 vendor err 129 (Send)\n";
    let mut folder = Folder::new(3);
    let report = folder.output(&output).all_signalled(700.0, 6).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("network", "requeue"), "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn the_port_that_flapped_twice_is_to_blame_and_not_the_node_that_complained() {
    let mut kernel = log(500.0, "mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link DOWN");
    kernel += &log(508.0, "mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link ACTIVE");
    kernel += &log(931.0, "mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link DOWN");
    kernel += &log(938.0, "mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link ACTIVE");
    let mut output = String::new();
    for rank in 8..12 {
        writeln!(
            output,
            "c3:{}:7100 [{}] transport/net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error",
            7000 + rank,
            rank % 4
        )
        .unwrap();
    }
    output += "c1:7000:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.3<5000> with status=12 opcode=0 len=0 vendor err 129 (Send)\n";
    let mut folder = Folder::new(4);
    let report =
        folder.kernel(2, &kernel).nics(2, "active", 2).output(&output).all_signalled(951.0, 6).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c3"), "{report:#?}");
    assert_eq!(report.culprits.len(), 1);
    assert!(report.drain.iter().all(|node| node == "c3"));
}

#[test]
fn nvlink_errors_within_seconds_of_a_forced_kill_are_its_aftermath() {
    let mut kernel = xid(
        603.0,
        0,
        74,
        "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
    );
    kernel += &xid(604.0, 1, 62, "pid='<unknown>', name=<unknown>, 2027(139c) 00000000 00000000");
    let mut folder = Folder::new(1);
    let report = folder.state("CANCELLED by 1000").kernel(0, &kernel).all_signalled(600.0, 9).diagnose();
    assert_nobody(&report);
    assert_eq!(report.job, "none");
    assert!(report.discounted.iter().any(|seen| seen.code == "xid.74"), "{report:#?}");
}

#[test]
fn nvlink_errors_before_anybody_was_killed_are_a_fault() {
    let kernel = xid(
        500.0,
        0,
        74,
        "pid=7004, name=python, NVLink: fatal error detected on link 6(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
    ) + &xid(
        500.2,
        0,
        154,
        "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    );
    let mut output = String::new();
    for rank in 4..8 {
        writeln!(
            output,
            "[rank{rank}]: RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
        )
        .unwrap();
    }
    let mut folder = Folder::new(2);
    for task in 4..8 {
        folder.signalled(task, 501.0 + f64::from(task) / 10.0, 6);
    }
    let report = folder.kernel(1, &kernel).output(&output).all_signalled(505.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.culprits[0].node.as_str()), ("hardware", "c2"), "{report:#?}");
    assert_eq!(report.drain, ["c2"]);
}

#[test]
fn the_same_mmu_fault_on_many_nodes_is_what_they_share() {
    let mut folder = Folder::new(4);
    for node in 0..4 {
        let task = u32::try_from(node).unwrap() * 4;
        let second = 500.0 + node as f64 / 10.0;
        let fault = xid(
            second,
            0,
            31,
            &format!(
                "pid={}, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f00_0000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
                7000 + task
            ),
        );
        folder.kernel(node, &fault).signalled(task, second + 0.5, 6);
    }
    let report = folder.all_signalled(504.0, 15).diagnose();
    assert!(matches!(report.class.as_str(), "application" | "system"), "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn the_gpu_that_fails_job_after_job_of_different_users_is_bad_whatever_it_looks_like() {
    let past = |job: u32, user: &str, day: u32| {
        format!(
            "{{\"job\":\"{job}\",\"user\":\"{user}\",\"at\":\"2026-05-{day:02}T09:00:00Z\",\"nodes\":[\"c1\"],\"class\":\"application\",\"signature\":\"xid.31\",\"culprits\":[{{\"node\":\"c1\",\"resource\":\"gpu:{}\"}}]}}\n",
            gpu(2)
        )
    };
    let history = past(700, "bob", 1) + &past(711, "eve", 2) + &past(720, "dan", 3);
    let fault = xid(
        500.0,
        2,
        31,
        "pid=7002, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f00_0000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    );
    let output = "[rank2]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n";
    let mut folder = Folder::new(1);
    let report = folder
        .kernel(0, &fault)
        .file("history.jsonl", history.as_bytes())
        .output(output)
        .signalled(2, 501.0, 6)
        .all_signalled(503.0, 15)
        .diagnose();
    assert_eq!((report.class.as_str(), blamed(&report)), ("hardware", vec![format!("c1 gpu:{}", gpu(2))]));
}

#[test]
fn an_index_out_of_range_on_the_gpu_is_the_programs_though_all_others_time_out() {
    let mut output = String::new();
    for thread in 0..96 {
        writeln!(output, "[rank2]: /pytorch/aten/src/ATen/native/cuda/Indexing.cu:1236: indexSelectLargeIndex: block: [{thread},0,0], thread: [{thread},0,0] Assertion `srcIndex < srcSelectDimSize` failed.").unwrap();
    }
    output += "[rank2]: RuntimeError: CUDA error: device-side assert triggered\n";
    output += &others_time_out(8, &[2], 1100.0, 600);
    let kernel = xid(499.0, 2, 43, "pid=7002, name=python, Ch 00000008");
    let mut folder = Folder::new(2);
    let report =
        folder.kernel(0, &kernel).output(&output).signalled(2, 500.0, 6).all_signalled(1102.0, 6).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("application", "none"), "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn memory_that_ran_out_is_no_network_though_the_peers_say_so() {
    let kernel = log(
        500.0,
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,oom_memcg=/slurm/job_815/step_0,task_memcg=/slurm/job_815/step_0/task_5,task=solve,pid=7005,uid=900",
    ) + &log(
        500.0,
        "Memory cgroup out of memory: Killed process 7005 (solve) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:900 pgtables:9kB oom_score_adj:0",
    );
    let output = "slurmstepd: error: Detected 1 oom_kill event in StepId=815.0. Some of the step tasks have been OOM Killed.\n\
                  srun: error: c2: task 5: Out Of Memory\n\
                  [c1:7000:0:7000] ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_2:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n\
                  slurmstepd: error: *** STEP 815.0 ON c1 CANCELLED AT 2026-05-04T12:08:24 ***\n";
    let mut folder = Folder::new(2);
    let report = folder
        .state("OUT_OF_MEMORY")
        .kernel(1, &kernel)
        .output(output)
        .signalled(5, 500.2, 9)
        .all_signalled(504.0, 15)
        .diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("application", "none"), "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_gpu_that_locked_up_is_named_with_its_node() {
    let kernel = log(
        500.0,
        &format!(
            "NVRM: krcWatchdogCallbackPerf: GPU at PCI:{} is probably locked! Notify Timeout Seconds: 7",
            &gpu(1)[..10]
        ),
    ) + &xid(
        500.1,
        1,
        119,
        "pid=7001, name=python, Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801348 0x410).",
    );
    let mut folder = Folder::new(2);
    let report = folder
        .kernel(0, &kernel)
        .output(&others_time_out(8, &[1], 1098.0, 600))
        .signalled(1, 1099.0, 6)
        .all_signalled(1101.0, 6)
        .diagnose();
    // A firmware that stops answering is the driver's matter or the GPU's: either way its node goes out.
    assert!(matches!(report.class.as_str(), "hardware" | "system"), "{report:#?}");
    assert_eq!(blamed(&report), [format!("c1 gpu:{}", gpu(1))]);
    assert_eq!(report.drain, ["c1"]);
}

#[test]
fn processes_that_would_not_die_are_no_proof_against_a_gpu() {
    let kernel = log(620.0, "INFO: task python:7004 blocked for more than 120 seconds.");
    let output = "slurmstepd: error: *** STEP 815.0 STEPD TERMINATED ON c2 AT 2026-05-04T12:10:00 DUE TO JOB NOT ENDING WITH SIGNALS ***\n";
    let mut folder = Folder::new(2);
    let report =
        folder.kernel(1, &kernel).output(output).signalled(0, 510.0, 9).all_signalled(640.0, 9).diagnose();
    assert!(matches!(report.class.as_str(), "system" | "unknown"), "{report:#?}");
    assert!(report.drain.is_empty(), "{report:#?}");
}

#[test]
fn a_coordinators_socket_that_closed_by_itself_names_nobody() {
    let output = "E0504 12:08:21.000000    7005 coordination_service_agent.cc:331] Polled an error from coordination service (this can be an error from this or another task).\n\
                  F0504 12:08:21.100000    7005 client.h:77] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. UNAVAILABLE: Socket closed\n";
    let mut folder = Folder::new(2);
    let report = folder.output(output).signalled(5, 501.5, 6).all_signalled(504.0, 15).diagnose();
    assert_eq!(report.class, "unknown", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn a_nan_on_one_rank_says_nothing_for_sure_of_its_node() {
    let output = "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/src/grads.py\", line 8, in check\n\
                  [rank5]: AssertionError: Rank 5: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 1, node: c2\n";
    let mut folder = Folder::new(2);
    let report = folder.output(output).exits(5, 700.0, 1).all_signalled(703.0, 15).diagnose();
    assert!(report.drain.is_empty(), "{report:#?}");
    assert!(matches!(report.class.as_str(), "application" | "unknown"), "{report:#?}");
}

#[test]
fn a_node_that_vanished_is_the_one_without_a_word_and_not_the_one_that_was_signalled() {
    let output = "slurmstepd: error: *** STEP 815.0 ON c1 CANCELLED AT 2026-05-04T12:12:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n\
                  srun: error: Node failure on c3\n";
    let mut folder = Folder::new(4);
    for task in (0..16).filter(|task| task / 4 != 2) {
        folder.signalled(task, 720.0, 15);
    }
    let report = folder.state("NODE_FAIL").output(output).diagnose();
    assert_eq!(report.class, "hardware", "{report:#?}");
    assert_eq!(blamed(&report), ["c3 -"]);
    assert!(report.drain.iter().all(|node| node == "c3"));
}

#[test]
fn a_filesystem_that_hung_on_every_node_is_no_nodes_fault() {
    let mut folder = Folder::new(3);
    for node in 0..3 {
        let kernel = log(
            480.0 + node as f64,
            "Lustre: scratch-OST0004-osc-ffff9a1b2c3d4000: Connection to scratch-OST0004 (at 10.8.0.4@o2ib) was lost; in progress operations using this service will wait for recovery to complete",
        ) + &log(605.0, "INFO: task python:7001 blocked for more than 120 seconds.");
        folder.kernel(node, &kernel);
    }
    let report = folder.output(&others_time_out(12, &[], 1100.0, 600)).all_signalled(1102.0, 6).diagnose();
    assert_eq!(report.class, "system", "{report:#?}");
    assert_nobody(&report);
}

#[test]
fn heat_that_slowed_one_node_is_told_where_the_others_waited_for_it() {
    let hot: Vec<(u32, &str)> = (0..4).map(|n| (n, "\"throttle\":[\"hw_thermal\"]")).collect();
    let mut folder = Folder::new(4);
    let report = folder
        .state("TIMEOUT")
        .gpus(2, &hot)
        .output(&others_time_out(16, &[], 1190.0, 60))
        .all_signalled(1200.0, 15)
        .diagnose();
    assert!(report.drain.iter().all(|node| node == "c3"), "{report:#?}");
    assert!(report.culprits.iter().all(|culprit| culprit.node == "c3"), "{report:#?}");
}

#[test]
fn torchruns_own_table_tells_who_failed_first_where_the_tasks_are_launchers() {
    let table = |host: &str, rank: u32, time: &str, code: i32| {
        format!(
            "============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : {time}\n  host      : {host}\n  rank      : {rank} (local_rank: {})\n  exitcode  : {code} (pid: 990{rank})\n  error_file: <N/A>\n============================================================\n",
            rank % 4
        )
    };
    let mut output = String::from(
        "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/src/run.py\", line 3, in main\n[rank5]: ValueError: cannot reshape array of size 7 into shape (2,4)\n\
         [rank1]: Traceback (most recent call last):\n[rank1]:   File \"/src/run.py\", line 90, in sync\n[rank1]: RuntimeError: the other side left\n",
    );
    output += &table("c1.cluster", 1, "2026-05-04_12:08:22", 1);
    output += &table("c2.cluster", 5, "2026-05-04_12:08:20", 1);
    let mut folder = Folder::launchers(2);
    let report = folder.output(&output).exits(0, 540.0, 1).exits(1, 541.0, 1).diagnose();
    assert_eq!(report.class, "application", "{report:#?}");
    assert_nobody(&report);
    assert!(report.evidence.iter().any(|e| e.text.contains("cannot reshape array")), "{report:#?}");
    assert!(report.evidence.iter().any(|e| e.text.contains("rank 5 failed first")), "{report:#?}");
}
